"""Operators on real numbers that are written as simpler ones: norms, pools of squares, enlarged images."""

from __future__ import annotations

import numpy as np
import tflite

from aot.frontend.tflite.draft import Draft, Importer, Operator
from aot.frontend.tflite.importers import attributes as read
from aot.ir.graph import Array
from aot.ir.types import DType, TensorType
from aot.ops.activation import Activation
from aot.ops.average_pool2d import AveragePool2d
from aot.ops.binary import Add, Mul, Sub
from aot.ops.combine import Combination, Combine
from aot.ops.curve import Curve, Function
from aot.ops.fold import Fold, Folding
from aot.ops.gather import Gather
from aot.ops.op import Op
from aot.ops.unary import Clamp

_LEAST_NORM = 1e-6  # what the squares under a norm add up to at least


def _reals(draft: Draft, operator: Operator) -> str:
    """The data, which must be real numbers: the integers' own ways of rounding are not known here."""
    x = read.operand(operator, 0, "the data")
    if draft.types[x].dtype is not DType.F32:
        raise operator.fail(
            f"it is supported on f32, not on {draft.types[x].dtype.value}",
            "convert this part of the model as float",
        )
    return x


def _made(draft: Draft, operator: Operator, op: Op, *inputs: str) -> str:
    """A value that only the next step reads."""
    ((dtype, shape),) = op.infer([draft.types[name] for name in inputs])
    name = draft.add_value(f"{operator.label}/{op.name}", TensorType(DType(dtype), shape))
    draft.add_node(operator, op, inputs, name)
    return name


def _number(draft: Draft, operator: Operator, array: Array) -> str:
    reals = np.asarray(array, np.float32)
    return draft.add_value(f"{operator.label}/constant", TensorType(DType.F32, reals.shape), reals)


def _import_log_softmax(draft: Draft, operator: Operator, mode: str) -> None:
    """x - max - log(sum(exp(x - max)))"""
    x = _reals(draft, operator)
    last = (draft.types[x].rank - 1,)
    below = _made(draft, operator, Sub(), x, _made(draft, operator, Fold(Folding.MAXIMUM, last), x))
    powers = _made(draft, operator, Curve(Function.EXP), below)
    logs = _made(
        draft, operator, Curve(Function.LOG), _made(draft, operator, Fold(Folding.SUM, last), powers)
    )
    draft.add_node(operator, Sub(), (below, logs), read.the_output(operator))


def _import_l2_normalization(draft: Draft, operator: Operator, mode: str) -> None:
    """x / sqrt(sum(x * x))"""
    x = _reals(draft, operator)
    squares = _made(draft, operator, Curve(Function.SQUARE), x)
    total = _made(draft, operator, Fold(Folding.SUM, (draft.types[x].rank - 1,)), squares)
    least = _number(draft, operator, np.full(draft.types[total].shape, _LEAST_NORM))
    kept = _made(draft, operator, Combine(Combination.MAXIMUM), total, least)
    root = _made(draft, operator, Curve(Function.RSQRT), kept)
    draft.add_node(operator, Mul(), (x, root), read.the_output(operator))


def _import_l2_pool(draft: Draft, operator: Operator, mode: str) -> None:
    """sqrt(mean(x * x)) under each window"""
    options, x = operator.options(tflite.Pool2DOptions), _reals(draft, operator)
    size = read.at_least_one(operator, "window", (options.FilterHeight(), options.FilterWidth()))
    stride = read.at_least_one(operator, "stride", (options.StrideH(), options.StrideW()))
    image = read.with_rank(draft, operator, x, 4)
    padding = read.padding(operator, options.Padding(), image, size, stride, (1, 1))
    squares = _made(draft, operator, Curve(Function.SQUARE), x)
    means = _made(draft, operator, AveragePool2d(size, stride, padding), squares)
    activation = read.activation(operator, options.FusedActivationFunction())
    output = read.the_output(operator)
    if activation is Activation.NONE:
        draft.add_node(operator, Curve(Function.SQRT), (means,), output)
        return
    roots = _made(draft, operator, Curve(Function.SQRT), means)
    draft.add_node(operator, Clamp(activation), (roots,), output)


def _import_resize_bilinear(draft: Draft, operator: Operator, mode: str) -> None:
    """Between two rows, then between two columns."""
    options, x = operator.options(tflite.ResizeBilinearOptions), _reals(draft, operator)
    read.with_rank(draft, operator, x, 4)
    output = read.the_output(operator)
    for axis in (1, 2):
        size, wanted = draft.types[x].shape[axis], draft.types[output].shape[axis]
        lower, upper, share = _between(size, wanted, options.AlignCorners(), options.HalfPixelCenters())
        first, second = (_picked(draft, operator, x, axis, places) for places in (lower, upper))
        rise = _made(draft, operator, Sub(), second, first)
        shape = [wanted if a == axis else 1 for a in range(4)]
        part = _made(draft, operator, Mul(), rise, _number(draft, operator, share.reshape(shape)))
        if axis == 2:
            draft.add_node(operator, Add(), (first, part), output)
        else:
            x = _made(draft, operator, Add(), first, part)


def _picked(draft: Draft, operator: Operator, x: str, axis: int, places: Array) -> str:
    stored = TensorType(DType.I32, places.shape)
    name = draft.add_value(f"{operator.label}/places", stored, places.astype(np.int32))
    return _made(draft, operator, Gather(axis), x, name)


def _between(size: int, wanted: int, align_corners: bool, half_pixels: bool) -> tuple[Array, Array, Array]:
    """The two places around each place of the result, and how far it lies towards the second."""
    aligned = align_corners and wanted > 1
    steps = (size - 1, wanted - 1) if aligned else (size, wanted)
    scale, places = np.float32(steps[0]) / np.float32(steps[1]), np.arange(wanted).astype(np.float32)
    shift = np.float32(0.5 if half_pixels else 0)
    exact = (places + shift) * scale - shift
    lower = np.floor(exact)
    first = np.clip(lower, 0, size - 1).astype(np.int64)
    second = np.clip(lower + 1, 0, size - 1).astype(np.int64)
    return first, second, exact - lower


COMPOSED: dict[str, Importer] = {
    "L2_NORMALIZATION": _import_l2_normalization,
    "L2_POOL_2D": _import_l2_pool,
    "LOG_SOFTMAX": _import_log_softmax,
    "RESIZE_BILINEAR": _import_resize_bilinear,
}
