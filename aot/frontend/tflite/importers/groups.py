"""Grouped convolutions, one per group of channels; groups of one channel become a depthwise layer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aot.frontend.tflite.importers.rearranging import by_images, rearrange
from aot.frontend.tflite.operation import TfliteOperator
from aot.ir.types import Quant, TensorType, dense_strides
from aot.ops.concat import Concat
from aot.ops.conv2d import Conv2d
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.rearrange import Loops

_CHANNELS = 3  # the dimension of an image


def by_groups(node: TfliteOperator, op: Conv2d, x: str, weights: str, bias: str | None) -> None:
    """Adds the operator's result, for weights with fewer input channels than the image."""
    depth, channels = node.tensor(weights).shape[3], node.tensor(x).shape[_CHANNELS]
    if depth == 1:
        _as_depthwise(node, op, x, weights, bias)
        return
    groups, output = channels // depth, node.the_output
    each = node.tensor(weights).shape[0] // groups
    parts = []
    for group in range(groups):
        image = _channels(node, x, group * depth, depth)
        chosen = slice(group * each, (group + 1) * each)
        declared = node.tensor(output)
        part = node.value_like(f"{output}/group", declared, (*declared.shape[:3], each))
        constants = [None if name is None else _some(node, name, chosen) for name in (weights, bias)]
        by_images(node, op, image, constants, part)
        parts.append(part)
    _joined(node, parts, output)


def _joined(node: TfliteOperator, parts: list[str], output: str) -> None:
    whole = node.tensor(output)
    pixels = whole.elements // whole.shape[_CHANNELS]
    flat = [node.reshaped(n, (pixels, node.tensor(n).shape[_CHANNELS])) for n in parts]
    node.reshaped_result(Concat(1), flat, (pixels, whole.shape[_CHANNELS]))


def _channels(node: TfliteOperator, x: str, first: int, count: int) -> str:
    tensor = node.tensor(x)
    part = node.value_like(f"{x}/group", tensor, (*tensor.shape[:3], count))
    loops = Loops(node.tensor(part).shape, dense_strides(tensor.shape), first)
    rearrange(node, x, loops, part)
    return part


def _some(node: TfliteOperator, name: str, chosen: slice) -> str:
    """Returns the weights or biases of some of the output channels."""
    tensor = node.tensor(name)
    data = np.ascontiguousarray(node.array(name)[chosen])
    return node.add_value(f"{name}/group", replace(tensor, shape=data.shape, quant=_of(tensor, chosen)), data)


def _of(tensor: TensorType, chosen: slice) -> Quant | None:
    quant = tensor.quant
    if quant is None or len(quant.scales) == 1:
        return quant
    scales, zero_points = quant.scales[chosen], quant.zero_points[chosen]
    return Quant(scales, zero_points, 0 if len(scales) > 1 else None)


def _as_depthwise(node: TfliteOperator, op: Conv2d, x: str, weights: str, bias: str | None) -> None:
    tensor = node.tensor(weights)
    data = np.ascontiguousarray(np.moveaxis(node.array(weights)[..., 0], 0, 2))
    quant = tensor.quant
    if quant is not None and quant.axis is not None:
        quant = Quant(quant.scales, quant.zero_points, 2)
    turned = node.add_value(f"{weights}/turned", replace(tensor, shape=data.shape, quant=quant), data)
    depthwise = DepthwiseConv2d(
        stride=op.stride,
        dilation=op.dilation,
        padding=op.padding,
        activation=op.activation,
        rounding=op.rounding,
        multiplier=data.shape[2] // node.tensor(x).shape[_CHANNELS],
        result=op.result,
        scales_in_single=op.scales_in_single,
    )
    by_images(node, depthwise, x, (turned, bias))
