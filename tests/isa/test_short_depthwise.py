"""The C of a depthwise row, which a person may want to read, stays short: that of keyword spotting."""

import pytest

from codegen.c.tree import AnyHelper
from codegen.c.tree_walk import helpers_of
from codegen.fit.plan_job import plan_job
from codegen.job import read_job
from codegen.loops.ir import ScalarFunction
from codegen.options import CompileOptions
from platforms.board_files import load_board

MOST_LINES = 100


@pytest.mark.slow
def test_the_depthwise_row_of_keyword_spotting_takes_a_hundred_lines(shared_dir):
    (path,) = (shared_dir / "models" / "tiny_kws_dscnn_int8").glob("*.tflite")
    board = load_board("mps2-an386")
    library = plan_job(read_job(path, board.target, CompileOptions(), board=board.name)).library
    called = {kernel.function.name: _with_theirs(helpers_of(kernel.function)) for kernel in library.kernels}
    (mine,) = (name for name in called if name.startswith("depthwise_conv2d_3x3"))
    others = {name for kernel, helpers in called.items() if kernel != mine for name in helpers}
    own = [definition for name, definition in called[mine].items() if name not in others]
    assert sum(definition.count("\n") + 1 for definition in own) <= MOST_LINES  # with a blank one behind each


def _with_theirs(helpers: tuple[AnyHelper, ...]) -> dict[str, str]:
    """Definitions of functions and macros by name, with those that these call; not how a sum is stored."""
    found: dict[str, str] = {}
    for helper in helpers:
        if not isinstance(helper, ScalarFunction):
            found |= {**_with_theirs(helper.calls), helper.name: helper.definition}
    return found
