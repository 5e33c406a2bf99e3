"""The numbers of the line, each from its other side: header, table, chunks, what a person sees."""

import hashlib
import re
import struct
from collections.abc import Callable

import numpy as np
import pytest
from fake_line import FakeTransport
from test_failure_texts import (
    DEADLINES,
    TOKEN,
    crashing,
    greeted,
    hello_payload,
    reply_to,
    session_with,
    text_of,
)

from aot.errors import InputError
from platforms.rpc.cartridges import BUILT_IN
from platforms.rpc.exchange import SMALLEST_CHUNK, ChunkSize, line_s
from platforms.rpc.failures import RequestRefusedError
from platforms.rpc.frame import Decoder, Packet, encode_frame
from platforms.rpc.function_type import checked, pack_call, read_function
from platforms.rpc.line_key import answer_to
from platforms.rpc.messages import PROFILE_ENTRY, RemoteModel
from platforms.rpc.protocol import (
    FAULT_MEANING,
    STATUS_MEANING,
    Capability,
    DescribedTensors,
    Fault,
    Message,
    Status,
)
from platforms.rpc.protocol_header import header_path, protocol_header
from platforms.rpc.session import Session

MODEL = RemoteModel(0, "m", b"\1" * 8, 100, 2, (), ())
NO_FRAME = b"\xf8" * 100 + b"\0"


class Rated(FakeTransport):
    """A line with a rate."""

    bits_per_second = 115_200

    def set_rate(self, bits_per_second: int) -> bool:
        self.bits_per_second = bits_per_second
        return True


class Trickling(FakeTransport):
    """Each byte of what is not a frame comes a thousandth of a second after the one before."""

    left = 0

    def read(self, max_bytes: int, deadline_s: float) -> bytes:
        if self.left and not self._incoming and deadline_s >= 0.001:
            self.now_s += 0.001
            self.left -= 1
            return b"\xf8"
        return super().read(max_bytes, deadline_s)


def speaking(kind: type[Rated], answer: Callable[[Packet], list[Packet]]) -> tuple[Session, Rated]:
    decoder = Decoder()

    def frames(data: bytes) -> bytes:
        requests = [Packet.unpack(item) for item in decoder.feed(data) if isinstance(item, bytes)]
        return b"".join(encode_frame(packet.pack()) for request in requests for packet in answer(request))

    line = kind(frames)
    return Session(line, DEADLINES, line.clock, new_token=lambda: TOKEN), line


def rate_changing(request: Packet) -> list[Packet]:
    """What a device says at its first rate."""
    if request.kind == Message.HELLO:
        hello = hello_payload()
        return [reply_to(request, hello[:18] + struct.pack("<H", Capability.RATE) + hello[20:])]
    return [reply_to(request, bytes(12))]


@pytest.mark.parametrize(("first", "asked_for"), [(115_200, 5), (230_400, 4), (460_800, 3), (2_000_000, 0)])
def test_rates_that_adapters_have_are_asked_for_from_the_fastest_down(first, asked_for):
    asked: list[int] = []

    def answer(request: Packet) -> list[Packet]:
        if request.kind == Message.RATE:
            asked.extend(struct.unpack("<I", request.payload))
            return [reply_to(request, status=Status.OUT_OF_RANGE)]
        return rate_changing(request)

    session, line = speaking(Rated, answer)
    line.bits_per_second = first
    session.hello()
    assert session.raise_rate() == first
    assert asked == [2_000_000, 1_000_000, 921_600, 460_800, 230_400][:asked_for]


def test_a_rate_that_is_not_understood_is_given_up_after_three_tenths_of_a_second():
    session, line = speaking(
        Rated, lambda request: rate_changing(request) if line.bits_per_second == 115_200 else []
    )
    session.hello()
    assert session.raise_rate((460_800,)) == 115_200
    assert line.now_s == pytest.approx(0.3)


def test_only_a_silent_device_is_woken_and_only_at_the_first_rate():
    session, line = speaking(Rated, lambda request: rate_changing(request) if len(line.written) > 2 else [])
    session.hello()
    first, second, third = line.written
    assert len(Decoder().feed(first)) == 1
    assert [second, third] == [b"\0U" * 7 + first] * 2


