"""One table of framing cases for both ends: Python decodes it whole and byte by byte, C byte by byte."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from processor_time import run_limited

from platforms.rpc.frame import (
    LONGEST_FRAME,
    Damage,
    Decoder,
    cobs_decode,
    cobs_encode,
    decode_frame,
    encode_frame,
)

VECTORS = json.loads((Path(__file__).parent.parent / "vectors" / "frames.json").read_text())
DEVICE = Path(__file__).parent / "device"


def named(group: str) -> list:  # type: ignore[type-arg]
    return [pytest.param(case, id=case["name"]) for case in VECTORS[group]]


def outcome(found: list) -> tuple[list[str], int]:  # type: ignore[type-arg]
    packets = [item.hex() for item in found if isinstance(item, bytes)]
    return packets, sum(isinstance(item, Damage) for item in found)


@pytest.mark.parametrize("case", named("cobs"))
def test_cobs_follows_the_vectors_both_ways(case):
    data, encoded = bytes.fromhex(case["data"]), bytes.fromhex(case["encoded"])
    assert cobs_encode(data) == encoded
    assert cobs_decode(encoded) == data


@pytest.mark.parametrize("case", named("frames"))
def test_a_packet_becomes_this_frame(case):
    assert encode_frame(bytes.fromhex(case["packet"])).hex() == case["frame"]


@pytest.mark.parametrize("case", named("streams"))
def test_a_stream_decodes_the_same_whole_and_byte_by_byte(case):
    stream = bytes.fromhex(case["stream"])
    expected = (case["packets"], case["damaged"])
    assert outcome(Decoder().feed(stream)) == expected
    decoder = Decoder()
    assert outcome([item for byte in stream for item in decoder.feed(bytes([byte]))]) == expected


@given(st.binary(min_size=8, max_size=1200))
def test_every_packet_survives_the_way_there_and_back(packet):
    assert Decoder().feed(encode_frame(packet)) == [packet]


@given(st.binary(min_size=8, max_size=300), st.integers(min_value=0), st.integers(1, 255))
def test_a_changed_byte_never_gives_another_packet(packet, place, change):
    frame = bytearray(encode_frame(packet)[1:-1])
    frame[place % len(frame)] ^= change
    assert decode_frame(bytes(frame)) in (None, packet)


def test_an_endless_stream_without_zeros_is_let_go():
    decoder = Decoder()
    found = decoder.feed(b"x" * (LONGEST_FRAME + 1))
    assert outcome(found) == ([], 1)
    assert decoder.unfinished == b""


@pytest.mark.cc
def test_the_device_follows_the_same_vectors(compile_c, tmp_path):
    main = tmp_path / "vectors_main.c"
    main.write_text((DEVICE / "vectors_main.c").read_text())
    (tmp_path / "vectors.h").write_text(vectors_header())
    program = compile_c("vectors", [main, DEVICE / "idle_port.c", DEVICE / "models.c"])
    ended = run_limited([program], 60)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("", "", 0)


def vectors_header() -> str:
    """The vectors as C tables; vectors_main.c has their types."""
    frames = [
        f"{{{quoted(case)}, {c_bytes(case['packet'])}, {c_bytes(case['frame'])}}},\n"
        for case in VECTORS["frames"]
    ]
    streams = [
        f"{{{quoted(case)}, {c_bytes(case['stream'])}, {len(case['packets'])},\n"
        f"{{{c_packets(case['packets'])}}}, {case['damaged']}}},\n"
        for case in VECTORS["streams"]
    ]
    return (
        f"static const struct frame_vector frame_vectors[] = {{\n{''.join(frames)}}};\n"
        f"static const uint32_t frame_vector_count = {len(frames)};\n"
        f"static const struct stream_vector stream_vectors[] = {{\n{''.join(streams)}}};\n"
        f"static const uint32_t stream_vector_count = {len(streams)};\n"
    )


def quoted(case: dict) -> str:  # type: ignore[type-arg]
    return json.dumps(case["name"])


def c_packets(packets: list[str]) -> str:
    return ", ".join(f"{{{c_bytes(packet)}}}" for packet in packets) or "{NULL, 0}"


def c_bytes(text: str) -> str:
    """A compound literal and its length."""
    values = ", ".join(str(byte) for byte in bytes.fromhex(text))
    return f"(const uint8_t[]){{{values or 0}}}, {len(text) // 2}"
