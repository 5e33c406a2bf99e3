"""TRANSPOSE_CONV, and MediaPipe's with a bias: zeros between the pixels, then a flipped convolution."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
import tflite

from aot.frontend.tflite.draft import Importer, TfliteDraft, TfliteOperator
from aot.frontend.tflite.importers import attributes as read
from aot.frontend.tflite.importers.convolution import multiplies_in_single
from aot.frontend.tflite.importers.rearranging import by_images
from aot.frontend.tflite.model_file import CORRUPTED
from aot.ir.types import DType, TensorType
from aot.ops.conv2d import Conv2d
from aot.ops.pad import Pad
from aot.ops.rearrange import Rearrange
from aot.ops.requant import quant_of
from aot.ops.rounding import TRANSPOSED, TRANSPOSED_NARROW, RequantRounding, rounding_of
from aot.ops.spatial import Pair, same_padding

_WITH_BIAS = struct.Struct("<3i")  # options of MediaPipe's operator: padding, stride of columns, of rows
_PADDINGS = {1: tflite.Padding.SAME, 2: tflite.Padding.VALID}


@dataclass(frozen=True)
class _SpreadForm:
    """The positions of the operands of either operator, and its options."""

    image: int
    bias: int
    stride: Pair
    padding: int  # from the schema
    activation: int = tflite.ActivationFunctionType.NONE
    bias_type: int = tflite.TensorType.FLOAT32


def import_transpose_conv(draft: TfliteDraft, operator: TfliteOperator) -> None:
    its = operator.options(tflite.TransposeConvOptions)
    stride = its.StrideH(), its.StrideW()
    activation = its.FusedActivationFunction()
    _import(draft, operator, _SpreadForm(2, 3, stride, its.Padding(), activation, its.QuantizedBiasType()))


def import_transpose_conv_bias(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Imports MediaPipe's operator: options are three 32-bit integers, weights as in TRANSPOSE_CONV."""
    table = operator.table
    stored = table.CustomOptionsAsNumpy().tobytes() if table.CustomOptionsLength() else b""
    if len(stored) < _WITH_BIAS.size:
        raise operator.fail(
            f"its options have {len(stored)} bytes, padding and strides need {_WITH_BIAS.size}", CORRUPTED
        )
    padding, columns, rows = _WITH_BIAS.unpack_from(stored)
    if padding not in _PADDINGS:
        raise operator.fail(f"padding number {padding} is not known", "supported: SAME (1), VALID (2)")
    x = read.operand(operator, 0, "the image")
    if draft.types[x].dtype is not DType.F32:
        raise operator.fail(
            f'"{x}" is {draft.types[x].dtype.value}, it must be f32', "convert it as TRANSPOSE_CONV"
        )
    _import(draft, operator, _SpreadForm(0, 2, (rows, columns), _PADDINGS[padding]))


def _import(draft: TfliteDraft, operator: TfliteOperator, form: _SpreadForm) -> None:
    x = read.operand(operator, form.image, "the image")
    x_type = read.with_rank(draft, operator, x, 4)
    weights = read.constant_weights(draft, operator, rank=4, met=form.image)
    channels, rows, columns, _ = draft.types[weights].shape
    stride = read.at_least_one(operator, "stride", form.stride)
    output = draft.types[read.the_output(operator)]
    if output.rank != 4:
        raise operator.fail(f"its result has {output.rank} dimensions, not 4")
    bias = read.constant_bias(draft, operator, channels, form.bias)
    sizes, paddings = [], []
    for axis, (kernel, step) in enumerate(zip((rows, columns), stride, strict=True), start=1):
        # The padding of the convolution that this one inverts.
        same = form.padding == tflite.Padding.SAME
        before = same_padding(output.shape[axis], kernel, step, 1)[0] if same else 0
        size, padding = _spread(x_type.shape[axis], output.shape[axis], kernel, step, before)
        sizes.append(size)
        paddings.append(padding)
    if min(min(pair) for pair in paddings) < 0:
        raise operator.fail(
            f"a result of {output.shape[1]}x{output.shape[2]} does not fit its kernel and strides"
        )
    spread = _with_zeros_between(draft, operator, x, stride, (sizes[0], sizes[1]))
    op = Conv2d(
        padding=(paddings[0], paddings[1]),
        activation=read.activation(operator, form.activation),
        rounding=_rounding(draft.rounding, x_type, form.bias_type),
        scales_in_single=multiplies_in_single(draft, Conv2d.name, x),
    )
    by_images(draft, operator, op, spread, (_turned(draft, weights), bias))


