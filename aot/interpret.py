"""Runs a graph with the reference implementations of its ops: the oracle for all generated code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from aot.errors import InputError
from aot.ir.graph import Graph
from aot.ir.types import Array, TensorType


def run_graph(graph: Graph, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Returns the outputs of a first run, by name."""
    (outputs,) = run_series(graph, [inputs])
    return outputs


def run_series(graph: Graph, samples: Iterable[Mapping[str, Array]]) -> Iterator[dict[str, Array]]:
    """Yields the outputs of consecutive runs, by name; states start at their initial values and persist."""
    states = {state.name: state.initial for state in graph.states}
    for inputs in samples:
        values = {**graph.constants, **_run_from(graph, inputs, states)}
        states = {state.name: values[state.next] for state in graph.states}
        yield {name: values[name] for name in graph.outputs}


def run_all(graph: Graph, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Returns every value of a first run that is not a constant, by name."""
    return _run_from(graph, inputs, {state.name: state.initial for state in graph.states})


def _run_from(graph: Graph, inputs: Mapping[str, Array], states: Mapping[str, Array]) -> dict[str, Array]:
    given = {name: _checked(name, graph.types[name], inputs) for name in graph.inputs}
    values: dict[str, Array] = {**given, **states}
    for node in graph.nodes:
        arrays = [None if v is None else graph.constants.get(v, values.get(v)) for v in node.inputs]
        results = node.op.reference(arrays, graph.input_types(node), graph.output_types(node))
        values.update(zip(node.outputs, results, strict=True))
    return values


def _checked(name: str, tensor: TensorType, inputs: Mapping[str, Array]) -> Array:
    if name not in inputs:
        given = ", ".join(f'"{other}"' for other in inputs) or "none"
        raise InputError(f'input "{name}" is missing', f"given: {given}")
    array = np.asarray(inputs[name])
    if array.shape != tensor.shape or array.dtype != tensor.dtype.numpy:
        raise InputError(
            f'input "{name}" is {array.dtype}{list(array.shape)}, '
            f"the model needs {tensor.dtype.numpy}{list(tensor.shape)}"
        )
    return array
