"""Anomaly score: the difference between an autoencoder's input and output."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aot.backs.back import no_number, not_one_output
from aot.frontend.builder import AddedNodes
from aot.frontend.declared import DeclarationError
from aot.ir.graph import Graph
from aot.ir.types import DType
from aot.ops.binary import Mul, SquaredDifference
from aot.ops.compare import Compare, Relation
from aot.ops.convert import Convert
from aot.ops.quantize import Dequantize
from aot.ops.reduce import Reduce, Reduction
from aot.ops.unary_math import MathFunction, UnaryMath

_MEASURES = ("rmse", "mse")


@dataclass(frozen=True, kw_only=True)
class Anomaly:
    """Outputs the error between input and output; with a threshold, also 1 if the error reaches it."""

    measure: str = "rmse"
    threshold: float | None = None

    def check(self) -> None:
        """Raises DeclarationError for an unknown measure."""
        if self.measure not in _MEASURES:
            raise DeclarationError(f"measure must be {' or '.join(_MEASURES)}, not {self.measure}")

    def refusal(self, graph: Graph) -> str | None:
        """Returns why this model cannot have the back end; None if it can."""
        refusal = not_one_output(graph) or no_number(graph, graph.inputs)
        if refusal is not None:
            return refusal
        if len(graph.inputs) != 1:
            return (
                f"an anomaly back end needs a model with one input, this one has {len(graph.inputs)}: "
                f"{', '.join(graph.inputs)}"
            )
        given, made = (graph.types[name].elements for name in (graph.inputs[0], graph.outputs[0]))
        if given != made:
            return f"an anomaly score needs an output as large as the input: {made} numbers of {given}"
        return None

    def add(self, nodes: AddedNodes, graph: Graph) -> tuple[str, ...]:
        """Adds nodes after the model's output; returns the names of the new outputs."""
        wanted = _numbers(nodes.branch(graph.inputs[0]), "input")
        _numbers(nodes, "output")
        nodes.then("squares", SquaredDifference(), wanted)
        count = nodes.type.elements
        nodes.then("sum", Reduce(Reduction.SUM, (1,)))
        nodes.then("error", Mul(), np.array([[1 / count]], np.float32))
        if self.measure == "rmse":
            nodes.then("root", UnaryMath(MathFunction.SQRT))
        error = nodes.value
        if self.threshold is None:
            return (error,)
        nodes.then("is over", Compare(Relation.GREATER_EQUAL), np.array([[self.threshold]], np.float32))
        nodes.then("anomaly", Convert(DType.I32))
        return error, nodes.value


def _numbers(nodes: AddedNodes, label: str) -> str:
    """Returns the value as floats in one row."""
    if nodes.type.dtype is not DType.F32:
        nodes.then(f"{label} as numbers", Dequantize())
    nodes.view(f"{label} in line", 1, nodes.type.elements)
    return nodes.value
