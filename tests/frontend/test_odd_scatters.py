"""Operators that put elements where indices point: files whose shapes do not fit are refused."""

from __future__ import annotations

import numpy as np
import pytest
from tflite_builder import ModelBuilder

from aot.errors import ModelError
from aot.frontend.load import parse_model
from aot.frontend.tflite.write_file import FileTensor
from aot.ir.types import Array

Given = Array | tuple[tuple[int, ...], str]  # a constant, or an input's shape and element type


def numbers(*given: object, kind: str = "int32") -> Array:
    return np.array(given, kind)


def floats(*shape: int) -> tuple[tuple[int, ...], str]:
    return shape, "float32"


NONE, HALF = numbers(0, kind="float32"), numbers(0.5, kind="float32")
SPARSE, DIAGONAL, BOXES = "SPARSE_TO_DENSE", "MATRIX_DIAG", "NON_MAX_SUPPRESSION_V4"
ODD: dict[str, tuple[str, list[Given], tuple[int, ...], str]] = {
    "values": (SPARSE, [numbers([0], [2]), numbers(5), floats(3), NONE], (5,), "3 values at 2"),
    "no dimension": (SPARSE, [numbers(0), numbers(5), floats(1), NONE], (), "do not fit"),
    "odd indices": (SPARSE, [numbers(0, 1, 2), numbers(5, 5), floats(2), NONE], (5, 5), "at 3 indices"),
    "a segment": ("SEGMENT_SUM", [floats(3), ((3,), "int32")], (), "do not fit"),
    "wide segments": ("SEGMENT_SUM", [floats(3, 2), ((3,), "int32")], (2, 5), "do not fit"),
    "real places": ("SCATTER_ND", [floats(2, 1), floats(2), numbers(4)], (4,), "indices of f32"),
    "a diagonal": (DIAGONAL, [floats()], (), "does not fit"),
    "a flat diagonal": (DIAGONAL, [floats(3)], (3,), "does not fit"),
    "a flat matrix": ("MATRIX_SET_DIAG", [floats(3), floats(3)], (3, 3), "a matrix"),
    "few boxes": (BOXES, [floats(6, 4), floats(6), numbers(3), HALF, NONE], (2,), "declares 2"),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_shapes_that_do_not_fit_are_refused(name: str) -> None:
    code, given, shape, reason = ODD[name]
    build = ModelBuilder(code)
    operands = tuple(
        build.input(f"x{n}", each[0], dtype=each[1])
        if isinstance(each, tuple)
        else build.constant(f"c{n}", each)
        for n, each in enumerate(given)
    )
    outputs = [FileTensor("y", shape, "int32" if code == BOXES else "float32")]
    outputs += [FileTensor("count", (), "int32")] if code == BOXES else []
    options = "".join(word.title() for word in code.split("_")) + "Options"
    with pytest.raises(ModelError, match=reason):
        parse_model(build.finish(build.operator(code, 1, operands, outputs, options)), "odd.tflite", "tflm")
