"""Normalizations as sums and products; batch normalization with constants folds into the layer before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from onnx import TensorProto

from aot.frontend.onnx.draft import Value
from aot.frontend.onnx.importers.moving import sliced
from aot.frontend.onnx.importers.real import Real
from aot.frontend.onnx.operation import Importer, OnnxOperator, Results
from aot.ir.types import Array
from aot.ops.log_softmax import LogSoftmax
from aot.ops.op import Op
from aot.ops.softmax import Softmax

# Distance between zero and a mean, in deviations, from which on the mean is subtracted before the product.
# Otherwise x * factor and its offset would both be that many times larger than their sum, and digits are
# lost.
_FAR = 16.0


def _batch_normalization(node: OnnxOperator) -> Results:
    x = node.operand(0)
    epsilon = node.real("epsilon", 1e-5)
    if node.integer("training_mode", 0):
        return _trained(node, x, epsilon)
    if node.result_count > 1:
        raise node.fail("training is not supported", "export the model for inference: model.eval()")
    parts = [node.draft.array(node.operand(i)) for i in range(1, 5)]
    if any(part is None for part in parts):
        return _computed(node, x, epsilon)
    scale, bias, mean, variance = (p.astype(np.float64) for p in parts if p is not None)
    with np.errstate(all="ignore"):
        root = np.sqrt(variance + epsilon)
        factor = scale / root
    if (np.abs(mean) > _FAR * root).any():
        x, mean = node.do("Sub", x, _per_channel(node, x, mean)), np.zeros_like(mean)
    offset = bias - mean * factor
    return node.do("Add", node.do("Mul", x, _per_channel(node, x, factor)), _per_channel(node, x, offset))


def _per_channel(node: OnnxOperator, x: Value, values: Array) -> Value:
    rank = len(x.order)
    if rank < 2 or values.shape != (node.shape(x)[1],):
        raise node.fail(f"{list(values.shape)} numbers do not fit shape {list(node.shape(x))}")
    return node.number(values.reshape(-1, *(1,) * (rank - 2)), x.element)


def _trained(node: OnnxOperator, x: Value, epsilon: float) -> list[Value]:
    """Normalizes by the batch's statistics, and updates the running ones."""
    scale, bias, *olds = (node.operand(i) for i in range(1, 5))
    normal = standardized(node, x, (0, *range(2, len(x.order))), epsilon)
    scale, bias = (_channels(node, x, v) for v in (scale, bias))
    made = node.do("Add", node.do("Mul", normal.value, scale), bias)
    share = node.real("momentum", 0.9)
    moved = [
        Real(node, old) * share + Real(node, _flat(node, new)) * (1.0 - share)
        for old, new in zip(olds, (normal.mean(node), normal.variance), strict=True)
    ]
    return [made, *(new.value for new in moved)]


def _flat(node: OnnxOperator, value: Value) -> Value:
    return node.value(node.reshaped(node.plain(value), (prod(node.shape(value)),)), value.element)


def _computed(node: OnnxOperator, x: Value, epsilon: float) -> Value:
    scale, bias, mean, variance = (_channels(node, x, node.operand(i)) for i in range(1, 5))
    root = node.do("Sqrt", node.do("Add", variance, node.number(epsilon, x.element)))
    centred = node.do("Sub", x, mean)
    return node.do("Add", node.do("Mul", node.do("Div", centred, root), scale), bias)


def _channels(node: OnnxOperator, x: Value, values: Value) -> Value:
    shape = (*node.shape(values), *(1,) * (len(x.order) - 2))
    return node.value(node.reshaped(node.plain(values), shape), values.element)


@dataclass(frozen=True)
class Standardized:
    """(x - mean) / root and its parts: the mean is `first` + `middle`; `root` is of variance plus epsilon."""

    value: Value
    first: Value
    middle: Value
    variance: Value
    root: Value

    def mean(self, node: OnnxOperator) -> Value:
        return node.do("Add", self.first, self.middle)


def standardized(
    node: OnnxOperator, x: Value, axes: Sequence[int], epsilon: float, is_epsilon_in_root: bool = True
) -> Standardized:
    """Subtracts the mean over the axes and divides by the standard deviation; dimensions stay as 1.

    Squares are of distances from the mean, and the mean is computed from distances to the first element.
    Sums of numbers as small as the deviation lose no precision, even if the mean is large.
    """
    along = node.number(axes, TensorProto.INT64)
    first = sliced(node, x, {axis: range(1) for axis in axes})
    shifted = node.do("Sub", x, first)
    middle = node.do("ReduceMean", shifted, along, keepdims=1)
    centred = node.do("Sub", shifted, middle)
    variance = node.do("ReduceMean", node.do("Mul", centred, centred), along, keepdims=1)
    added = node.number(epsilon, x.element)
    if is_epsilon_in_root:
        root = node.do("Sqrt", node.do("Add", variance, added))
    else:
        root = node.do("Add", node.do("Sqrt", variance), added)
    return Standardized(node.do("Div", centred, root), first, middle, variance, root)


def _instance_normalization(node: OnnxOperator) -> Value:
    x = node.operand(0)
    normal = standardized(node, x, range(2, len(x.order)), node.real("epsilon", 1e-5)).value
    scale, bias = (_channels(node, x, node.operand(i)) for i in (1, 2))
    return node.do("Add", node.do("Mul", normal, scale), bias)


