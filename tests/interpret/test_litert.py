"""In mode litert-ref the interpreter equals LiteRT's reference kernels (BUILTIN_REF) in every bit.

Its optimised kernels are not a measure: they differ by one here and there, in depthwise layers, additions,
softmax and dense layers. The stored outputs beside the repository hold mode tflm to the same standard.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tiny_models import TINY

from aot.frontend.load import parse_model
from aot.interpret import run_graph
from aot.ir.types import Array
from aot.passes.pipeline import run_meaning

READABLE = sorted(TINY.keys() - {"padded"})  # PAD is not supported
SAMPLES = 25


@pytest.mark.parametrize("name", READABLE)
def test_a_tiny_model_equals_litert(name: str, require_package: Callable[..., None]) -> None:
    require_package("ai_edge_litert")
    data = TINY[name]()
    graph = parse_model(data, f"{name}.tflite", "litert-ref")
    (x,), (y,) = graph.inputs, graph.outputs
    shape = (SAMPLES, *graph.types[x].shape)
    inputs = np.random.default_rng(7).integers(-128, 128, shape).astype(np.int8)
    expected = run_reference_kernels(data, inputs)
    for model in (graph, run_meaning(graph).graph):
        got = np.stack([run_graph(model, {x: sample})[y] for sample in inputs])
        assert np.array_equal(got, expected)


def run_reference_kernels(data: bytes, inputs: Array) -> Array:
    # An optional package, imported only where a test asks for it.
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(model_content=data, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    (source,), (result,) = interpreter.get_input_details(), interpreter.get_output_details()
    outputs = []
    for sample in inputs:
        interpreter.set_tensor(source["index"], sample)
        interpreter.invoke()
        outputs.append(interpreter.get_tensor(result["index"]))
    return np.stack(outputs)
