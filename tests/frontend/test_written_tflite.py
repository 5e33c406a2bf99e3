"""Graphs written as TFLite files: read again and in LiteRT they are the same; what cannot be is named."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from litert_oracle import random_inputs, run_litert
from tiny_models import TINY

from aot.errors import ModelError
from aot.frontend.load import parse_model
from aot.frontend.tflite.write import write_model
from aot.interpret import run_graph
from aot.ir.graph import Graph, Node
from aot.ir.types import DType, TensorType
from aot.ops.curve import Curve, Function
from aot.passes.pipeline import run_pipeline

SAMPLES = 5


@pytest.mark.parametrize("name", sorted(TINY))
def test_a_model_read_and_written_gives_the_same_in_litert(
    name: str, require_package: Callable[..., None]
) -> None:
    require_package("ai_edge_litert")
    data = TINY[name]()
    written = write_model(parse_model(data, f"{name}.tflite"), "again.tflite")
    inputs = random_inputs(data, SAMPLES, seed=3)
    assert np.array_equal(run_litert(written, inputs), run_litert(data, inputs))


@pytest.mark.parametrize("name", sorted(TINY))
def test_a_model_after_the_passes_can_be_written_too(name: str) -> None:
    graph = run_pipeline(parse_model(TINY[name](), f"{name}.tflite"))
    again = parse_model(write_model(graph, "again.tflite"), "again.tflite")
    rng = np.random.default_rng(4)
    inputs = [rng.integers(-128, 128, graph.types[n].shape).astype(np.int8) for n in graph.inputs]
    first = run_graph(graph, dict(zip(graph.inputs, inputs, strict=True)))
    second = run_graph(again, dict(zip(again.inputs, inputs, strict=True)))
    for one, other in zip(graph.outputs, again.outputs, strict=True):
        assert np.array_equal(first[one], second[other])


def test_every_node_that_tflite_cannot_say_is_named_at_once() -> None:
    real = TensorType(DType.F32, (2, 3))
    nodes = tuple(
        Node(name, Curve(Function.SOFTSIGN), (source,), (made,))
        for name, source, made in (("soft", "x", "a"), ("softer", "a", "y"))
    )
    graph = Graph("curves", ("x",), ("y",), nodes, dict.fromkeys(("x", "a", "y"), real), {})
    with pytest.raises(ModelError) as refusal:
        write_model(graph, "curves.tflite")
    assert refusal.value.what == "2 nodes of the integer model cannot be written as TFLite"
    assert refusal.value.where.splitlines() == [
        "curves.tflite",
        'curve "soft": there is no operator for it',
        'curve "softer": there is no operator for it',
    ]
    assert refusal.value.hint == "write the model as ONNX: -o MODEL.onnx"
