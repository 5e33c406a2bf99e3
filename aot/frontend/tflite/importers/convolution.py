"""CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED."""

from __future__ import annotations

from dataclasses import replace

import tflite

from aot.frontend.tflite.draft import Importer, TfliteDraft, TfliteOperator
from aot.frontend.tflite.importers import attributes as read
from aot.frontend.tflite.importers.computed_weights import import_computed_weights
from aot.frontend.tflite.importers.groups import by_groups
from aot.frontend.tflite.importers.hybrid_convolution import import_in_steps, takes_steps
from aot.frontend.tflite.importers.rearranging import by_images
from aot.frontend.tflite.tensors import DTYPES
from aot.ir.types import DType, Quant
from aot.ops.conv2d import Conv2d
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.hybrid_dense import HybridDense
from aot.ops.reshape import Reshape
from aot.ops.rounding import (
    UNSIGNED,
    RequantRounding,
    quantises_on_the_way,
    rounding_of,
    rounding_of_i16,
    scales_in_single,
)


def import_conv_2d(draft: TfliteDraft, operator: TfliteOperator) -> None:
    options = operator.options(tflite.Conv2DOptions)
    x, x_type = read.image(draft, operator)
    in_steps = takes_steps(draft, operator, Conv2d.name, axis=0)
    w = read.constant_weights(draft, operator, rank=4, may_be_steps=in_steps)
    channels, rows, columns, depth = draft.types[w].shape
    stride = read.at_least_one(operator, "stride", (options.StrideH(), options.StrideW()))
    dilation = read.at_least_one(operator, "dilation", (options.DilationHFactor(), options.DilationWFactor()))
    bias = read.constant_bias(draft, operator, channels)
    op = Conv2d(
        stride=stride,
        dilation=dilation,
        padding=read.padding(operator, options.Padding(), x_type, (rows, columns), stride, dilation),
        activation=read.activation(operator, options.FusedActivationFunction()),
        rounding=_rounding(draft, Conv2d.name, x, bias, options.QuantizedBiasType()),
        result=_result(draft, operator, x),
        scales_in_single=multiplies_in_single(draft, Conv2d.name, x),
    )
    groups = x_type.shape[3] // depth
    if in_steps:
        import_in_steps(draft, operator, op, x, w, bias)
    elif groups < 2 or x_type.shape[3] % depth or channels % groups:
        by_images(draft, operator, op, x, (w, bias))
    else:
        by_groups(draft, operator, op, x, w, bias)


def import_depthwise_conv_2d(draft: TfliteDraft, operator: TfliteOperator) -> None:
    options = operator.options(tflite.DepthwiseConv2DOptions)
    x, x_type = read.image(draft, operator)
    in_steps = takes_steps(draft, operator, DepthwiseConv2d.name, axis=3)
    w = _depthwise_weights(draft, operator, in_steps)
    rows, columns, channels = draft.types[w].shape
    stride = read.at_least_one(operator, "stride", (options.StrideH(), options.StrideW()))
    dilation = read.at_least_one(operator, "dilation", (options.DilationHFactor(), options.DilationWFactor()))
    bias = read.constant_bias(draft, operator, channels)
    op = DepthwiseConv2d(
        stride=stride,
        dilation=dilation,
        padding=read.padding(operator, options.Padding(), x_type, (rows, columns), stride, dilation),
        activation=read.activation(operator, options.FusedActivationFunction()),
        rounding=_rounding(draft, DepthwiseConv2d.name, x, bias),
        multiplier=channels // x_type.shape[3],
        result=_result(draft, operator, x),
        scales_in_single=multiplies_in_single(draft, DepthwiseConv2d.name, x),
    )
    if in_steps:
        import_in_steps(draft, operator, op, x, w, bias)
        return
    by_images(draft, operator, op, x, (w, bias))


def _depthwise_weights(draft: TfliteDraft, operator: TfliteOperator, in_steps: bool) -> str:
    """Returns the weights [1, rows, columns, channels] without their first dimension."""
    name = read.constant_weights(draft, operator, rank=4, may_be_steps=in_steps, axis=3)
    stored = draft.types[name]
    if stored.shape[0] != 1:
        raise operator.fail(f"its weights have shape {list(stored.shape)}, the first dimension must be 1")
    quant = stored.quant
    if quant is not None and quant.axis is not None:
        quant = Quant(quant.scales, quant.zero_points, max(quant.axis - 1, 0))
    flat = replace(stored, shape=stored.shape[1:], quant=quant)
    return draft.add_value(name, flat, draft.constants[name].reshape(flat.shape))


