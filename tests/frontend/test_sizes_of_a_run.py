"""Operators whose results have a size that a run decides: read if the data is known, refused otherwise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from tflite_builder import ModelBuilder

from aot.errors import ModelError
from aot.frontend.load import parse_model
from aot.frontend.tflite.write_file import FileTensor
from aot.interpret import run_graph

DATA = np.array([0, 3, 0, 1, 3], np.int32)
OUTPUTS = {
    "WHERE": [FileTensor("places", (3, 1), "int64")],
    "UNIQUE": [FileTensor("kinds", (3,), "int32"), FileTensor("numbers", (5,), "int32")],
}
WANTED = {"WHERE": [[1], [3], [4]], "UNIQUE": [0, 3, 1]}


def model(code: str, outputs: Sequence[FileTensor], is_known: bool = True) -> bytes:
    """The first result of the operator, added to an input."""
    build = ModelBuilder(code)
    data = build.constant("data", DATA) if is_known else build.input("data", DATA.shape, dtype="int32")
    build.operator(code, 1, (data,), outputs, f"{code.title()}Options")
    first = outputs[0]
    build.tensors["x"] = FileTensor("x", first.shape, first.dtype)
    build.inputs.append("x")
    return build.finish(
        build.operator("MAXIMUM", 1, (first.name, "x"), [FileTensor("y", first.shape, first.dtype)])
    )


@pytest.mark.parametrize("code", OUTPUTS)
def test_results_of_known_data_are_constants(code: str) -> None:
    graph = parse_model(model(code, OUTPUTS[code]), "known.tflite", "tflm")
    zeros = np.zeros(OUTPUTS[code][0].shape, OUTPUTS[code][0].dtype)
    assert run_graph(graph, {"x": zeros})[graph.outputs[0]].tolist() == WANTED[code]


@pytest.mark.parametrize("code", OUTPUTS)
def test_results_of_a_size_that_the_input_decides_are_refused(code: str) -> None:
    with pytest.raises(ModelError, match="the size of its result, and it depends on the input") as caught:
        parse_model(model(code, OUTPUTS[code], is_known=False), "open.tflite", "tflm")
    assert code in caught.value.where
    assert caught.value.hint


def test_a_declared_size_that_is_not_that_of_the_data_is_refused() -> None:
    with pytest.raises(ModelError, match=r"makes shape \[3, 1\], the file declares \[1, 1\]"):
        parse_model(model("WHERE", [FileTensor("places", (1, 1), "int64")]), "declared.tflite", "tflm")


def test_updates_that_may_have_the_same_place_are_limited() -> None:
    build = ModelBuilder("scatter")
    for name, shape, dtype in (("places", (70, 1), "int32"), ("updates", (70,), "float32")):
        build.tensors[name] = FileTensor(name, shape, dtype)
        build.inputs.append(name)
    sizes = build.constant("sizes", np.array([8], np.int32))
    result = FileTensor("y", (8,), "float32")
    data = build.finish(
        build.operator("SCATTER_ND", 1, ("places", "updates", sizes), [result], "ScatterNdOptions")
    )
    with pytest.raises(
        ModelError, match="70 parts that may have the same place are not supported, at most 64"
    ):
        parse_model(data, "scatter.tflite", "tflm")
