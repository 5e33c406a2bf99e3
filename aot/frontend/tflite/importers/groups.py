"""Grouped convolutions, one per group of channels; groups of one channel become a depthwise layer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aot.frontend.tflite.draft import TfliteDraft, TfliteOperator
from aot.frontend.tflite.importers import attributes as read
from aot.frontend.tflite.importers.rearranging import by_images, rearrange
from aot.ir.strides import dense_strides
from aot.ir.types import Quant, TensorType
from aot.ops.concat import Concat
from aot.ops.conv2d import Conv2d
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.rearrange import Loops

_CHANNELS = 3  # the dimension of an image


def by_groups(
    draft: TfliteDraft, operator: TfliteOperator, op: Conv2d, x: str, weights: str, bias: str | None
) -> None:
    """Adds the operator's result, for weights with fewer input channels than the image."""
    depth, channels = draft.types[weights].shape[3], draft.types[x].shape[_CHANNELS]
    if depth == 1:
        _as_depthwise(draft, operator, op, x, weights, bias)
        return
    groups, output = channels // depth, read.the_output(operator)
    each = draft.types[weights].shape[0] // groups
    parts = []
    for group in range(groups):
        image = _channels(draft, operator, x, group * depth, depth)
        chosen = slice(group * each, (group + 1) * each)
        declared = draft.types[output]
        part = read.value_like(draft, f"{output}/group", declared, (*declared.shape[:3], each))
        constants = [None if name is None else _some(draft, name, chosen) for name in (weights, bias)]
        by_images(draft, operator, op, image, constants, part)
        parts.append(part)
    _joined(draft, operator, parts, output)


def _joined(draft: TfliteDraft, operator: TfliteOperator, parts: list[str], output: str) -> None:
    whole = draft.types[output]
    pixels = whole.elements // whole.shape[_CHANNELS]
    flat = [read.reshaped(draft, operator, n, (pixels, draft.types[n].shape[_CHANNELS])) for n in parts]
    read.reshaped_result(draft, operator, Concat(1), flat, (pixels, whole.shape[_CHANNELS]))


def _channels(draft: TfliteDraft, operator: TfliteOperator, x: str, first: int, count: int) -> str:
    tensor = draft.types[x]
    part = read.value_like(draft, f"{x}/group", tensor, (*tensor.shape[:3], count))
    loops = Loops(draft.types[part].shape, dense_strides(tensor.shape), first)
    rearrange(draft, operator, x, loops, part)
    return part


def _some(draft: TfliteDraft, name: str, chosen: slice) -> str:
    """Returns the weights or biases of some of the output channels."""
    tensor = draft.types[name]
    data = np.ascontiguousarray(draft.constants[name][chosen])
    return draft.add_value(
        f"{name}/group", replace(tensor, shape=data.shape, quant=_of(tensor, chosen)), data
    )


def _of(tensor: TensorType, chosen: slice) -> Quant | None:
    quant = tensor.quant
    if quant is None or len(quant.scales) == 1:
        return quant
    scales, zero_points = quant.scales[chosen], quant.zero_points[chosen]
    return Quant(scales, zero_points, 0 if len(scales) > 1 else None)


def _as_depthwise(
    draft: TfliteDraft, operator: TfliteOperator, op: Conv2d, x: str, weights: str, bias: str | None
) -> None:
    tensor = draft.types[weights]
    data = np.ascontiguousarray(np.moveaxis(draft.constants[weights][..., 0], 0, 2))
    quant = tensor.quant
    if quant is not None and quant.axis is not None:
        quant = Quant(quant.scales, quant.zero_points, 2)
    turned = draft.add_value(f"{weights}/turned", replace(tensor, shape=data.shape, quant=quant), data)
    depthwise = DepthwiseConv2d(
        stride=op.stride,
        dilation=op.dilation,
        padding=op.padding,
        activation=op.activation,
        rounding=op.rounding,
        multiplier=data.shape[2] // draft.types[x].shape[_CHANNELS],
        result=op.result,
    )
    by_images(draft, operator, depthwise, x, (turned, bias))
