"""CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import tflite

from aot.frontend.tflite.importers.rearranging import by_images, rearrange
from aot.frontend.tflite.operation import Importer, TfliteOperator
from aot.frontend.tflite.tensors import DTYPES
from aot.ir.types import DType, Quant, TensorType, dense_strides
from aot.ops.activation import Activation
from aot.ops.batch_matmul import BatchMatmul
from aot.ops.binary import Add, Mul
from aot.ops.concat import Concat
from aot.ops.conv2d import Conv2d
from aot.ops.dense import Dense
from aot.ops.depthwise_conv2d import DepthwiseConv2d
from aot.ops.hybrid_dense import HybridDense
from aot.ops.op import Op
from aot.ops.own_steps import DynamicQuantize, MeasuredRange, RangeFact
from aot.ops.rearrange import Loops
from aot.ops.reduce import Reduce, Reduction
from aot.ops.reshape import Reshape
from aot.ops.rounding import (
    UNSIGNED,
    RequantRounding,
    quantises_on_the_way,
    rounding_of,
    rounding_of_i16,
    scales_in_single,
)
from aot.ops.unary import Clamp

# FULLY_CONNECTED with weights computed in the run: a product, then bias and activation.


def import_computed_weights(node: TfliteOperator, x: str, w: str, activation: Activation) -> None:
    """Supports floats, and integers without a bias, because no op adds one before rounding."""
    outputs, depth = node.with_rank(w, 2).shape
    declared = node.tensor(node.the_output)
    if node.tensor(x).elements % depth or declared.elements != node.tensor(x).elements // depth * outputs:
        raise node.fail(
            f'its input "{x}" has {node.tensor(x).elements} elements; the weights map rows of {depth} '
            f"to {outputs} elements, the file declares {list(declared.shape)}"
        )
    bias = _bias(node, outputs)
    is_wide = node.tensor(x).dtype is DType.I16
    op = BatchMatmul(
        y_transposed=True,
        rounding=(rounding_of_i16 if is_wide else rounding_of)(Dense.name, node.draft.rounding),
        result=None if declared.dtype is node.tensor(x).dtype else declared.dtype,
    )
    rows = node.tensor(x).elements // depth
    matrices = (
        node.reshaped(x, (1, 1, rows, depth)),
        node.reshaped(w, (1, 1, outputs, depth)),
    )
    made = (1, 1, rows, outputs)
    if bias is None and activation is Activation.NONE:
        node.reshaped_result(op, matrices, made)
        return
    product = node.value_like(f"{node.label}/product", declared, made)
    node.add_node(op, matrices, product)
    if bias is None:
        node.reshaped_result(Clamp(activation), (product,), made)
        return
    each = node.reshaped(bias, (1, 1, 1, outputs))
    node.reshaped_result(Add(activation), (product, each), made)


def _bias(node: TfliteOperator, outputs: int) -> str | None:
    """Returns the bias, constant or computed; None if it is absent or all zeros."""
    name = node.optional_operand(2)
    if name is None or (name in node.draft.constants and not node.array(name).any()):
        return None
    tensor = node.tensor(name)
    if tensor.elements != outputs:
        raise node.fail(
            f'its bias "{name}" has {tensor.elements} elements, there are {outputs} output channels'
        )
    if tensor.dtype is not DType.F32:
        raise node.fail(
            f'its weights "{node.inputs[1]}" are computed and its bias "{name}" is not 0: '
            "integer layers with computed weights support no bias",
            "add the bias in a separate ADD after the layer, or freeze the weights",
        )
    return name


# Grouped convolutions, one per group of channels; groups of one channel become a depthwise layer.


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


# Convolutions of float images with int8 weights, like LiteRT's hybrid kernels.
#
# An image is quantized to 8 bits by its range. Single-precision floats hold these integers, the weights and,
# below 2^24, the sums of their products exactly, so a float convolution computes them.


_ONE = TensorType(DType.F32, (1, 1, 1, 1))
_REACH = (-127.0, 127.0)  # largest number of steps from 0, both signs


def is_hybrid(node: TfliteOperator, op_name: str, axis: int) -> bool:
    """Returns whether LiteRT quantizes the image; weights have one scale or one per index of the axis.

    Batches and grouped convolutions stay float.
    """
    x = node.tensor(node.operand(0, "the image"))
    name = node.constant(1, "weights")
    if x.dtype is not DType.F32 or x.shape[:1] != (1,) or not node.are_symmetric_int8(name, axis):
        return False
    is_grouped = axis == 0 and node.tensor(name).shape[-1:] != x.shape[-1:]
    return not is_grouped and quantises_on_the_way(op_name, node.draft.rounding)


def import_hybrid(
    node: TfliteOperator,
    op: Conv2d | DepthwiseConv2d,
    x: str,
    weights: str,
    bias: str | None,
) -> None:
    """Adds the operator's result; the weights are int8, in the form that the op needs."""
    output, stored = node.the_output, node.tensor(weights)
    assert stored.quant is not None
    is_depthwise, has_many = isinstance(op, DepthwiseConv2d), len(stored.quant.scales) > 1
    steps, step = _quantized(node, x, is_depthwise or has_many)
    whole = TensorType(DType.F32, stored.shape)
    w = node.add_value(f"{weights}/whole", whole, node.array(weights).astype(np.float32))
    image = node.tensor(output)
    sums = _made(node, replace(op, activation=Activation.NONE), (steps, w, None), image, "sums")
    scales = _constant(node, f"{weights}/scales", np.array(stored.quant.scales, np.float32))
    # In LiteRT's order of products: with many scales, a convolution multiplies by these first.
    if has_many and not is_depthwise:
        factors = (_made(node, Mul(), (sums, scales), image, "scaled"), step)
    else:
        factors = (sums, _made(node, Mul(), (scales, step), node.tensor(scales), "factor"))
    if bias is None:
        node.add_node(Mul(op.activation), factors, output)
        return
    products = _made(node, Mul(), factors, image, "products")
    b = _constant(node, f"{bias}/pixel", node.array(bias).astype(np.float32))
    node.add_node(Add(op.activation), (products, b), output)


