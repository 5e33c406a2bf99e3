"""Ticks over counter wraps, and stack use, as the device measures them."""

import subprocess
from pathlib import Path

import pytest
from processor_time import run_limited

from platforms.rpc.messages import Timing
from platforms.rpc.session import Session
from platforms.transport.pipe import PipeTransport

DEVICE = Path(__file__).parent / "device"
MOODY = 2
FINE, GOES_DEEP = 0, 5
DEEP_BYTES = 16 * 1024

pytestmark = pytest.mark.cc


def test_ticks_add_up_over_many_wraps_and_an_interrupt_is_not_taken_for_the_measuring_itself(compile_c):
    program = compile_c("measure", [DEVICE / "measure_main.c", DEVICE / "models.c"])
    ended = run_limited([program], 60)
    assert (ended.stdout, ended.stderr, ended.returncode) == ("", "", 0)


def test_no_run_takes_less_than_no_time():
    assert Timing(0, 1_000_000, 32, empty_ticks=30, ticks=(29, 30, 100)).net_ticks == (0, 0, 70)


@pytest.fixture
def plain_device(repo_root, tmp_path):
    """Without sanitizers, which have their own ideas about the stack."""
    runtime = repo_root / "project_templates" / "common"
    files = [DEVICE / "port.c", DEVICE / "models.c", *sorted(runtime.glob("*.c"))]
    program = tmp_path / "plain"
    subprocess.run(
        ["gcc", "-std=c99", "-O1", f"-I{runtime}", *map(str, files), "-o", str(program)], check=True
    )
    return program


def test_the_stack_a_run_used_is_seen_and_remembered(plain_device):
    session = Session(PipeTransport([str(plain_device)], environment={}))
    try:
        session.hello()
        model = session.describe()[MOODY]
        used = []
        for mood in (FINE, GOES_DEEP, FINE):
            session.write_input(model, 0, bytes([mood]))
            session.run(model)
            used.append(session.stats().stack_used_by_runs)
        stats = session.stats()
    finally:
        session.close()
    assert used[0] < 1024
    assert DEEP_BYTES < used[1] < DEEP_BYTES + 4096
    assert used[2] == used[1]
    assert used[1] < stats.stack_used < stats.stack_bytes == 65536
