"""STRIDED_SLICE that shrinks a dimension to one element: the one that interpreters take, or a refusal."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from error_facts import refused
from tflite_builder import ModelBuilder

from aot.errors import ModelError
from aot.frontend.load import parse_model
from aot.frontend.tflite.write_file import FileTensor
from aot.interpret import run_graph

ARRAY = np.arange(12, dtype=np.int8).reshape(4, 3)


def shrunk(begin: int, step: int = 1, begin_mask: int = 0) -> bytes:
    build = ModelBuilder()
    x = build.input("x", ARRAY.shape)
    bounds = [
        build.constant(name, np.array(v, np.int32))
        for name, v in (("b", [begin, 0]), ("e", [begin + 1, 3]), ("s", [step, 1]))
    ]
    out = FileTensor("y", (3,), "int8", (0.05,), (0,))
    masks = {"BeginMask": begin_mask, "ShrinkAxisMask": 1}
    return build.finish(
        build.operator("STRIDED_SLICE", 2, (x, *bounds), [out], "StridedSliceOptions", **masks)
    )


@pytest.mark.parametrize(
    ("begin", "begin_mask", "place"), [(2, 0, 2), (2, 1, 0), (-1, 0, 3), (-1, 1, 0), (9, 1, 0)]
)
def test_it_is_where_the_slice_begins_or_the_first_of_an_open_one(
    begin: int, begin_mask: int, place: int, require_package: Callable[..., None]
) -> None:
    require_package("ai_edge_litert")
    from ai_edge_litert.interpreter import Interpreter

    data = shrunk(begin, begin_mask=begin_mask)
    made = next(iter(run_graph(parse_model(data, "model.tflite", "tflm"), {"x": ARRAY}).values()))
    np.testing.assert_array_equal(made, ARRAY[place])
    interpreter = Interpreter(model_content=data)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], ARRAY)
    interpreter.invoke()
    np.testing.assert_array_equal(made, interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))


@pytest.mark.parametrize(("begin", "step"), [(4, 1), (-5, 1), (2, -1)])
def test_an_element_that_is_not_there_is_refused(begin: int, step: int) -> None:
    refused(
        lambda: parse_model(shrunk(begin, step), "model.tflite", "tflm"),
        f'4 {begin} {step} dimension shrunk element STRIDED_SLICE #0 "y" model.tflite looks corrupted',
        ModelError,
    )