def test_a_byte_takes_ten_bits_of_a_serial_line():
    assert line_s(Rated(lambda data: b""), 11_520) == 1.0


def test_a_tensor_of_kilobytes_is_no_more_than_a_board_may_have():
    def answer(request: Packet) -> list[Packet]:
        if request.kind == Message.HELLO:
            return greeted(request)
        if request.payload[1] == DescribedTensors.MODEL:
            return [reply_to(request, b"\1" * 8 + struct.pack("<IHHH", 100, 1, 0, 1) + b"m")]
        return [reply_to(request, struct.pack("<BBIII", 1, 1, 0, 5000, 5000) + b"x")]

    session, _ = session_with(answer)
    session.hello()
    assert session.describe()[0].inputs[0].bytes == 5000


def test_eighty_bytes_of_what_is_not_a_frame_are_shown():
    session, line = session_with(lambda request: [])
    line.say(NO_FRAME)
    line.say(NO_FRAME * 9)
    said = text_of(session.hello)
    assert "instead came 256 bytes that are not frames" in said
    assert said.count("\\xf8") == 80


def test_nothing_is_sent_into_noise_that_has_not_ended():
    """After sixteen prompt repetitions: two bytes of it are hardly ever two thousandths of a second apart."""
    answered: list[Packet] = []

    def answer(data: bytes) -> bytes:
        if len(line.written) <= 16:
            return b"\0U\0"
        (request,) = (item for item in Decoder().feed(data) if isinstance(item, bytes))
        answered.append(Packet.unpack(request))
        return encode_frame(reply_to(answered[0], hello_payload()).pack())

    line = Trickling(answer)
    session = Session(line, DEADLINES, line.clock, new_token=lambda: TOKEN)
    line.left = 50
    session.hello()
    assert line.left == 0
    assert line.now_s == pytest.approx(0.052)


def test_the_place_of_a_call_before_a_full_stack_is_looked_up_in_the_call():
    """The shortest call has two bytes; the return address is the place after it."""
    session = crashing(lr=0x804)
    assert "stack overflow at call 0x00000802" in text_of(session.stats)


def test_data_of_a_call_lie_at_multiples_of_eight():
    function = read_function(3, "f void(u8, f32[2], u8[3], i64)")
    values = (7, np.ones(2, np.float32), np.full(3, 9, np.uint8), -1)
    packed = pack_call(function, checked(function, values))
    assert packed[:4] == struct.pack("<HH", 3, 4)
    data = packed[40:]  # after the numbers and four descriptions of 8 bytes, and what aligns them
    assert data == b"\7" + bytes(7) + np.ones(2, np.float32).tobytes() + b"\t\t\t" + bytes(5) + b"\xff" * 8


def test_a_challenge_is_answered_by_the_hmac_of_a_block_of_64_bytes():
    """By its definition, of a message as in solder_lock.c: the purpose, the challenge, zeros."""
    key, challenge = bytes(range(32)), bytes(range(16))
    block = struct.pack("<I", 2) + challenge + bytes(44)
    inner = hashlib.sha256(bytes(b ^ 0x36 for b in key.ljust(64, b"\0")) + block).digest()
    outer = hashlib.sha256(bytes(b ^ 0x5C for b in key.ljust(64, b"\0")) + inner).digest()
    assert answer_to(challenge, key) == outer


def test_the_number_after_the_last_is_zero():
    asked = []

    def answer(request: Packet) -> list[Packet]:
        asked.append(request.sequence)
        return greeted(request) or [reply_to(request, bytes(12))]

    session, _ = session_with(answer)
    session.hello()
    session._sequence = 0xFFFE
    session.stats()
    session.stats()
    assert asked[1:] == [0xFFFF, 0]


def test_a_model_in_no_slot_is_known_by_the_same_number_on_both_sides(repo_root):
    header = (repo_root / "project_templates" / "common" / "solder_cartridge.h").read_text()
    assert re.findall(r"#define SOLDER_BUILT_IN (\d+)u", header) == [str(BUILT_IN)]


