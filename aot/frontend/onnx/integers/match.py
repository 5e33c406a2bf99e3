"""Matches the layer before a quantization: one op over quantized operands, possibly with a clamp."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from aot.frontend.onnx.draft import Stored
from aot.ir.graph import Graph, Node
from aot.ir.types import DType, TensorType
from aot.ops.activation import Activation, integer_clamp
from aot.ops.average_pool2d import AveragePool2d
from aot.ops.batch_matmul import BatchMatmul, product_requant
from aot.ops.binary import Add, Mul, Sub
from aot.ops.binary_rescale import add_parameters, mul_multiplier
from aot.ops.combine import Combination, Combine
from aot.ops.constraints import violations
from aot.ops.conv2d import Conv2d
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.mean import Mean, mean_parameters
from aot.ops.op import Op
from aot.ops.requant import Multipliers, conv_requant, quant_of
from aot.ops.rounding import POWERS, RequantRounding, rounding_of
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


# Halves to even, as ONNX Runtime rounds: exact halves are common if scales are powers of two.


_Types = tuple[TensorType, ...]
_Multiplier = tuple[int, int]
_ADDING_ZERO_POINTS_FIRST = (Add, AveragePool2d, Mul)  # ONNX Runtime's kernels of these


def with_even_halves(
    rewrite: IntegerRewrite, layer: Layer, op: Op, inputs: tuple[str | None, ...], out: TensorType
) -> Op:
    """Returns the op with the rounding of powers of two, if all its multipliers are; otherwise the op."""
    multipliers_of = _MULTIPLIERS.get(type(op))
    types = tuple(rewrite.type(name) for name in inputs if name is not None)
    if multipliers_of is None or any(t.dtype is not DType.I8 for t in (*types[:2], out)):
        return op
    rounding = rounding_of(op.name, rewrite.mode, POWERS)
    if rounding is not RequantRounding.EVEN or not _make_halves(multipliers_of(op, types, out)):
        return op
    if quant_of(out).zero_point % 2 and _adds_zero_point_first(layer, out):
        rounding = RequantRounding.ODD
    assert isinstance(op, Add | BatchMatmul | Conv2d | Dense | DepthwiseConv2d | Mean | Mul | Sub)
    return replace(op, rounding=rounding)


def _make_halves(multipliers: list[_Multiplier]) -> bool:
    """Returns whether all are powers of two, and one is at most 1/2."""
    return all(mult == 1 << 30 for mult, _ in multipliers) and any(shift <= 0 for _, shift in multipliers)


def _adds_zero_point_first(layer: Layer, out: TensorType) -> bool:
    """Returns whether the runtime rounds the sum of result and zero point.

    It computes an operator in floats if a clamp remains between the operator and the quantization.
    """
    is_global = layer.node.origin.startswith("GlobalAveragePool ")
    is_clamped = layer.stored_limits(out) != out.dtype.limits
    return isinstance(layer.node.op, _ADDING_ZERO_POINTS_FIRST) and not is_global and not is_clamped


def _of_channels(multipliers: Multipliers) -> list[_Multiplier]:
    return [(int(mult), int(shift)) for mult, shift in zip(*multipliers, strict=True)]


def _weighted(op: Op, types: _Types, out: TensorType) -> list[_Multiplier]:
    return _of_channels(conv_requant(types[0], types[1], out, out.shape[-1]))


def _product(op: Op, types: _Types, out: TensorType) -> list[_Multiplier]:
    return _of_channels(product_requant(types[0], types[1], out))


def _sum(op: Op, types: _Types, out: TensorType) -> list[_Multiplier]:
    """Returns the multipliers of both operands alone; (0, 0) for one that is rounded before the sum."""
    p = add_parameters(types[0], types[1], out)
    return [
        (max(mult, p.out[0]), shift + p.left_shift - 1 + p.out[1])
        if p.left_shift - 1 + shift >= 0
        else (0, 0)
        for mult, shift in (p.first, p.second)
    ]


def _factors(op: Op, types: _Types, out: TensorType) -> list[_Multiplier]:
    return [mul_multiplier(types[0], types[1], out)]


def _mean(op: Op, types: _Types, out: TensorType) -> list[_Multiplier]:
    assert isinstance(op, Mean)
    p = mean_parameters(types[0], out, op.count(types[0]), RequantRounding.EVEN)
    return [(p.mult, p.shift)]


_MULTIPLIERS: Mapping[type[Op], Callable[[Op, _Types, TensorType], list[_Multiplier]]] = {
    Add: _sum,
    BatchMatmul: _product,
    Conv2d: _weighted,
    Dense: _weighted,
    DepthwiseConv2d: _weighted,
    Mean: _mean,
    Mul: _factors,
    Sub: _sum,
}