def _rounding(mode: str, x: TensorType, bias: int) -> RequantRounding:
    """Returns the rounding; `bias` is the element type that the options give for it."""
    if x.dtype is not DType.I16:
        return rounding_of(Conv2d.name, mode)
    is_narrow = bias == tflite.TensorType.INT32
    return rounding_of(Conv2d.name, mode, TRANSPOSED_NARROW if is_narrow else TRANSPOSED)


def _spread(length: int, wanted: int, kernel: int, step: int, before: int) -> tuple[int, Pair]:
    """Returns the length of the image with zeros between its pixels, and the padding around it."""
    first = kernel - 1 - before
    for size in (length * step, (length - 1) * step + 1):  # with or without zeros after the last pixel
        last = wanted + kernel - 1 - size - first
        if last >= 0:
            break
    return size, (first, last)


def _turned(draft: TfliteDraft, weights: str) -> str:
    array = np.ascontiguousarray(draft.constants[weights][:, ::-1, ::-1])
    return draft.add_value(f"{weights}/turned", draft.types[weights], array)


def _with_zeros_between(
    draft: TfliteDraft, operator: TfliteOperator, x: str, stride: Pair, sizes: Pair
) -> str:
    """Spreads columns, then rows: each pixel, or row, becomes the first of `stride`."""
    batch, height, width, channels = draft.types[x].shape
    fill = 0.0 if draft.types[x].quant is None else float(quant_of(draft.types[x]).zero_point)
    name = x
    if stride[1] > 1:
        rows = batch * height * width
        name = _padded(draft, operator, name, (rows, 1, channels), stride[1], fill)
    name = read.reshaped(draft, operator, name, (batch, height, width * stride[1], channels))
    name = _cut(draft, operator, name, 2, sizes[1])
    if stride[0] > 1:
        row = sizes[1] * channels
        name = _padded(draft, operator, name, (batch * height, 1, row), stride[0], fill)
    name = read.reshaped(draft, operator, name, (batch, height * stride[0], sizes[1], channels))
    return _cut(draft, operator, name, 1, sizes[0])


def _padded(
    draft: TfliteDraft,
    operator: TfliteOperator,
    name: str,
    seen: tuple[int, int, int],
    columns: int,
    fill: float,
) -> str:
    source = read.reshaped(draft, operator, name, (1, *seen))
    whole = (1, seen[0], columns, seen[2])
    padded = read.value_like(draft, f"{name}/spread", draft.types[name], whole)
    draft.add_node(operator, Pad(((0, 0), (0, columns - 1)), fill), (source,), padded)
    return padded


def _cut(draft: TfliteDraft, operator: TfliteOperator, name: str, axis: int, size: int) -> str:
    """Returns the start of a dimension; the rest is zeros."""
    tensor = draft.types[name]
    if tensor.shape[axis] == size:
        return name
    if tensor.shape[0] != 1:
        raise operator.fail(
            "a batch of images is not supported if the result has no room for the last steps of the kernel"
        )
    shape = tuple(size if a == axis else d for a, d in enumerate(tensor.shape))
    strides = tuple(int(np.prod(tensor.shape[a + 1 :])) for a in range(4))
    cut = read.value_like(draft, f"{name}/cut", tensor, shape)
    draft.add_node(operator, Rearrange(shape, shape, strides), (name,), cut)
    return cut


TRANSPOSE_CONV: dict[str, Importer] = {
    "CUSTOM Convolution2DTransposeBias": import_transpose_conv_bias,
    "TRANSPOSE_CONV": import_transpose_conv,
}