@pytest.mark.parametrize(("dtype", "bits"), [("i8", 8), ("i16", 16), ("i32", 32), ("i64", 64)])
def test_an_integer_reaches_from_its_lowest_to_its_highest(dtype, bits):
    function = read_function(0, f"f void({dtype})")
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    assert [pack_call(function, checked(function, [n]))[16:] for n in (low, high)] == [
        n.to_bytes(bits // 8, "little", signed=True) for n in (low, high)
    ]
    for number in (low - 1, high + 1):
        with pytest.raises(InputError, match=rf"{dtype} holds "):
            checked(function, [number])


def answering(reply: Callable[[Packet], Packet]) -> tuple[Session, list[Packet]]:
    """A device after its greeting, and what it is asked."""
    asked: list[Packet] = []

    def answer(request: Packet) -> list[Packet]:
        if request.kind == Message.HELLO:
            return greeted(request)
        asked.append(request)
        return [reply(request)]

    session, _ = session_with(answer)
    session.hello()
    return session, asked


@pytest.mark.parametrize("status", [Status.NOT_BUILT, Status.UNKNOWN_MESSAGE])
def test_a_model_that_counts_nothing_has_counted_nothing(status):
    assert answering(lambda request: reply_to(request, status=status))[0].observed(MODEL) is None


def test_a_model_that_is_not_there_is_no_model_that_counts_nothing():
    session, _ = answering(lambda request: reply_to(request, status=Status.NO_SUCH_MODEL))
    with pytest.raises(RequestRefusedError):
        session.observed(MODEL)


def test_a_reply_with_room_for_one_layer_is_enough():
    entry = PROFILE_ENTRY.pack(*range(len(PROFILE_ENTRY.unpack(bytes(PROFILE_ENTRY.size)))))
    one = struct.pack("<iIBH", 0, 1000, 32, 1) + entry
    session, asked = answering(
        lambda request: reply_to(request, one if request.kind == Message.PROFILE else b"")
    )
    assert len(session.profile(MODEL, ())) == MODEL.layer_count == 2
    assert [request.kind for request in asked].count(Message.PROFILE) == 2


def test_an_array_of_kilobytes_is_no_more_than_can_be_asked_for():
    session, asked = answering(
        lambda request: reply_to(request, struct.pack("<I", 7) if request.kind == Message.MAKE else b"")
    )
    assert session.make_array(np.zeros(3000, np.uint8)).handle == 7
    assert asked[0].payload[1:] == struct.pack("<I", 3000)


def test_firmware_without_functions_is_asked_for_none():
    session, asked = answering(reply_to)
    assert session.functions() == ()
    assert asked == []


def test_the_committed_header_is_current():
    stale = "renew it: python -m platforms.rpc.protocol_header"
    assert header_path().read_text() == protocol_header(), stale


def test_every_status_and_fault_has_a_meaning():
    assert set(STATUS_MEANING) == set(Status)
    assert set(FAULT_MEANING) == set(Fault)


def test_meanings_stand_beside_their_own_numbers():
    assert "SOLDER_NO_SESSION = 3, /* the device knows no such session" in protocol_header()
    assert "SOLDER_MESSAGE_HELLO = 1,\n" in protocol_header()


def test_damage_halves_down_to_the_smallest():
    sizes = [size := ChunkSize(1024)]
    sizes += [size := size.after_damage() for _ in range(8)]
    assert [size.bytes for size in sizes] == [1024, 512, 256, 128, 64, 32, 16, 16, 16]
    assert sizes[-1].bytes == SMALLEST_CHUNK


def test_success_doubles_up_to_what_the_device_takes():
    size = ChunkSize(1000, shift=3)
    assert [(size := size.after_success()).bytes for _ in range(4)] == [250, 500, 1000, 1000]


def test_a_device_that_takes_very_little_gets_very_little():
    assert ChunkSize(10).after_damage().bytes == 10
