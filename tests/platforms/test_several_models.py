"""Several models in one firmware share one arena, and each stays right when they take turns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from aot.errors import InputError
from aot.frontend.load import load_model
from aot.interpret import run_graph
from artifact.artifact import artifact_of
from codegen.c.arenas import Arena
from codegen.compile import compile_job
from codegen.job import read_job
from codegen.options import CompileOptions
from platforms.base import BuildChoices, platform_of
from platforms.board_files import load_board
from platforms.line_deadlines import deadlines_for
from platforms.project import App, ProjectSource, project_source, share_firmware
from platforms.rpc.messages import RemoteModel
from platforms.rpc.session import Session

DIGITS = Path(__file__).parents[2] / "deploy" / "demo" / "digits.tflite"
BOARDS = {"host": ("gcc",), "mps2-an386": ("arm-none-eabi-gcc", "qemu-system-arm")}


def digits_source(board: str) -> ProjectSource:
    job = read_job(DIGITS, load_board(board).target, CompileOptions())
    return project_source(artifact_of(compile_job(job)))


def output_of(session: Session, model: RemoteModel, data: bytes) -> bytes:
    session.write_input(model, 0, data)
    session.run(model)
    return session.read_output(model, 0)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("host", marks=pytest.mark.cc),
        pytest.param("mps2-an386", marks=(pytest.mark.arm, pytest.mark.qemu)),
    ],
)
def test_two_models_take_turns_in_one_arena(
    name: str, tiny: ProjectSource, require_tool: Callable[..., None], tmp_path: Path
) -> None:
    require_tool(*BOARDS[name])
    digits, board = digits_source(name), load_board(name)
    both = share_firmware(digits, [replace(tiny, c_flags=digits.c_flags)])
    assert both.arena_bytes == digits.arena_bytes > tiny.arena_bytes
    platform = platform_of(board)
    platform.generate(both, tmp_path / "p", board, App.RPC)
    firmware = platform.build(tmp_path / "p", board, BuildChoices(BOARDS[name][0]))
    graph = load_model(DIGITS, "tflm")
    images = np.load(DIGITS.with_name("digits_test.npz"))["image"][:3]
    line = platform.open_line(firmware, board)
    session = Session(line, deadlines_for(line, board))
    try:
        session.hello()
        first, second = session.describe()
        assert (first.name, second.name) == ("digits", "tiny")
        for turn, image in enumerate(images):
            (wanted,) = run_graph(graph, {graph.inputs[0]: image.reshape(1, 8, 8, 1)}).values()
            assert output_of(session, first, image.tobytes()) == wanted.tobytes()
            assert output_of(session, second, bytes([turn, 1, 2, 3])) == bytes([turn + 1, 2, 3, 4])
    finally:
        session.close()


def test_the_shared_arena_of_a_standalone_program_is_the_largest(tiny: ProjectSource) -> None:
    other = replace(tiny, name="other", arenas=(Arena("arena", "", 96),), sources={}, headers={})
    board = load_board("mps2-an386")
    files = platform_of(board).files(share_firmware(tiny, [other]), board, App.STANDALONE)
    assert "uint8_t solder_arena[96] TINY_ALIGN;" in files["src/main.c"]


def test_two_models_of_one_name_are_refused(tiny: ProjectSource) -> None:
    with pytest.raises(InputError, match='two of the models are named "tiny"'):
        share_firmware(tiny, [tiny])


def test_models_that_want_other_compiler_options_are_refused(tiny: ProjectSource) -> None:
    other = replace(tiny, name="other", c_flags=("-Os",))
    with pytest.raises(InputError, match="tiny must be compiled with -O2, other with -Os"):
        share_firmware(tiny, [other])


def test_the_server_tells_counters_where_any_of_the_models_counts(tiny: ProjectSource) -> None:
    other, board = (
        replace(tiny, name="other", sources={}, headers={}, observes=True),
        load_board("mps2-an386"),
    )
    told = {
        "neither": share_firmware(tiny, [replace(other, observes=False)]),
        "the second": share_firmware(tiny, [other]),
        "the first": share_firmware(other, [tiny]),
    }
    flags = {
        which: "-DSOLDER_OBSERVED" in platform_of(board).files(source, board, App.RPC)["flags/compile"]
        for which, source in told.items()
    }
    assert flags == {"neither": False, "the second": True, "the first": True}