def import_fully_connected(draft: TfliteDraft, operator: TfliteOperator) -> None:
    options = operator.options(tflite.FullyConnectedOptions)
    if options.WeightsFormat() != tflite.FullyConnectedOptionsWeightsFormat.DEFAULT:
        raise operator.fail("shuffled weights are not supported", "convert the model with the default format")
    x = read.operand(operator, 0, "the vector")
    activation = read.activation(operator, options.FusedActivationFunction())
    weights = read.operand(operator, 1, "weights")
    if weights not in draft.constants:
        import_computed_weights(draft, operator, x, weights, activation)
        return
    w = read.constant_weights(draft, operator, rank=2, may_be_steps=True)
    outputs, depth = draft.types[w].shape
    bias = read.constant_bias(draft, operator, outputs)
    activation = read.activation(operator, options.FusedActivationFunction())
    is_hybrid = (draft.types[x].dtype, draft.types[weights].dtype) == (DType.F32, DType.I8)
    if is_hybrid and quantises_on_the_way(Dense.name, draft.rounding):
        hybrid = HybridDense(activation, options.AsymmetricQuantizeInputs())
        _add_dense(draft, operator, hybrid, (_as_rows(draft, operator, x, depth), w, bias), outputs)
        return
    op = Dense(
        activation=activation,
        rounding=_rounding(draft, Dense.name, x, bias, options.QuantizedBiasType()),
        result=_result(draft, operator, x),
    )
    rows = _as_rows(draft, operator, x, depth)
    _add_dense(draft, operator, op, (rows, w, bias), outputs)


def _rounding(
    draft: TfliteDraft, op_name: str, x: str, bias: str | None, said: int = tflite.TensorType.INT64
) -> RequantRounding:
    """Returns the rounding; `said` is the declared element type of an absent bias."""
    if draft.types[x].dtype is not DType.I16:
        return rounding_of(op_name, draft.rounding)
    dtype = DTYPES.get(said) if bias is None else draft.types[bias].dtype
    return rounding_of_i16(op_name, draft.rounding, dtype is DType.I32)


def multiplies_in_single(draft: TfliteDraft, op_name: str, x: str) -> bool:
    """Returns whether the product of a convolution's scales is computed in single precision."""
    return x in draft.unsigned and scales_in_single(op_name, draft.rounding, UNSIGNED)


def _result(draft: TfliteDraft, operator: TfliteOperator, x: str) -> DType | None:
    """Returns the result's element type if it differs from the input's, else None."""
    dtype = draft.types[read.the_output(operator)].dtype
    return None if dtype is draft.types[x].dtype else dtype


def _as_rows(draft: TfliteDraft, operator: TfliteOperator, x: str, depth: int) -> str:
    """Returns the input as [N, depth]; TFLite accepts any shape whose elements divide into such rows."""
    stored = draft.types[x]
    if stored.rank == 2 and stored.shape[1] == depth:
        return x
    if stored.elements % depth:
        raise operator.fail(
            f'its input "{x}" has {stored.elements} elements, which is not a multiple of {depth}, the '
            "length of a weight row"
        )
    shape = (stored.elements // depth, depth)
    rows = draft.add_value(f"{x}/rows", replace(stored, shape=shape))
    draft.add_node(operator, Reshape(shape), (x,), rows)
    return rows


def _add_dense(
    draft: TfliteDraft,
    operator: TfliteOperator,
    op: Dense | HybridDense,
    inputs: tuple[str, str, str | None],
    outputs: int,
) -> None:
    """Adds the node and, if the file keeps more than two dimensions, a reshape after it."""
    result = read.the_output(operator)
    declared = draft.types[result]
    shape = (draft.types[inputs[0]].shape[0], outputs)
    if declared.shape == shape or declared.elements != shape[0] * shape[1]:
        draft.add_node(operator, op, inputs, result)
        return
    flat = draft.add_value(f"{result}/rows", replace(declared, shape=shape))
    draft.add_node(operator, op, inputs, flat)
    draft.add_node(operator, Reshape(declared.shape), (flat,), result)


CONVOLUTION: dict[str, Importer] = {
    "CONV_2D": import_conv_2d,
    "DEPTHWISE_CONV_2D": import_depthwise_conv_2d,
    "FULLY_CONNECTED": import_fully_connected,
}
