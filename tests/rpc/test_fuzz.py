"""Random and mutated frames through the device's decoder and server, under the address and UB sanitizers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

DEVICE = Path(__file__).parent / "device"

pytestmark = pytest.mark.cc


@pytest.fixture(scope="module")
def fuzz(compile_c) -> Path:
    return compile_c("fuzz", [DEVICE / "fuzz_main.c", DEVICE / "models.c"], "-DSOLDER_SLOT")


def run_fuzz(program: Path, seed: int, rounds: int) -> None:
    argv = [str(program), str(seed), str(rounds)]
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=600)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("", "", 0), argv


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_device_survives_random_frames(fuzz, seed):
    run_fuzz(fuzz, seed, 5_000)


@pytest.mark.slow
def test_the_device_survives_a_million_random_frames(fuzz):
    run_fuzz(fuzz, 4, 1_000_000)
