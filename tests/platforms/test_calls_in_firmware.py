"""Firmware with layers that are calls: it is built with their files, its arena begins where they demand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from calls import Larger, maxima, random_inputs, used_for

from aot.interpret import run_graph
from artifact.artifact import artifact_of
from boards.board import Board
from codegen.compile import compile_job
from codegen.job import ImportedModel, Job
from codegen.kernels.kernel import MemoryDemand
from codegen.options import CompileOptions
from platforms.base import BuildChoices, platform_of
from platforms.board_files import load_board
from platforms.line_deadlines import deadlines_for
from platforms.project import App, ProjectSource, project_source, share_firmware
from platforms.rpc.session import Session

TOOLS = {"host": ("gcc",), "mps2-an386": ("arm-none-eabi-gcc", "qemu-system-arm")}


def source(board: Board, name: str) -> ProjectSource:
    model = ImportedModel(maxima(), f"{name}.tflite", "00" * 32, name)
    return project_source(artifact_of(compile_job(Job(model, board.target, CompileOptions()))))


def called_behind_another(board: Board) -> ProjectSource:
    """Two models: the first is computed by loops, the second by calls that demand whole cache lines."""
    plain = source(board, "plain")
    with used_for("combine", Larger(MemoryDemand(align=64)).strategy):
        return share_firmware(plain, [source(board, "calling")])


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("host", marks=pytest.mark.cc),
        pytest.param("mps2-an386", marks=(pytest.mark.arm, pytest.mark.qemu)),
    ],
)
def test_models_of_loops_and_of_calls_give_the_reference_s_bits(
    name: str, require_tool: Callable[..., None], tmp_path: Path
) -> None:
    require_tool(*TOOLS[name])
    board = load_board(name)
    platform = platform_of(board)
    platform.generate(called_behind_another(board), tmp_path / "p", board, App.RPC)
    firmware = platform.build(tmp_path / "p", board, BuildChoices(TOOLS[name][0]))
    inputs = random_inputs()
    wanted = run_graph(maxima(), inputs)["y"].tobytes()
    line = platform.open_line(firmware, board)
    session = Session(line, deadlines_for(line, board))
    try:
        session.hello()
        for model in session.describe():
            for number, key in enumerate(inputs):
                session.write_input(model, number, inputs[key].tobytes())
            session.run(model)
            assert session.read_output(model, 0) == wanted, model.name
    finally:
        session.close()


def test_the_arena_of_several_models_begins_where_each_of_them_demands() -> None:
    board = load_board("mps2-an386")
    files = platform_of(board).files(called_behind_another(board), board, App.RPC)
    (line,) = (
        text for text in files["src/models.c"].splitlines() if text.startswith("uint8_t solder_arena[")
    )
    assert "] PLAIN_ALIGN CALLING_ALIGN;" in line