def _quantized(node: TfliteOperator, x: str, asymmetric: bool) -> tuple[str, str]:
    """Returns the image in 8-bit steps, as floats, and the step size."""
    axes = (1, 2, 3)
    ends = tuple(
        _made(node, Reduce(by, axes), (x,), _ONE, by.value) for by in (Reduction.MINIMUM, Reduction.MAXIMUM)
    )

    def fact(by: RangeFact) -> str:
        return _made(node, MeasuredRange(by), ends, _ONE, by.value)

    if asymmetric:
        step, inverse = fact(RangeFact.STEP_OF_RANGE), fact(RangeFact.INVERSE_OF_RANGE)
        low, high = fact(RangeFact.LEAST_STEPS), fact(RangeFact.MOST_STEPS)
    else:
        step, inverse = fact(RangeFact.STEP_OF_REACH), fact(RangeFact.INVERSE_OF_REACH)
        low, high = (_constant(node, "limit", np.array([end], np.float32)) for end in _REACH)
    return _made(node, DynamicQuantize(), (x, inverse, low, high), node.tensor(x), "steps"), step


def _made(
    node: TfliteOperator,
    op: Op,
    inputs: tuple[str | None, ...],
    result: TensorType,
    what: str,
) -> str:
    value = node.add_value(f"{node.the_output}/{what}", result)
    node.add_node(op, inputs, value)
    return value


def _constant(node: TfliteOperator, name: str, values: np.ndarray) -> str:
    """Adds constants for each channel of an image, or one for all."""
    shape = (1, 1, 1, values.size)
    return node.add_value(name, TensorType(DType.F32, shape), values.reshape(shape))


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
