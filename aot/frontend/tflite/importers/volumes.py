"""CONV_3D, as convolutions of images that hold the slices under a window as channels."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import tflite

from aot.frontend.tflite.draft import Importer, TfliteDraft, TfliteOperator
from aot.frontend.tflite.importers import attributes as read
from aot.frontend.tflite.importers.rearranging import (
    MOST_IMAGES,
    by_images,
    rearrange,
    transposed_constant,
)
from aot.ir.types import DType
from aot.ops.conv2d import Conv2d
from aot.ops.pad import Pad
from aot.ops.rearrange import Loops
from aot.ops.reshape import Reshape
from aot.ops.spatial import output_size, same_padding


def _import_conv_3d(draft: TfliteDraft, operator: TfliteOperator) -> None:
    options, x = operator.options(tflite.Conv3DOptions), read.operand(operator, 0, "the data")
    stored, output = read.with_rank(draft, operator, x, 5), read.the_output(operator)
    filters = read.constant(draft, operator, 1, "weights")
    depth, rows, columns, channels, made = read.with_rank(draft, operator, filters, 5).shape
    n, slices, height, width, given = stored.shape
    if stored.dtype is not DType.F32 or n != 1 or given != channels:
        raise operator.fail(
            f"volumes {stored.dtype.value}{list(stored.shape)} with filters of {channels} channels "
            "are not supported",
            "supported: f32, one volume, as many channels as the filters have",
        )
    steps = read.at_least_one(operator, "stride", (options.StrideH(), options.StrideW()))
    along = read.at_least_one(operator, "stride or dilation", (options.StrideD(), options.DilationDFactor()))
    dilation = read.at_least_one(operator, "dilation", (options.DilationHFactor(), options.DilationWFactor()))
    is_same = options.Padding() == tflite.Padding.SAME
    margin = same_padding(slices, depth, *along) if is_same else (0, 0)
    images = output_size(slices, depth, *along, margin)
    if not 0 < images <= MOST_IMAGES:
        raise operator.fail(f"it makes {images} slices, supported: 1 to {MOST_IMAGES}")
    whole = read.reshaped(draft, operator, x, (1, slices, height * width, channels))
    if margin != (0, 0):
        whole = read.made(draft, operator, Pad((margin, (0, 0))), whole)
    image = read.value_like(draft, f"{x}/slices", stored, (images, height, width, depth * channels))
    size = height * width * channels
    windows = Loops(
        (images, height, width, depth, channels),
        (along[0] * size, width * channels, channels, along[1] * size, 1),
    )
    rearrange(draft, operator, whole, windows, image)
    weights = transposed_constant(
        draft,
        filters,
        (depth, rows, columns, channels, made),
        (4, 1, 2, 0, 3),
        (made, rows, columns, depth * channels),
    )
    op = Conv2d(
        stride=steps,
        dilation=dilation,
        padding=read.padding(
            operator, options.Padding(), draft.types[image], (rows, columns), steps, dilation
        ),
        activation=read.activation(operator, options.FusedActivationFunction()),
    )
    declared = draft.types[output]
    shape = (images, *declared.shape[2:])
    if prod(shape) != declared.elements:
        raise operator.fail(f"it makes {list(shape)}, the file declares {list(declared.shape)}")
    result = read.value_like(draft, f"{output}/slices", declared, shape)
    by_images(draft, operator, op, image, (weights, read.constant_bias(draft, operator, made)), result)
    draft.add_node(operator, Reshape(declared.shape), (result,), output)


VOLUMES: Mapping[str, Importer] = {"CONV_3D": _import_conv_3d}
