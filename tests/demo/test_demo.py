"""The demo does the whole job on both boards and says what it cost, with which compiler and emulator."""

import re
from dataclasses import replace

import pytest

from deploy.benchmark.bench_model import BoardCost
from deploy.demo.__main__ import BOARDS, Trial, main, page
from platforms.board_files import load_board

TRIAL = Trial(
    cost=BoardCost(
        model="digits",
        board=load_board("mps2-an386"),
        count=78710,
        seconds=None,  # it counts instructions
        macs=25344,
        arena_bytes=1152,
        io_bytes=0,
        stack_bytes=291,
        run_stack_bytes=200,
        code_bytes=7041,
        constants_bytes=4651,
        compile_s=0.1,
        toolchain="gcc: 12.2",
        layers=(),
    ),
    runner="qemu",
    samples=360,
    right=358,
    equal=True,
)


def test_a_page_says_what_a_board_costs():
    assert page(TRIAL) == (
        "mps2-an386                Arm MPS2 with the AN386 image\n"
        "  compiler                gcc: 12.2\n"
        "  runs in                 qemu\n"
        "  right                   99.4 % of 360 digits\n"
        "  equal to the reference  in every bit\n"
        "  RAM                     1,152 bytes of arena, 291 of stack\n"
        "  flash                   7,041 bytes of code, 4,651 of constants\n"
        "  time per digit          78,710 instructions"
    )


def test_a_board_that_computes_something_else_is_not_praised():
    assert "equal to the reference  NO\n" in page(replace(TRIAL, equal=False))


@pytest.mark.cc
@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_the_demo_runs_on_every_board_and_reads_the_digits(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert main() == 0
    said = capsys.readouterr().out
    assert all(f"\n{board} " in said for board in BOARDS)
    assert said.count("in every bit") == len(BOARDS)
    assert all(float(share) > 96 for share in re.findall(r"([\d.]+) % of 360 digits", said))
