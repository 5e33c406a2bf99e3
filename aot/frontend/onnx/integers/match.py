"""Matches the layer before a quantization: one op over quantized operands, possibly with a clamp."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from aot.frontend.onnx.stored import Stored
from aot.ir.graph import Graph, Node
from aot.ir.types import DType, TensorType
from aot.ops.activation import Activation, integer_clamp
from aot.ops.combine import Combination, Combine
from aot.ops.constraints import violations
from aot.ops.op import Op
from aot.ops.requant import quant_of
from aot.ops.unary import Clamp
from aot.passes.values import NewValues, needed_elsewhere
from aot.patterns.pattern import Pattern, any_of, chain, constant, has_attr, has_type, is_op, match, wildcard

_INTEGERS = any_of(*(has_type(wildcard(), dtype) for dtype in (DType.I8, DType.I16)))
_OF_INTEGERS = is_op("dequantize")(_INTEGERS)
_ACTIVATIONS = (Activation.NONE, Activation.RELU, Activation.RELU6, Activation.RELU_N1_TO_1)


class IntegerRewrite(NewValues):
    """A graph whose quantizations are rewritten one by one, and what their integer forms add."""

    def __init__(self, graph: Graph, stored: Mapping[str, Stored], mode: str) -> None:
        super().__init__(graph)
        self.stored = stored
        self.mode = mode  # of rounding

    def integers(self, real: str | None) -> str | None:
        """Returns the 8- or 16-bit integer value that a float value was converted from, or None."""
        if real is None:
            return None
        of_integers = match(_OF_INTEGERS, self.graph, real)
        if of_integers is not None:
            return of_integers[_INTEGERS]
        found = self.stored[real].alike() if real in self.stored else None
        return None if found is None else self.constant(f"{real}/stored", *found)

    def fits(self, op: Op, inputs: tuple[str | None, ...], out: TensorType) -> bool:
        """Returns whether the op accepts these operands and this result."""
        types = [None if name is None else self.type(name) for name in inputs]
        if violations(op, types, (out,)):
            return False
        ((dtype, shape),) = op.infer(types)
        return (dtype, shape) == (out.dtype.value, out.shape)


@dataclass(frozen=True)
class Layer:
    """A float op whose result, after clamping, is quantized and has no other reader."""

    node: Node
    quantise: Node
    low: float
    high: float

    def stored_limits(self, out: TensorType) -> tuple[int, int]:
        """Returns the smallest and the largest integer of the result."""
        smallest, largest = out.dtype.limits
        low = min(max(smallest, _nearest(self.low, out)), largest) if math.isfinite(self.low) else smallest
        high = max(min(largest, _nearest(self.high, out)), low) if math.isfinite(self.high) else largest
        return low, high

    def activation(self, out: TensorType) -> Activation | None:
        """Returns the activation with these limits in the result's integers, or None."""
        exact = [a for a in _ACTIVATIONS if a.real_limits == (self.low, self.high)]
        limits = self.stored_limits(out)
        return next((a for a in (*exact, *_ACTIVATIONS) if integer_clamp(a, out) == limits), None)


def _nearest(real: float, out: TensorType) -> int:
    quant = quant_of(out)
    return round(float(np.float32(real) / np.float32(quant.scale))) + quant.zero_point


def _limit(x: Pattern) -> Pattern:
    """Matches a node that clamps x, or computes its maximum or minimum with a constant."""
    combined = is_op("combine")(x, constant()), is_op("combine")(constant(), x)
    sides = (Combination.MAXIMUM, Combination.MINIMUM)
    return any_of(is_op("clamp")(x), *(has_attr(each, by=side) for each in combined for side in sides))


_RESULT = wildcard("result")
_QUANTISED = is_op("quantize")(chain(_limit, _RESULT, least=0))


def layer_before(graph: Graph, quantise: Node) -> Layer | None:
    """Returns the layer; None if there are other readers of the floats, or they come from an input."""
    found = match(_QUANTISED, graph, quantise.outputs[0])
    if found is None:
        return None
    *nodes, _ = found.nodes
    values = [found[_RESULT], *(node.outputs[0] for node in nodes)]
    node = graph.producers.get(values[0])
    limits = [_limits(graph, each) for each in reversed(nodes)]
    if node is None or any(needed_elsewhere(graph, value) for value in values):
        return None
    low, high = -math.inf, math.inf
    for each in limits:
        if each is None:
            return None
        # The earlier limits apply first, and their results pass the later ones.
        first, last = each
        low, high = min(max(low, first), high), max(min(high, last), low)
    return Layer(node, quantise, low, high)


def _limits(graph: Graph, node: Node) -> tuple[float, float] | None:
    """Returns the limits of a node that only clamps; None for others, such as limits per element."""
    if isinstance(node.op, Clamp):
        return node.op.activation.real_limits
    limits = [v for v in node.reads if v in graph.constants and graph.constants[v].size == 1]
    others = [v for v in node.reads if v not in limits]
    if len(limits) != 1 or len(others) != 1:
        return None
    if graph.types[others[0]].shape != graph.types[node.outputs[0]].shape:
        return None
    limit = float(graph.constants[limits[0]].reshape(-1)[0])
    return (limit, math.inf) if node.op_as(Combine).by is Combination.MAXIMUM else (-math.inf, limit)
