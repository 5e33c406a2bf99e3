"""TRANSPOSE_CONV, and MediaPipe's with a bias: zeros between the pixels, then a flipped convolution."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np
import tflite

from aot.frontend.tflite.importers.convolution import multiplies_in_single
from aot.frontend.tflite.importers.rearranging import (
    MOST_IMAGES,
    by_images,
    rearrange,
    transposed_constant,
    with_holes,
)
from aot.frontend.tflite.model_file import CORRUPTED
from aot.frontend.tflite.operation import Importer, TfliteOperator
from aot.ir.types import DType, TensorType
from aot.ops.activation import Activation
from aot.ops.conv2d import Conv2d
from aot.ops.pad import Pad
from aot.ops.rearrange import Loops, Rearrange
from aot.ops.requant import quant_of
from aot.ops.reshape import Reshape
from aot.ops.rounding import TRANSPOSED, TRANSPOSED_NARROW, RequantRounding, rounding_of
from aot.ops.spatial import Pair, output_size, same_padding

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


def import_transpose_conv(node: TfliteOperator) -> None:
    its = node.options(tflite.TransposeConvOptions)
    stride = its.StrideH(), its.StrideW()
    activation = its.FusedActivationFunction()
    _import(node, _SpreadForm(2, 3, stride, its.Padding(), activation, its.QuantizedBiasType()))


def import_transpose_conv_bias(node: TfliteOperator) -> None:
    """Imports MediaPipe's operator: options are three 32-bit integers, weights as in TRANSPOSE_CONV."""
    table = node.table
    stored = table.CustomOptionsAsNumpy().tobytes() if table.CustomOptionsLength() else b""
    if len(stored) < _WITH_BIAS.size:
        raise node.fail(
            f"its options have {len(stored)} bytes, padding and strides need {_WITH_BIAS.size}", CORRUPTED
        )
    padding, columns, rows = _WITH_BIAS.unpack_from(stored)
    if padding not in _PADDINGS:
        raise node.fail(f"padding number {padding} is not known", "supported: SAME (1), VALID (2)")
    x = node.operand(0, "the image")
    if node.tensor(x).dtype is not DType.F32:
        raise node.fail(
            f'"{x}" is {node.tensor(x).dtype.value}, it must be f32', "convert it as TRANSPOSE_CONV"
        )
    _import(node, _SpreadForm(0, 2, (rows, columns), _PADDINGS[padding]))


def _import(node: TfliteOperator, form: _SpreadForm) -> None:
    x = node.operand(form.image, "the image")
    x_type = node.with_rank(x, 4)
    weights = node.constant_weights(rank=4, met=form.image)
    channels, rows, columns, _ = node.tensor(weights).shape
    stride = node.at_least_one("stride", form.stride)
    output = node.tensor(node.the_output)
    if output.rank != 4:
        raise node.fail(f"its result has {output.rank} dimensions, not 4")
    bias = node.constant_bias(channels, form.bias)
    sizes, paddings = [], []
    for axis, (kernel, step) in enumerate(zip((rows, columns), stride, strict=True), start=1):
        # The padding of the convolution that this one inverts.
        same = form.padding == tflite.Padding.SAME
        before = same_padding(output.shape[axis], kernel, step, 1)[0] if same else 0
        size, padding = _spread(x_type.shape[axis], output.shape[axis], kernel, step, before)
        sizes.append(size)
        paddings.append(padding)
    if min(min(pair) for pair in paddings) < 0:
        raise node.fail(
            f"a result of {output.shape[1]}x{output.shape[2]} does not fit its kernel and strides"
        )
    spread = _with_zeros_between(node, x, stride, (sizes[0], sizes[1]))
    op = Conv2d(
        padding=(paddings[0], paddings[1]),
        activation=node.activation(form.activation),
        rounding=_rounding(node.draft.rounding, x_type, form.bias_type),
        scales_in_single=multiplies_in_single(node, Conv2d.name, x),
    )
    by_images(node, op, spread, (_turned(node, weights), bias))


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


def _turned(node: TfliteOperator, weights: str) -> str:
    array = np.ascontiguousarray(node.array(weights)[:, ::-1, ::-1])
    return node.add_value(f"{weights}/turned", node.tensor(weights), array)


