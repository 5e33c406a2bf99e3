"""Random and mutated frames: through the device's decoder and server (sanitized), and the host's decoder."""

import os
import random
from pathlib import Path

import pytest
from processor_time import run_limited

from platforms.rpc.frame import Decoder, encode_frame

HOST_ROUNDS = int(os.environ.get("FUZZ_ROUNDS", "20000"))  # make fuzz takes a million
DEVICE = Path(__file__).parent / "device"

pytestmark = pytest.mark.cc


@pytest.fixture(scope="module")
def fuzz(compile_c):
    return compile_c(
        "fuzz",
        [DEVICE / "fuzz_main.c", DEVICE / "models.c", DEVICE / "functions.c"],
        "-O2",  # a million frames take a quarter less
        "-DSOLDER_SLOT",
        "-DSOLDER_FUNCTIONS",
        "-DSOLDER_CARTRIDGES",
        "-DSOLDER_INPUT_ADDRESS",
        "-DSOLDER_STATES",
    )


@pytest.fixture(scope="module")
def locked_fuzz(compile_c):
    return compile_c(
        "locked_fuzz",
        [DEVICE / "fuzz_main.c", DEVICE / "models.c", DEVICE / "functions.c", DEVICE / "line_key.c"],
        "-DSOLDER_SLOT",
        "-DSOLDER_FUNCTIONS",
        "-DSOLDER_CARTRIDGES",
        "-DSOLDER_INPUT_ADDRESS",
        "-DSOLDER_STATES",
        "-DSOLDER_LOCK",
    )


def run_fuzz(program: Path, seed: int, rounds: int) -> None:
    argv = [str(program), str(seed), str(rounds)]
    ended = run_limited(argv, 600)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("", "", 0), argv


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_device_survives_random_frames(fuzz, seed):
    run_fuzz(fuzz, seed, 5_000)


def test_nothing_goes_through_a_locked_line_among_random_frames(locked_fuzz):
    run_fuzz(locked_fuzz, 1, 20_000)


def mutated(frame: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(frame))
    flipped = bytes([frame[at] ^ 1 << chance.randrange(8)])
    noise = chance.randbytes(chance.randrange(100)).replace(b"\0", b"\1")
    kinds = (flipped + frame[at + 1 :], frame[at + 1 :], frame[at : at + 1] + frame[at:], b"", noise)
    return frame[:at] + chance.choice(kinds)


def random_packet(chance: random.Random) -> bytes:
    """Half of them full of zeros, which is what COBS is about."""
    packet = chance.randbytes(chance.randrange(8, 300 if chance.random() < 0.1 else 40))
    return packet if chance.random() < 0.5 else bytes(byte & 1 for byte in packet)


def test_the_host_finds_every_good_frame_among_mutated_ones_and_nothing_else():
    chance, decoder = random.Random(5), Decoder()
    for _ in range(HOST_ROUNDS):
        packet = random_packet(chance)
        frame = encode_frame(packet)
        heard = decoder.feed(mutated(frame, chance)) + decoder.feed(frame)
        packets = [found for found in heard if isinstance(found, bytes)]
        assert packets[-1:] == [packet], "a good frame was lost"
        assert set(packets) == {packet}, "a packet nobody sent"


@pytest.mark.slow
def test_the_device_survives_a_million_random_frames(fuzz):
    run_fuzz(fuzz, 4, 1_000_000)
