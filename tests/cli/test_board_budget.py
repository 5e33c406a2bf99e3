"""A board's own memory is the budget where nobody gives another."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from aot.errors import FitError
from aot.target import Optimize
from boards.board import Board
from boards.load import load_board
from codegen.model import CompileOptions
from deploy.compiling import Compiled, compile_for

DIGITS = Path(__file__).parents[2] / "deploy" / "demo" / "digits.tflite"
ROOMY = load_board("mps2-an386")


def with_ram(ram_bytes: int) -> Board:
    regions = tuple(replace(r, bytes=ram_bytes) if r.role == "ram" else r for r in ROOMY.regions)
    return replace(ROOMY, regions=regions)


def needed(compiled: Compiled) -> int:
    return compiled.arena_bytes + compiled.model.stack_bytes_estimate


def test_a_model_too_large_at_full_speed_is_made_to_fit() -> None:
    fast = compile_for(DIGITS, ROOMY, CompileOptions())
    small = compile_for(DIGITS, with_ram(needed(fast) - 1), CompileOptions())
    assert needed(small) < needed(fast)
    assert small.report.fits


def test_what_cannot_fit_is_told_with_the_least_it_needs() -> None:
    least = needed(compile_for(DIGITS, ROOMY, CompileOptions(optimize=Optimize.RAM)))
    with pytest.raises(FitError) as raised:
        compile_for(DIGITS, with_ram(least - 7), CompileOptions())
    assert raised.value.what == (
        f"the model needs {least:,} bytes of RAM, RAM of mps2-an386 has {least - 7:,}: 7 too few"
    )