def _group_normalization(node: OnnxOperator) -> Value:
    """Normalizes groups of channels; scales are per group before set 21, per channel since."""
    x, groups = node.operand(0), node.integer("num_groups")
    shape = node.shape(x)
    if groups < 1 or shape[1] % groups:
        raise node.fail(f"{shape[1]} channels cannot be split into {groups} equal groups")
    in_groups = (shape[0], groups, prod(shape[1:]) // groups)
    grouped = node.value(node.reshaped(node.plain(x), in_groups), x.element)
    made = standardized(node, grouped, (2,), node.real("epsilon", 1e-5)).value
    scale, bias = (node.operand(i) for i in (1, 2))
    if node.shape(scale) == (groups,) != (shape[1],):
        scale, bias = (_channels(node, grouped, v) for v in (scale, bias))
        made = node.do("Add", node.do("Mul", made, scale), bias)
        return node.value(node.reshaped(node.plain(made), shape), x.element)
    made = node.value(node.reshaped(node.plain(made), shape), x.element)
    scale, bias = (_channels(node, x, v) for v in (scale, bias))
    return node.do("Add", node.do("Mul", made, scale), bias)


def _layer_normalization(node: OnnxOperator) -> list[Value]:
    """Normalizes a layer; further results are the mean and the reciprocal deviation."""
    x = node.operand(0)
    rank = len(x.order)
    axes = range(node.axis(node.integer("axis", -1), rank), rank)
    normal = standardized(node, x, axes, node.real("epsilon", 1e-5))
    made = node.do("Mul", normal.value, node.operand(1))
    made = node.do("Add", made, node.operand(2)) if node.has(2) else made
    if node.result_count == 1:
        return [made]
    return [made, normal.mean(node), node.do("Div", node.number(1, x.element), normal.root)]


def _mean_variance_normalization(node: OnnxOperator) -> Value:
    x = node.operand(0)
    axes = sorted({node.axis(a, len(x.order)) for a in node.integers("axes", (0, 2, 3))})
    return standardized(node, x, axes, 1e-9, is_epsilon_in_root=False).value


def _lrn(node: OnnxOperator) -> Value:
    """Computes x / (bias + alpha / size * sum of squares of nearby channels) ** beta."""
    x, size = node.operand(0), node.integer("size")
    channels = node.shape(x)[1]
    near = np.zeros((channels, channels))
    for c in range(channels):
        near[c, max(0, c - (size - 1) // 2) : c + -(-(size - 1) // 2) + 1] = 1
    last = [0, *range(2, len(x.order)), 1]
    squares = node.do("Transpose", node.do("Mul", x, x), perm=last)
    sums = node.do("MatMul", squares, node.number(near.T, x.element))
    sums = node.do("Transpose", sums, perm=[last.index(a) for a in range(len(last))])
    scaled = node.do("Mul", sums, node.number(node.real("alpha", 1e-4) / size, x.element))
    based = node.do("Add", scaled, node.number(node.real("bias", 1.0), x.element))
    return node.do("Div", x, node.do("Pow", based, node.number(node.real("beta", 0.75), x.element)))


def _lp_normalization(node: OnnxOperator) -> Value:
    """Divides x by its norm; 0 if the norm is 0."""
    x, p = node.operand(0), node.integer("p", 2)
    axes = node.number([node.integer("axis", -1)], 7)
    norm = node.do("ReduceL1" if p == 1 else "ReduceL2", x, axes, keepdims=1)
    nothing = node.number(0, x.element)
    quotient = node.do("Div", x, norm)
    return node.do("Where", node.do("Equal", norm, nothing), nothing, quotient)


def _softmax(node: OnnxOperator) -> Value:
    return _shares(node, Softmax(1.0))


def _log_softmax(node: OnnxOperator) -> Value:
    return _shares(node, LogSoftmax())


def _shares(node: OnnxOperator, op: Op) -> Value:
    """Normalizes along one dimension; before set 13 along all from the axis on."""
    x = node.operand(0)
    shape = node.shape(x)
    axis = node.axis(node.integer("axis", -1 if node.version >= 13 else 1), max(1, len(shape)))
    if node.version < 13 or not shape:
        flat = node.reshaped(node.plain(x), (prod(shape[:axis]), prod(shape[axis:])))
        return node.value(node.reshaped(node.apply(op, flat), shape), x.element)
    order = [a for a in range(len(shape)) if a != axis] + [axis]
    turned = node.do("Transpose", x, perm=order)
    made = node.apply(op, node.plain(turned))
    back = [order.index(a) for a in range(len(shape))]
    return node.do("Transpose", node.value(made, x.element), perm=back)


NORMALISING: dict[str, Importer] = {
    "BatchNormalization": _batch_normalization,
    "GroupNormalization": _group_normalization,
    "InstanceNormalization": _instance_normalization,
    "LRN": _lrn,
    "LayerNormalization": _layer_normalization,
    "LogSoftmax": _log_softmax,
    "LpNormalization": _lp_normalization,
    "MeanVarianceNormalization": _mean_variance_normalization,
    "Softmax": _softmax,
}
