"""Attributes shared by several TFLite operators: padding, strides, activations, constant operands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import tflite

from aot.frontend.tflite.draft import TfliteDraft, TfliteOperator
from aot.frontend.tflite.unsigned import centred_weights
from aot.ir.types import DType, TensorType
from aot.ops.activation import Activation
from aot.ops.op import Op
from aot.ops.reshape import Reshape
from aot.ops.spatial import NO_PADDING, Padding, Pair, same_padding

_ACTIVATIONS = {
    tflite.ActivationFunctionType.NONE: Activation.NONE,
    tflite.ActivationFunctionType.RELU: Activation.RELU,
    tflite.ActivationFunctionType.RELU_N1_TO_1: Activation.RELU_N1_TO_1,
    tflite.ActivationFunctionType.RELU6: Activation.RELU6,
}
_ACTIVATION_NAMES = {
    number: name for name, number in vars(tflite.ActivationFunctionType).items() if isinstance(number, int)
}


_LARGEST_STEP = 1 << 14  # pixels: more than any image on a microcontroller


def activation(operator: TfliteOperator, number: int) -> Activation:
    if number not in _ACTIVATIONS:
        known = ", ".join(_ACTIVATION_NAMES[n] for n in _ACTIVATIONS)
        name = _ACTIVATION_NAMES.get(number, f"number {number}")
        raise operator.fail(f"fused activation {name} is not supported", f"supported: {known}")
    return _ACTIVATIONS[number]


def at_least_one(operator: TfliteOperator, what: str, pair: Pair) -> Pair:
    """Returns strides, dilations or window sizes from the file. Raises ModelError unless positive."""
    if min(pair) < 1:
        raise operator.fail(
            f"{what} {pair[0]}x{pair[1]}: must be at least 1",
            "the file looks corrupted: get or convert it again",
        )
    if max(pair) > _LARGEST_STEP:
        raise operator.fail(
            f"{what} {pair[0]}x{pair[1]}: must be at most {_LARGEST_STEP}",
            "the file looks corrupted: get or convert it again",
        )
    return pair


def padding(
    operator: TfliteOperator, number: int, image: TensorType, size: Pair, stride: Pair, dilation: Pair
) -> Padding:
    """Returns SAME or VALID as explicit rows and columns."""
    if number == tflite.Padding.VALID:
        return NO_PADDING
    if number != tflite.Padding.SAME:
        raise operator.fail(f"padding number {number} is not known", "supported: SAME, VALID")
    _, height, width, _ = image.shape
    return (
        same_padding(height, size[0], stride[0], dilation[0]),
        same_padding(width, size[1], stride[1], dilation[1]),
    )


def operand(operator: TfliteOperator, number: int, what: str) -> str:
    """Returns the name of a required input."""
    name = operator.inputs[number] if number < len(operator.inputs) else None
    if name is None:
        raise operator.fail(f"its input {number} ({what}) is missing")
    return name


def operands(operator: TfliteOperator, what: str) -> list[str]:
    """Returns all inputs, at least one."""
    return [operand(operator, number, what) for number in range(max(len(operator.inputs), 1))]


def optional_operand(operator: TfliteOperator, number: int) -> str | None:
    return operator.inputs[number] if number < len(operator.inputs) else None


def image(draft: TfliteDraft, operator: TfliteOperator, number: int = 0) -> tuple[str, TensorType]:
    """Returns an input that must be an NHWC image."""
    name = operand(operator, number, "the image")
    return name, with_rank(draft, operator, name, 4)


def with_rank(draft: TfliteDraft, operator: TfliteOperator, name: str, rank: int) -> TensorType:
    tensor = draft.types[name]
    if tensor.rank != rank:
        raise operator.fail(f'"{name}" has shape {list(tensor.shape)}, it must have {rank} dimensions')
    return tensor


def constant(draft: TfliteDraft, operator: TfliteOperator, number: int, what: str) -> str:
    """Returns the name of a required constant input: weights that change in a run are not supported."""
    name = operand(operator, number, what)
    if name not in draft.constants:
        raise operator.fail(f'its {what} "{name}" must be constant', "convert the model with frozen weights")
    return name


def constant_weights(
    draft: TfliteDraft,
    operator: TfliteOperator,
    rank: int,
    met: int = 0,
    may_be_steps: bool = False,
    axis: int = 0,
) -> str:
    """Returns the weights in the form that ops need; `met` is the number of the input they multiply.

    With float inputs, integer weights may stay `steps`, with one scale or one per index of the axis, also
    if a DEQUANTIZE makes floats of them.
    """
    name = constant(draft, operator, 1, "weights")
    with_rank(draft, operator, name, rank)
    if draft.types[operand(operator, met, "the data")].dtype is DType.F32:
        name = draft.integers.get(name, name) if may_be_steps else name
        return name if may_be_steps and are_steps(draft, name, axis) else as_floats(draft, name)
    if name not in draft.unsigned:
        return name
    tensor, data = centred_weights(draft.types[name], draft.constants[name])
    return draft.add_value(f"{name}/centred", tensor, data)


def are_steps(draft: TfliteDraft, name: str, axis: int = 0) -> bool:
    """Returns whether weights are signed integers with one scale, or one per index of the axis."""
    weights = draft.types[name]
    if weights.dtype is not DType.I8 or weights.quant is None or name in draft.unsigned:
        return False
    return not any(weights.quant.zero_points) and weights.quant.axis in (None, axis)


def as_floats(draft: TfliteDraft, name: str) -> str:
    """Dequantizes the weights of a layer on floats, whose sums are floats, too.

    LiteRT also rounds the layer's input to 8 bits, each of its kernels differently; this is the result that
    all of them approximate.
    """
    tensor, data = draft.types[name], draft.constants[name]
    if tensor.quant is None:
        return name
    shape = [1] * tensor.rank
    if tensor.quant.axis is not None:
        shape[tensor.quant.axis] = -1
    scales, zeros = (np.array(v).reshape(shape) for v in (tensor.quant.scales, tensor.quant.zero_points))
    floats = ((data.astype(np.float64) - zeros) * scales).astype(np.float32)
    return draft.add_value(f"{name}/floats", TensorType(DType.F32, tensor.shape), floats)


def constant_bias(draft: TfliteDraft, operator: TfliteOperator, channels: int, number: int = 2) -> str | None:
    """Returns the name of the bias, with one element for each output channel; None if absent."""
    if optional_operand(operator, number) is None:
        return None
    name = constant(draft, operator, number, "bias")
    stored = draft.types[name]
    if stored.elements != channels:
        raise operator.fail(
            f'its bias "{name}" has {stored.elements} elements, there are {channels} output channels'
        )
    if stored.rank == 1:
        return name
    # Some writers keep the image's dimensions, all 1. A bias needs no scale: it is in * w by definition.
    flat = TensorType(stored.dtype, (channels,))
    return draft.add_value(name, flat, draft.constants[name].reshape(flat.shape))


def outputs(operator: TfliteOperator, count: int) -> tuple[str, ...]:
    """Returns the names of the results. Raises ModelError unless there are `count`."""
    if len(operator.outputs) != count:
        raise operator.fail(f"it has {len(operator.outputs)} outputs, not {count}")
    return operator.outputs


def the_output(operator: TfliteOperator) -> str:
    return outputs(operator, 1)[0]


def integers(draft: TfliteDraft, operator: TfliteOperator, number: int, what: str) -> tuple[int, ...]:
    """Returns the elements of a constant integer input."""
    name = constant(draft, operator, number, what)
    if not draft.types[name].dtype.is_integer:
        raise operator.fail(f'its {what} "{name}" must be integers, not {draft.types[name].dtype.value}')
    return tuple(int(v) for v in draft.constants[name].reshape(-1))


def integer(draft: TfliteDraft, operator: TfliteOperator, number: int, what: str) -> int:
    """Returns the only element of a constant integer input."""
    found = integers(draft, operator, number, what)
    if len(found) != 1:
        raise operator.fail(f"its {what} must be one integer, there are {len(found)}")
    return found[0]


def axes(draft: TfliteDraft, operator: TfliteOperator, rank: int, number: int = 1) -> tuple[int, ...]:
    """Returns the axes in a constant input, without duplicates, sorted, counted from the front."""
    return tuple(sorted({axis(operator, a, rank) for a in integers(draft, operator, number, "axes")}))


def axis(operator: TfliteOperator, number: int, rank: int) -> int:
    """Returns an axis counted from the front."""
    if not -rank <= number < rank:
        raise operator.fail(f"axis {number} does not exist in {rank} dimensions")
    return number % rank


def reshaped(draft: TfliteDraft, operator: TfliteOperator, name: str, shape: tuple[int, ...]) -> str:
    """Returns the value in another shape with as many elements; the value itself if the shape is equal."""
    stored = draft.types[name]
    if stored.shape == shape:
        return name
    view = draft.add_value(f"{name}/view", replace(stored, shape=shape))
    draft.add_node(operator, Reshape(shape), (name,), view)
    return view


def made(draft: TfliteDraft, operator: TfliteOperator, op: Op, *inputs: str) -> str:
    """Adds a node whose result only the next step reads."""
    ((dtype, shape),) = op.infer([draft.types[name] for name in inputs])
    name = draft.add_value(f"{operator.label}/{op.name}", TensorType(DType(dtype), shape))
    draft.add_node(operator, op, inputs, name)
    return name


def constant_like(draft: TfliteDraft, name: str, shape: tuple[int, ...]) -> str:
    """Returns the constant in another shape with as many elements."""
    array = draft.constants[name].reshape(shape)
    return draft.add_value(name, replace(draft.types[name], shape=shape), array)


def value_like(draft: TfliteDraft, name_hint: str, tensor: TensorType, shape: tuple[int, ...]) -> str:
    """Adds a value of the same type with another shape."""
    return draft.add_value(name_hint, replace(tensor, shape=shape))


def reshaped_result(
    draft: TfliteDraft, operator: TfliteOperator, op: Op, inputs: Sequence[str | None], shape: tuple[int, ...]
) -> None:
    """Adds a node with another result shape, and a view that gives the operator's result its shape."""
    reshaped_into(draft, operator, op, inputs, shape, the_output(operator))


def reshaped_into(
    draft: TfliteDraft,
    operator: TfliteOperator,
    op: Op,
    inputs: Sequence[str | None],
    shape: tuple[int, ...],
    output: str,
) -> None:
    declared = draft.types[output]
    if declared.shape == shape:
        draft.add_node(operator, op, inputs, output)
        return
    result = value_like(draft, f"{output}/view", declared, shape)
    draft.add_node(operator, op, inputs, result)
    draft.add_node(operator, Reshape(declared.shape), (result,), output)
