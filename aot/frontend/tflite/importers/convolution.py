"""CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED."""

from __future__ import annotations

from dataclasses import replace

import tflite

from aot.frontend.tflite.importers.computed_weights import import_computed_weights
from aot.frontend.tflite.importers.groups import by_groups
from aot.frontend.tflite.importers.hybrid_convolution import import_hybrid, is_hybrid
from aot.frontend.tflite.importers.rearranging import by_images
from aot.frontend.tflite.operation import Importer, TfliteOperator
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


def import_conv_2d(node: TfliteOperator) -> None:
    options = node.options(tflite.Conv2DOptions)
    x, x_type = node.image()
    hybrid = is_hybrid(node, Conv2d.name, axis=0)
    w = node.constant_weights(rank=4, keep_int8=hybrid)
    channels, rows, columns, depth = node.tensor(w).shape
    stride = node.at_least_one("stride", (options.StrideH(), options.StrideW()))
    dilation = node.at_least_one("dilation", (options.DilationHFactor(), options.DilationWFactor()))
    bias = node.constant_bias(channels)
    op = Conv2d(
        stride=stride,
        dilation=dilation,
        padding=node.padding(options.Padding(), x_type, (rows, columns), stride, dilation),
        activation=node.activation(options.FusedActivationFunction()),
        rounding=_rounding(node, Conv2d.name, x, bias, options.QuantizedBiasType()),
        result=_result(node, x),
        scales_in_single=multiplies_in_single(node, Conv2d.name, x),
    )
    groups = x_type.shape[3] // depth
    if hybrid:
        import_hybrid(node, op, x, w, bias)
    elif groups < 2 or x_type.shape[3] % depth or channels % groups:
        by_images(node, op, x, (w, bias))
    else:
        by_groups(node, op, x, w, bias)


def import_depthwise_conv_2d(node: TfliteOperator) -> None:
    options = node.options(tflite.DepthwiseConv2DOptions)
    x, x_type = node.image()
    hybrid = is_hybrid(node, DepthwiseConv2d.name, axis=3)
    w = _depthwise_weights(node, hybrid)
    rows, columns, channels = node.tensor(w).shape
    stride = node.at_least_one("stride", (options.StrideH(), options.StrideW()))
    dilation = node.at_least_one("dilation", (options.DilationHFactor(), options.DilationWFactor()))
    bias = node.constant_bias(channels)
    op = DepthwiseConv2d(
        stride=stride,
        dilation=dilation,
        padding=node.padding(options.Padding(), x_type, (rows, columns), stride, dilation),
        activation=node.activation(options.FusedActivationFunction()),
        rounding=_rounding(node, DepthwiseConv2d.name, x, bias),
        multiplier=channels // x_type.shape[3],
        result=_result(node, x),
        scales_in_single=multiplies_in_single(node, DepthwiseConv2d.name, x),
    )
    if hybrid:
        import_hybrid(node, op, x, w, bias)
    else:
        by_images(node, op, x, (w, bias))


def _depthwise_weights(node: TfliteOperator, keep_int8: bool) -> str:
    """Returns the weights [1, rows, columns, channels] without their first dimension."""
    name = node.constant_weights(rank=4, keep_int8=keep_int8, axis=3)
    stored = node.tensor(name)
    if stored.shape[0] != 1:
        raise node.fail(f"its weights have shape {list(stored.shape)}, the first dimension must be 1")
    quant = stored.quant
    if quant is not None and quant.axis is not None:
        quant = Quant(quant.scales, quant.zero_points, max(quant.axis - 1, 0))
    flat = replace(stored, shape=stored.shape[1:], quant=quant)
    return node.add_value(name, flat, node.array(name).reshape(flat.shape))


def import_fully_connected(node: TfliteOperator) -> None:
    options = node.options(tflite.FullyConnectedOptions)
    if options.WeightsFormat() != tflite.FullyConnectedOptionsWeightsFormat.DEFAULT:
        raise node.fail("shuffled weights are not supported", "convert the model with the default format")
    x = node.operand(0, "the vector")
    activation = node.activation(options.FusedActivationFunction())
    weights = node.operand(1, "weights")
    if weights not in node.draft.constants:
        import_computed_weights(node, x, weights, activation)
        return
    w = node.constant_weights(rank=2, keep_int8=True)
    outputs, depth = node.tensor(w).shape
    bias = node.constant_bias(outputs)
    has_floats_by_int8 = (node.tensor(x).dtype, node.tensor(weights).dtype) == (DType.F32, DType.I8)
    if has_floats_by_int8 and quantises_on_the_way(Dense.name, node.draft.rounding):
        hybrid = HybridDense(activation, options.AsymmetricQuantizeInputs())
        _add_dense(node, hybrid, (_as_rows(node, x, depth), w, bias), outputs)
        return
    op = Dense(
        activation=activation,
        rounding=_rounding(node, Dense.name, x, bias, options.QuantizedBiasType()),
        result=_result(node, x),
    )
    _add_dense(node, op, (_as_rows(node, x, depth), w, bias), outputs)


def _rounding(
    node: TfliteOperator,
    op_name: str,
    x: str,
    bias: str | None,
    declared: int = tflite.TensorType.INT64,
) -> RequantRounding:
    """Returns the rounding; `declared` is the element type of an absent bias."""
    if node.tensor(x).dtype is not DType.I16:
        return rounding_of(op_name, node.draft.rounding)
    dtype = DTYPES.get(declared) if bias is None else node.tensor(bias).dtype
    return rounding_of_i16(op_name, node.draft.rounding, dtype is DType.I32)


def multiplies_in_single(node: TfliteOperator, op_name: str, x: str) -> bool:
    """Returns whether the product of a convolution's scales is computed in single precision."""
    return x in node.draft.unsigned and scales_in_single(op_name, node.draft.rounding, UNSIGNED)


def _result(node: TfliteOperator, x: str) -> DType | None:
    """Returns the result's element type if it differs from the input's, else None."""
    dtype = node.tensor(node.the_output).dtype
    return None if dtype is node.tensor(x).dtype else dtype


def _as_rows(node: TfliteOperator, x: str, depth: int) -> str:
    """Returns the input as [N, depth]; TFLite accepts any shape whose elements divide into such rows."""
    stored = node.tensor(x)
    if stored.rank == 2 and stored.shape[1] == depth:
        return x
    if stored.elements % depth:
        raise node.fail(
            f'its input "{x}" has {stored.elements} elements, which is not a multiple of {depth}, the '
            "length of a weight row"
        )
    shape = (stored.elements // depth, depth)
    rows = node.add_value(f"{x}/rows", replace(stored, shape=shape))
    node.add_node(Reshape(shape), (x,), rows)
    return rows


def _add_dense(
    node: TfliteOperator,
    op: Dense | HybridDense,
    inputs: tuple[str, str, str | None],
    outputs: int,
) -> None:
    """Adds the node and, if the file keeps more than two dimensions, a reshape after it."""
    result = node.the_output
    declared = node.tensor(result)
    shape = (node.tensor(inputs[0]).shape[0], outputs)
    if declared.shape == shape or declared.elements != shape[0] * shape[1]:
        node.add_node(op, inputs, result)
        return
    flat = node.add_value(f"{result}/rows", replace(declared, shape=shape))
    node.add_node(op, inputs, flat)
    node.add_node(Reshape(declared.shape), (flat,), result)


CONVOLUTION: dict[str, Importer] = {
    "CONV_2D": import_conv_2d,
    "DEPTHWISE_CONV_2D": import_depthwise_conv_2d,
    "FULLY_CONNECTED": import_fully_connected,
}
