"""CONV_3D and its transpose, as convolutions of images: the slices under a window are their channels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np
import tflite

from aot.frontend.tflite.importers.rearranging import (
    MOST_IMAGES,
    by_images,
    rearrange,
    transposed_constant,
    with_holes,
)
from aot.frontend.tflite.operation import Importer, TfliteOperator
from aot.ir.types import DType, TensorType
from aot.ops.activation import Activation
from aot.ops.conv2d import Conv2d
from aot.ops.pad import Pad
from aot.ops.rearrange import Loops
from aot.ops.reshape import Reshape
from aot.ops.spatial import Pair, output_size, same_padding

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
