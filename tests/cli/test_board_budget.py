"""A board's own memory is the budget where nobody gives another."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aot.errors import FitError
from aot.ir.graph import Graph
from aot.passes.pipeline import PassRun, run_meaning
from aot.target import Optimize
from boards.board import Board
from codegen.job import import_model
from codegen.options import CompileOptions, Rounding
from deploy.compiler.compile_model import Compiled, compile_for
from platforms.board_files import load_board

DIGITS = Path(__file__).parents[2] / "deploy" / "demo" / "digits.tflite"
ROOMY = load_board("mps2-an386")


def with_ram(ram_bytes: int) -> Board:
    regions = tuple(replace(r, bytes=ram_bytes) if r.role == "ram" else r for r in ROOMY.regions)
    return replace(ROOMY, regions=regions)


def for_board(board: Board, options: CompileOptions) -> Compiled:
    return compile_for(import_model(DIGITS, options), board, options)


def needed(compiled: Compiled) -> int:
    base = ROOMY.base_firmware
    assert base is not None
    model = compiled.arena_bytes + compiled.artifact.facts.stack_bytes_estimate
    return model + base.ram_bytes + base.stack_bytes


def test_a_model_too_large_at_full_speed_is_made_to_fit():
    fast = for_board(ROOMY, CompileOptions())
    small = for_board(with_ram(needed(fast) - 1), CompileOptions())
    assert needed(small) < needed(fast)
    assert small.report.fits


def test_a_limit_of_the_users_is_kept_on_a_board_with_room():
    fast = for_board(ROOMY, CompileOptions())
    limit = fast.arena_bytes - 1
    small = for_board(ROOMY, CompileOptions(ram=limit))
    assert small.arena_bytes <= limit
    assert small.report.facts.options == CompileOptions(ram=limit, rounding=Rounding.TFLM)


@pytest.mark.slow
def test_a_limit_of_the_users_is_kept_on_a_board_that_has_little_more():
    """The stack has no room beside an arena as large as the user allows: less is found, and never more."""
    least = needed(for_board(ROOMY, CompileOptions(optimize=Optimize.RAM)))
    for limit in (least - 1, least + 1):
        small = for_board(with_ram(least + 16), CompileOptions(ram=limit))
        assert small.report.fits
        assert small.arena_bytes <= limit


@pytest.mark.slow
def test_a_limit_above_what_the_board_has_is_that_of_the_board():
    fast = for_board(ROOMY, CompileOptions())
    board = with_ram(needed(fast) - 1)
    small = for_board(board, CompileOptions(ram=needed(fast)))
    assert small.report.fits
    assert unlimited(small) == unlimited(for_board(board, CompileOptions()))


def unlimited(compiled: Compiled) -> dict[str, str]:
    """The C without the limit that its head names: the user's in one, what the search found in the other."""
    sources = compiled.artifact.sources.items()
    return {name: re.sub(r"--ram \d+", "", text) for name, text in sources}


def test_inputs_and_outputs_of_the_callers_take_of_the_boards_memory():
    options = CompileOptions(caller_owns_io=True)
    fast = for_board(ROOMY, options)
    beside = fast.report.facts.io_bytes_beside
    assert beside
    assert for_board(with_ram(needed(fast) + beside - 1), options).report.fits


@pytest.mark.slow
def test_a_model_that_is_made_to_fit_is_imported_once_and_passes_run_once(monkeypatch):
    board = with_ram(needed(for_board(ROOMY, CompileOptions())) - 1)
    runs: list[Graph] = []

    def counted(graph: Graph, *others: Any) -> PassRun:
        runs.append(graph)
        return run_meaning(graph, *others)

    monkeypatch.setattr("codegen.fit.plan_job.run_meaning", counted)
    assert for_board(board, CompileOptions()).report.facts.options.ram_bytes is not None
    assert len(runs) == 1


@pytest.mark.slow
def test_what_cannot_fit_is_reported_with_the_least_it_needs():
    least = needed(for_board(ROOMY, CompileOptions(optimize=Optimize.RAM)))
    with pytest.raises(FitError) as raised:
        for_board(with_ram(least - 7), CompileOptions())
    assert raised.value.what == (
        f"firmware with the model needs about {least:,} bytes of RAM, "
        f"RAM of mps2-an386 has {least - 7:,}: 7 missing"
    )
