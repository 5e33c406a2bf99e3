"""What is said of fitting is what a build makes: base firmware is counted, for all boards built here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from aot.errors import FitError
from benchmarks.fits import Compared, counted_boards, stated_and_built
from codegen.job import import_model
from codegen.options import CompileOptions
from deploy.compiler.compile_model import compile_for
from platforms.board_files import load_board

DIGITS = Path(__file__).parents[2] / "deploy" / "demo" / "digits.tflite"
MOST = 0.02
COMPILERS = ("arm-none-eabi-gcc", "riscv64-unknown-elf-gcc")
BOARDS = {board.name: board for board in counted_boards()}


def require_near(found: Mapping[str, Compared]) -> None:
    assert not {role: str(each) for role, each in found.items() if abs(each.error) > MOST}


def float_classifier() -> onnx.ModelProto:
    weights = np.random.default_rng(1).normal(size=(256, 16)).astype(np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["z"]), helper.make_node("Softmax", ["z"], ["y"])]
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in (("x", (1, 256)), ("y", (1, 16)))
    )
    graph = helper.make_graph(nodes, "float", [x], [y], [numpy_helper.from_array(weights, "w")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


@pytest.mark.slow
@pytest.mark.arm
@pytest.mark.parametrize("name", BOARDS)
def test_what_is_stated_of_a_board_is_what_a_build_makes(
    name: str, tmp_path: Path, require_tool: Callable[..., None]
) -> None:
    require_tool(*COMPILERS)
    require_near(stated_and_built(BOARDS[name], DIGITS, tmp_path / "p"))


@pytest.mark.arm
@pytest.mark.parametrize("name", ["nucleo-f446re", "qemu-microbit", "qemu-riscv32-vectors"])
def test_the_c_library_of_a_float_model_takes_what_is_stated(
    name: str, tmp_path: Path, require_tool: Callable[..., None]
) -> None:
    """Without the library's state for files and streams, which functions of floats would bring along."""
    require_tool(*COMPILERS)
    model = tmp_path / "float.onnx"
    onnx.save(float_classifier(), model)
    found = stated_and_built(BOARDS[name], model, tmp_path / "p")
    require_near(found)


@pytest.mark.arm
def test_firmware_for_16_kib_is_built_where_it_is_said_to_fit(
    tmp_path: Path, require_tool: Callable[..., None]
) -> None:
    require_tool("arm-none-eabi-gcc")
    board = BOARDS["qemu-microbit"]
    found = stated_and_built(board, DIGITS, tmp_path / "p")
    assert found["ram"].built <= board.target.ram_bytes
    require_near(found)


def test_memory_is_left_for_the_firmware() -> None:
    """The model alone would fit; with the server it does not, and each part is named."""
    board = load_board("qemu-microbit")
    regions = tuple(replace(r, bytes=3800) if r.role == "ram" else r for r in board.regions)
    model = import_model(DIGITS, CompileOptions())
    with pytest.raises(FitError, match="firmware with the model needs about") as caught:
        compile_for(model, replace(board, regions=regions), CompileOptions())
    for part in ("arena", "stack, estimated", "server and C library, as built", "stack of the server"):
        assert part in caught.value.where
    alone = replace(board, name="unmeasured", regions=regions)
    report = compile_for(model, alone, CompileOptions()).report
    assert report.fits
    assert not report.counts_firmware