def _with_zeros_between(node: TfliteOperator, x: str, stride: Pair, sizes: Pair) -> str:
    """Spreads columns, then rows: each pixel, or row, becomes the first of `stride`."""
    batch, height, width, channels = node.tensor(x).shape
    fill = 0.0 if node.tensor(x).quant is None else float(quant_of(node.tensor(x)).zero_point)
    name = x
    if stride[1] > 1:
        rows = batch * height * width
        name = _padded(node, name, (rows, 1, channels), stride[1], fill)
    name = node.reshaped(name, (batch, height, width * stride[1], channels))
    name = _cut(node, name, 2, sizes[1])
    if stride[0] > 1:
        row = sizes[1] * channels
        name = _padded(node, name, (batch * height, 1, row), stride[0], fill)
    name = node.reshaped(name, (batch, height * stride[0], sizes[1], channels))
    return _cut(node, name, 1, sizes[0])


def _padded(
    node: TfliteOperator,
    name: str,
    seen: tuple[int, int, int],
    columns: int,
    fill: float,
) -> str:
    source = node.reshaped(name, (1, *seen))
    whole = (1, seen[0], columns, seen[2])
    padded = node.value_like(f"{name}/spread", node.tensor(name), whole)
    node.add_node(Pad(((0, 0), (0, columns - 1)), fill), (source,), padded)
    return padded


def _cut(node: TfliteOperator, name: str, axis: int, size: int) -> str:
    """Returns the start of a dimension; the rest is zeros."""
    tensor = node.tensor(name)
    if tensor.shape[axis] == size:
        return name
    if tensor.shape[0] != 1:
        raise node.fail(
            "a batch of images is not supported if the result has no room for the last steps of the kernel"
        )
    shape = tuple(size if a == axis else d for a, d in enumerate(tensor.shape))
    strides = tuple(int(np.prod(tensor.shape[a + 1 :])) for a in range(4))
    cut = node.value_like(f"{name}/cut", tensor, shape)
    node.add_node(Rearrange(shape, shape, strides), (name,), cut)
    return cut


TRANSPOSE_CONV: dict[str, Importer] = {
    "CUSTOM Convolution2DTransposeBias": import_transpose_conv_bias,
    "TRANSPOSE_CONV": import_transpose_conv,
}


# CONV_3D and its transpose, as convolutions of images: the slices under a window are their channels.


Triple = tuple[int, int, int]


@dataclass(frozen=True)
class _Volume:
    """A convolution of a volume: lengths along depth, rows and columns, and its constants."""

    x: str
    filters: str  # [depth, rows, columns, channels, results]
    bias: str | None
    stride: Triple
    dilation: Triple
    margins: tuple[Pair, Pair, Pair]
    activation: Activation


def _import_conv_3d(node: TfliteOperator) -> None:
    options, x = node.options(tflite.Conv3DOptions), node.operand(0, "the data")
    stored = node.with_rank(x, 5)
    filters = node.constant(1, "weights")
    *kernel, channels, made = node.with_rank(filters, 5).shape
    _require_volume(node, stored, channels)
    stride, dilation = _steps(node, options)
    is_same = options.Padding() == tflite.Padding.SAME
    top, left, right = (
        same_padding(*each) if is_same else (0, 0)
        for each in zip(stored.shape[1:4], kernel, stride, dilation, strict=True)
    )
    bias = node.constant_bias(made)
    activation = node.activation(options.FusedActivationFunction())
    _convolved(node, _Volume(x, filters, bias, stride, dilation, (top, left, right), activation))


