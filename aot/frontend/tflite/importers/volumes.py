"""CONV_3D and its transpose, as convolutions of images: the slices under a window are their channels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np
import tflite

from aot.frontend.tflite.draft import Importer, TfliteDraft, TfliteOperator
from aot.frontend.tflite.importers import attributes as read
from aot.frontend.tflite.importers.rearranging import (
    MOST_IMAGES,
    by_images,
    rearrange,
    transposed_constant,
    with_holes,
)
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


def _import_conv_3d(draft: TfliteDraft, operator: TfliteOperator) -> None:
    options, x = operator.options(tflite.Conv3DOptions), read.operand(operator, 0, "the data")
    stored = read.with_rank(draft, operator, x, 5)
    filters = read.constant(draft, operator, 1, "weights")
    *kernel, channels, made = read.with_rank(draft, operator, filters, 5).shape
    _require_volume(operator, stored, channels)
    stride, dilation = _steps(operator, options)
    is_same = options.Padding() == tflite.Padding.SAME
    top, left, right = (
        same_padding(*each) if is_same else (0, 0)
        for each in zip(stored.shape[1:4], kernel, stride, dilation, strict=True)
    )
    bias = read.constant_bias(draft, operator, made)
    activation = read.activation(operator, options.FusedActivationFunction())
    _convolved(draft, operator, _Volume(x, filters, bias, stride, dilation, (top, left, right), activation))


def _import_conv_3d_transpose(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Imports CONV_3D_TRANSPOSE: zeros between the elements, then a convolution with turned filters."""
    options, x = operator.options(tflite.Conv3DOptions), read.operand(operator, 2, "the data")
    stored = read.with_rank(draft, operator, x, 5)
    filters = read.constant(draft, operator, 1, "weights")
    *kernel, made, channels = read.with_rank(draft, operator, filters, 5).shape
    _require_volume(operator, stored, channels)
    stride, dilation = _steps(operator, options)
    if dilation != (1, 1, 1):
        raise operator.fail(f"dilation {list(dilation)} is not supported, 1 is")
    output = read.with_rank(draft, operator, read.the_output(operator), 5)
    is_same = options.Padding() == tflite.Padding.SAME
    margins = []
    for size, wanted, length, step in zip(stored.shape[1:4], output.shape[1:4], kernel, stride, strict=True):
        before = same_padding(wanted, length, step, 1)[0] if is_same else 0
        first = length - 1 - before
        margins.append((first, wanted + length - 2 - (size - 1) * step - first))
    if min(map(min, margins)) < 0:
        raise operator.fail(f"a result of {list(output.shape)} does not fit its filters and strides")
    turned = draft.constants[filters][::-1, ::-1, ::-1].swapaxes(3, 4)
    tensor = replace(draft.types[filters], shape=turned.shape)
    weights = draft.add_value(f"{filters}/turned", tensor, np.ascontiguousarray(turned))
    spread = with_holes(draft, operator, x, (1, *stride, 1), 0.0)
    depth, rows, columns = margins
    bias = read.constant_bias(draft, operator, made, 3)
    activation = read.activation(operator, options.FusedActivationFunction())
    one = (1, 1, 1)
    _convolved(draft, operator, _Volume(spread, weights, bias, one, one, (depth, rows, columns), activation))


def _require_volume(operator: TfliteOperator, stored: TensorType, channels: int) -> None:
    if stored.dtype is not DType.F32 or stored.shape[0] != 1 or stored.shape[4] != channels:
        raise operator.fail(
            f"volumes {stored.dtype.value}{list(stored.shape)} with filters of {channels} channels "
            "are not supported",
            "supported: f32, one volume, as many channels as the filters have",
        )


def _steps(operator: TfliteOperator, options: tflite.Conv3DOptions) -> tuple[Triple, Triple]:
    """Returns strides and dilations."""
    rows = read.at_least_one(operator, "stride", (options.StrideH(), options.StrideW()))
    apart = read.at_least_one(operator, "dilation", (options.DilationHFactor(), options.DilationWFactor()))
    depth = read.at_least_one(operator, "stride or dilation", (options.StrideD(), options.DilationDFactor()))
    return (depth[0], *rows), (depth[1], *apart)


def _convolved(draft: TfliteDraft, operator: TfliteOperator, volume: _Volume) -> None:
    stored, output = draft.types[volume.x], read.the_output(operator)
    depth, rows, columns, channels, made = draft.types[volume.filters].shape
    _, slices, height, width, _ = stored.shape
    stride, dilation, margin = volume.stride[0], volume.dilation[0], volume.margins[0]
    images = output_size(slices, depth, stride, dilation, margin)
    if not 0 < images <= MOST_IMAGES:
        raise operator.fail(f"it makes {images} slices, supported: 1 to {MOST_IMAGES}")
    whole = read.reshaped(draft, operator, volume.x, (1, slices, height * width, channels))
    if margin != (0, 0):
        whole = read.made(draft, operator, Pad((margin, (0, 0))), whole)
    shape = (images, height, width, depth * channels)
    image = read.value_like(draft, f"{volume.x}/slices", stored, shape)
    size = height * width * channels
    windows = Loops(
        (images, height, width, depth, channels),
        (stride * size, width * channels, channels, dilation * size, 1),
    )
    rearrange(draft, operator, whole, windows, image)
    weights = transposed_constant(
        draft,
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
    declared = draft.types[output]
    by_slices = (images, *declared.shape[2:])
    if prod(by_slices) != declared.elements:
        raise operator.fail(f"it makes {list(by_slices)}, the file declares {list(declared.shape)}")
    result = read.value_like(draft, f"{output}/slices", declared, by_slices)
    by_images(draft, operator, op, image, (weights, volume.bias), result)
    draft.add_node(operator, Reshape(declared.shape), (result,), output)


VOLUMES: Mapping[str, Importer] = {
    "CONV_3D": _import_conv_3d,
    "CONV_3D_TRANSPOSE": _import_conv_3d_transpose,
}
