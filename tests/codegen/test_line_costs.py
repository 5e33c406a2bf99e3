"""Rows along time for least memory take hardly more instructions than whole lines do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from lines import ALONG_TIME
from model_checks import OPTIONS

from aot.ir.graph import Graph
from aot.ir.verify import verify
from aot.passes.pipeline import run_meaning
from aot.passes.sequence_rows import choose_rows
from benchmarks.memory import BOARD, run_on
from boards.board import Board
from codegen.compile import compile_job
from codegen.fit.placement_search import MEASURED_COSTS
from codegen.job import ImportedModel, Job
from codegen.model import CompiledModel
from platforms.board_files import load_board

MOST_MORE = 0.05  # of the instructions


def by_rows(graph: Graph, board: Board, rows: bool) -> CompiledModel:
    options = replace(OPTIONS["ram"], rows=rows)
    return compile_job(Job(ImportedModel(graph, "k", "0" * 64, "k"), board.target, options))


@pytest.mark.slow
@pytest.mark.parametrize("name", ALONG_TIME)
def test_lines_for_ram_take_less_memory_than_whole_ones(name: str) -> None:
    graph, board = ALONG_TIME[name](), load_board(BOARD)
    verify(graph)
    rows, whole = (by_rows(graph, board, rows).plan.arena_bytes for rows in (True, False))
    assert rows < 0.85 * whole


def test_lines_with_little_work_take_the_time_that_others_leave() -> None:
    pixels = choose_rows(run_meaning(ALONG_TIME["motion"]()).graph, MOST_MORE, MEASURED_COSTS).pixels
    assert {name: pixels[name] for name in ("deep.made", "pool made", "last one.made")} == {
        "deep.made": 16,
        "pool made": 8,
        "last one.made": 16,
    }


@pytest.mark.slow
def test_windows_that_are_multiplied_once_stay_narrow_where_there_is_room_for_wide_ones() -> None:
    """Widening a copy of each element costs more than a depthwise layer saves by it."""
    model = by_rows(ALONG_TIME["separable"](), load_board(BOARD), True)
    windows = {layer.name: layer.format.dtype_bytes for layer in model.layers if layer.op == "windows"}
    assert {name: size for name, size in windows.items() if "deep" in name} == {
        f"deep{n} made/windows": 1 for n in range(4)
    }


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("name", ALONG_TIME)
def test_lines_for_ram_take_at_most_a_twentieth_more_instructions(
    name: str, require_tool: Callable[..., None]
) -> None:
    require_tool("arm-none-eabi-gcc", "qemu-system-arm")
    graph, board = ALONG_TIME[name](), load_board(BOARD)
    (rows, _), (whole, _) = (run_on(by_rows(graph, board, rows), board) for rows in (True, False))
    assert rows is not None
    assert whole is not None
    assert rows <= (1 + MOST_MORE) * whole