def _import_conv_3d_transpose(node: TfliteOperator) -> None:
    """Imports CONV_3D_TRANSPOSE: zeros between the elements, then a convolution with turned filters."""
    options, x = node.options(tflite.Conv3DOptions), node.operand(2, "the data")
    stored = node.with_rank(x, 5)
    filters = node.constant(1, "weights")
    *kernel, made, channels = node.with_rank(filters, 5).shape
    _require_volume(node, stored, channels)
    stride, dilation = _steps(node, options)
    if dilation != (1, 1, 1):
        raise node.fail(f"dilation {list(dilation)} is not supported, 1 is")
    output = node.with_rank(node.the_output, 5)
    is_same = options.Padding() == tflite.Padding.SAME
    margins = []
    for size, wanted, length, step in zip(stored.shape[1:4], output.shape[1:4], kernel, stride, strict=True):
        before = same_padding(wanted, length, step, 1)[0] if is_same else 0
        first = length - 1 - before
        margins.append((first, wanted + length - 2 - (size - 1) * step - first))
    if min(map(min, margins)) < 0:
        raise node.fail(f"a result of {list(output.shape)} does not fit its filters and strides")
    turned = node.array(filters)[::-1, ::-1, ::-1].swapaxes(3, 4)
    tensor = replace(node.tensor(filters), shape=turned.shape)
    weights = node.add_value(f"{filters}/turned", tensor, np.ascontiguousarray(turned))
    spread = with_holes(node, x, (1, *stride, 1), 0.0)
    depth, rows, columns = margins
    bias = node.constant_bias(made, 3)
    activation = node.activation(options.FusedActivationFunction())
    one = (1, 1, 1)
    _convolved(node, _Volume(spread, weights, bias, one, one, (depth, rows, columns), activation))


def _require_volume(node: TfliteOperator, stored: TensorType, channels: int) -> None:
    if stored.dtype is not DType.F32 or stored.shape[0] != 1 or stored.shape[4] != channels:
        raise node.fail(
            f"volumes {stored.dtype.value}{list(stored.shape)} with filters of {channels} channels "
            "are not supported",
            "supported: f32, one volume, as many channels as the filters have",
        )


def _steps(node: TfliteOperator, options: tflite.Conv3DOptions) -> tuple[Triple, Triple]:
    """Returns strides and dilations."""
    rows = node.at_least_one("stride", (options.StrideH(), options.StrideW()))
    apart = node.at_least_one("dilation", (options.DilationHFactor(), options.DilationWFactor()))
    depth = node.at_least_one("stride or dilation", (options.StrideD(), options.DilationDFactor()))
    return (depth[0], *rows), (depth[1], *apart)


def _convolved(node: TfliteOperator, volume: _Volume) -> None:
    stored, output = node.tensor(volume.x), node.the_output
    depth, rows, columns, channels, made = node.tensor(volume.filters).shape
    _, slices, height, width, _ = stored.shape
    stride, dilation, margin = volume.stride[0], volume.dilation[0], volume.margins[0]
    images = output_size(slices, depth, stride, dilation, margin)
    if not 0 < images <= MOST_IMAGES:
        raise node.fail(f"it makes {images} slices, supported: 1 to {MOST_IMAGES}")
    whole = node.reshaped(volume.x, (1, slices, height * width, channels))
    if margin != (0, 0):
        whole = node.apply(Pad((margin, (0, 0))), whole)
    shape = (images, height, width, depth * channels)
    image = node.value_like(f"{volume.x}/slices", stored, shape)
    size = height * width * channels
    windows = Loops(
        (images, height, width, depth, channels),
        (stride * size, width * channels, channels, dilation * size, 1),
    )
    rearrange(node, whole, windows, image)
    weights = transposed_constant(
        node,
        volume.filters,
        (depth, rows, columns, channels, made),
        (4, 1, 2, 0, 3),
        (made, rows, columns, depth * channels),
    )
    op = Conv2d(
        stride=volume.stride[1:],
        dilation=volume.dilation[1:],
        padding=volume.margins[1:],
        activation=volume.activation,
    )
    declared = node.tensor(output)
    by_slices = (images, *declared.shape[2:])
    if prod(by_slices) != declared.elements:
        raise node.fail(f"it makes {list(by_slices)}, the file declares {list(declared.shape)}")
    result = node.value_like(f"{output}/slices", declared, by_slices)
    by_images(node, op, image, (weights, volume.bias), result)
    node.add_node(Reshape(declared.shape), (result,), output)


VOLUMES: Mapping[str, Importer] = {
    "CONV_3D": _import_conv_3d,
    "CONV_3D_TRANSPOSE": _import_conv_3d_transpose,
}
