"""Sparse weights of TFLite files are whole constants when they have been read, and give what LiteRT gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from litert_oracle import run_litert
from tflite_builder import ModelBuilder

from aot.errors import ModelError
from aot.frontend.tflite.read import read_tflite
from aot.frontend.tflite.sparse import Sparsity, WalkLevel
from aot.frontend.tflite.write_file import FileTensor
from aot.interpret import run_graph
from aot.ir.types import Array

WHOLE = np.array([[0, 0, 5, -3], [0, 0, 2, 1], [7, 0, 0, 0], [0, 4, 0, 0]])
ROWS = Sparsity((0, 1), (), (WalkLevel(4), WalkLevel(0, (0, 2, 4, 5, 6), (2, 3, 2, 3, 0, 1))))
OF_ROWS = [5, -3, 2, 1, 7, 4]
# Blocks of 2 x 2: the first pair of rows has the second block, the second pair the first.
BLOCKS = Sparsity(
    (0, 1, 2, 3), (0, 1), (WalkLevel(2), WalkLevel(0, (0, 1, 2), (1, 0)), WalkLevel(2), WalkLevel(2))
)
OF_BLOCKS = [5, -3, 2, 1, 7, 0, 0, 4]
COLUMNS = Sparsity((1, 0), (), (WalkLevel(4), WalkLevel(0, (0, 1, 2, 4, 6), (2, 3, 0, 1, 0, 1))))
OF_COLUMNS = [7, 4, 5, 2, -3, 1]
CASES = {"rows": (ROWS, OF_ROWS), "blocks": (BLOCKS, OF_BLOCKS), "columns": (COLUMNS, OF_COLUMNS)}


def densified(sparsity: Sparsity, stored: list[int], dtype: str = "float32") -> bytes:
    """A dense layer whose weights a file stores sparsely, as converters of pruned models write it."""
    build = ModelBuilder()
    x = build.input("x", (1, 4), dtype="float32")
    build.tensors["w"] = FileTensor("w", (4, 4), dtype, data=np.array(stored, dtype), sparsity=sparsity)
    w = build.operator("DENSIFY", 1, ("w",), [FileTensor("whole", (4, 4), dtype)], "DensifyOptions")
    if dtype == "float16":
        w = build.operator("DEQUANTIZE", 1, (w,), [FileTensor("wide", (4, 4), "float32")])
    y = FileTensor("y", (1, 4), "float32")
    return build.finish(build.operator("FULLY_CONNECTED", 4, (x, w, None), [y], "FullyConnectedOptions"))


def weights_of(data: bytes) -> Array:
    graph = read_tflite(data, "net.tflite")
    (node,) = graph.nodes
    return graph.constants[node.inputs[1] or ""]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("case", CASES)
def test_sparse_weights_are_constants(case: str, dtype: str) -> None:
    assert weights_of(densified(*CASES[case], dtype)).tolist() == WHOLE.tolist()


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("case", CASES)
def test_sparse_weights_give_what_litert_gives(
    case: str, dtype: str, require_package: Callable[..., None]
) -> None:
    require_package("ai_edge_litert")
    data, x = densified(*CASES[case], dtype), np.array([[1, -2, 0.5, 3]], np.float32)
    (wanted,) = run_litert(data, x[None])
    (made,) = run_graph(read_tflite(data, "net.tflite"), {"x": x}).values()
    assert made.tolist() == wanted.tolist()


LEVELS = ROWS.levels
WRONG = {
    "too few elements": (ROWS, OF_ROWS[:5], "it stores 5 elements, its levels have 6"),
    "an index beyond": (
        replace(ROWS, levels=(LEVELS[0], WalkLevel(0, (0, 2, 4, 5, 6), (2, 4, 2, 3, 0, 1)))),
        OF_ROWS,
        "an element is outside shape [4, 4]",
    ),
    "too few segments": (
        replace(ROWS, levels=(LEVELS[0], WalkLevel(0, (0, 6), (2, 3, 2, 3, 0, 1)))),
        OF_ROWS,
        "1 segments of 6 indices do not fit 4 positions",
    ),
    "a level too many": (
        replace(ROWS, levels=(*LEVELS, WalkLevel(2))),
        OF_ROWS,
        "3 levels do not fit 2 dimensions and 0 of blocks",
    ),
    "a block of a dimension that is none": (
        replace(BLOCKS, block_map=(0, 2)),
        OF_BLOCKS,
        "blocks of dimensions [0, 2] exceed rank 2",
    ),
    "endless dimensions": (
        replace(ROWS, levels=(WalkLevel(2**30), LEVELS[1])),
        OF_ROWS,
        "a level has 1,073,741,824 positions, the tensor 16 elements",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_description_that_contradicts_itself_is_reported(name: str) -> None:
    sparsity, stored, what = WRONG[name]
    with pytest.raises(ModelError) as caught:
        read_tflite(densified(sparsity, stored), "net.tflite")
    assert caught.value.what == f"its sparsity contradicts itself: {what}"
    assert caught.value.where == 'tensor 1 "w" (net.tflite)'


def test_a_sparse_tensor_that_is_computed_is_refused() -> None:
    build = ModelBuilder()
    x = build.input("x", (4, 4), dtype="float32")
    y = FileTensor("y", (4, 4), "float32", sparsity=ROWS)
    with pytest.raises(ModelError) as caught:
        read_tflite(build.finish(build.operator("RELU", 1, (x,), [y])), "net.tflite")
    assert caught.value.what == "sparse tensors are supported for constants only"
    assert caught.value.hint == "convert the model without sparsity"
