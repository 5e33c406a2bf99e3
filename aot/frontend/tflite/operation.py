"""An operator of the file as its importer sees it: operands, attributes, and functions to build results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import tflite
from flatbuffers import flexbuffers

from aot.errors import ModelError
from aot.frontend.builder import INDEX_HINT, SEE_OPS, index_outside
from aot.frontend.tflite.draft import FOR_RECURRENT_LAYERS, TfliteDraft
from aot.frontend.tflite.model_file import operator_options
from aot.frontend.tflite.unsigned import centred_weights
from aot.ir.types import Array, DType, TensorType
from aot.ops.activation import Activation
from aot.ops.op import Op
from aot.ops.reshape import Reshape
from aot.ops.spatial import NO_PADDING, Padding, Pair, same_padding

Options = TypeVar("Options")

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
_OF_SHAPES = (DType.I32, DType.I64)  # element types of shapes, axes and indices

# A subgraph and its input values -> its output values.
ReadSubgraph = Callable[["TfliteOperator", int, Sequence[str]], tuple[str, ...]]


@dataclass(frozen=True)
class TfliteOperator:
    """An operator with its tensors by value name, and the graph that its importer extends."""

    index: int
    code: str  # the schema's name: "CONV_2D"
    label: str  # short name of its first output
    inputs: tuple[str | None, ...]
    outputs: tuple[str, ...]
    table: tflite.Operator
    file_name: str
    draft: TfliteDraft
    read_subgraph: ReadSubgraph

    @property
    def origin(self) -> str:
        return f'{self.code} #{self.index} "{self.label}"'

    def fail(self, what: str, hint: str = "") -> ModelError:
        return ModelError(what, f"at {self.origin} ({self.file_name})", hint)

    # Operands and results

    def operand(self, number: int, what: str) -> str:
        """Returns the name of a required input."""
        name = self.optional_operand(number)
        if name is None:
            raise self.fail(f"its input {number} ({what}) is missing")
        return name

    def operands(self, what: str) -> list[str]:
        """Returns all inputs, at least one."""
        return [self.operand(number, what) for number in range(max(len(self.inputs), 1))]

    def optional_operand(self, number: int) -> str | None:
        return self.inputs[number] if number < len(self.inputs) else None

    def the_outputs(self, count: int) -> tuple[str, ...]:
        """Returns the names of the results. Raises ModelError unless there are `count`."""
        if len(self.outputs) != count:
            raise self.fail(f"it has {len(self.outputs)} outputs, not {count}")
        return self.outputs

    @property
    def the_output(self) -> str:
        return self.the_outputs(1)[0]

    def tensor(self, name: str) -> TensorType:
        return self.draft.types[name]

    def with_rank(self, name: str, rank: int) -> TensorType:
        tensor = self.tensor(name)
        if tensor.rank != rank:
            raise self.fail(f'"{name}" has shape {list(tensor.shape)}, it must have {rank} dimensions')
        return tensor

    def image(self, number: int = 0) -> tuple[str, TensorType]:
        """Returns an input that must be an NHWC image."""
        name = self.operand(number, "the image")
        return name, self.with_rank(name, 4)

    # Attributes

    def options(self, options_class: type[Options]) -> Options:
        """Returns the operator's attributes, or the schema's defaults if the file has none of this class."""
        return operator_options(self.table, options_class)

    def activation(self, number: int) -> Activation:
        if number not in _ACTIVATIONS:
            known = ", ".join(_ACTIVATION_NAMES[n] for n in _ACTIVATIONS)
            name = _ACTIVATION_NAMES.get(number, f"number {number}")
            raise self.fail(f"fused activation {name} is not supported", f"supported: {known}")
        return _ACTIVATIONS[number]

    def at_least_one(self, what: str, pair: Pair) -> Pair:
        """Returns strides, dilations or window sizes. Raises ModelError unless they are positive."""
        limit = "at least 1" if min(pair) < 1 else f"at most {_LARGEST_STEP}"
        if min(pair) < 1 or max(pair) > _LARGEST_STEP:
            raise self.fail(
                f"{what} {pair[0]}x{pair[1]}: must be {limit}",
                "the file looks corrupted: get or convert it again",
            )
        return pair

    def padding(self, number: int, image: TensorType, size: Pair, stride: Pair, dilation: Pair) -> Padding:
        """Returns SAME or VALID as explicit rows and columns."""
        if number == tflite.Padding.VALID:
            return NO_PADDING
        if number != tflite.Padding.SAME:
            raise self.fail(f"padding number {number} is not known", "supported: SAME, VALID")
        _, height, width, _ = image.shape
        return (
            same_padding(height, size[0], stride[0], dilation[0]),
            same_padding(width, size[1], stride[1], dilation[1]),
        )

    def axis(self, number: int, rank: int) -> int:
        """Returns an axis counted from the front."""
        if not -rank <= number < rank:
            raise self.fail(f"axis {number} does not exist in {rank} dimensions")
        return number % rank

    def axes(self, rank: int, number: int = 1) -> tuple[int, ...]:
        """Returns the axes in a constant input, without duplicates, sorted, counted from the front."""
        return tuple(sorted({self.axis(a, rank) for a in self.integers(number, "axes")}))

    def require_inside(self, indices: Array | None, size: int) -> None:
        """Raises ModelError if known indices are out of range for a dimension of this size."""
        fault = "" if indices is None else index_outside(indices, 0, size)
        if fault:
            raise self.fail(fault, INDEX_HINT)

    # Constant operands

    def array(self, name: str) -> Array:
        """Returns the elements of a constant."""
        return self.draft.constants[name]

    def constant(self, number: int, what: str) -> str:
        """Returns the name of a required constant input: weights that change in a run are not supported."""
        name = self.operand(number, what)
        if name not in self.draft.constants:
            raise self.fail(f'its {what} "{name}" must be constant', "convert the model with frozen weights")
        return name

    def integers(self, number: int, what: str) -> tuple[int, ...]:
        """Returns the elements of a constant integer input."""
        name = self.constant(number, what)
        if not self.tensor(name).dtype.is_integer:
            raise self.fail(f'its {what} "{name}" must be integers, not {self.tensor(name).dtype.value}')
        return tuple(int(v) for v in self.array(name).reshape(-1))

    def integer(self, number: int, what: str) -> int:
        """Returns the only element of a constant integer input."""
        found = self.integers(number, what)
        if len(found) != 1:
            raise self.fail(f"its {what} must be one integer, there are {len(found)}")
        return found[0]

    def constant_weights(self, rank: int, met: int = 0, keep_int8: bool = False, axis: int = 0) -> str:
        """Returns the weights in the form that ops need; `met` is the number of the input they multiply.

        With float inputs, `keep_int8` keeps symmetric int8 weights, with one scale or one per index of the
        axis, also if a DEQUANTIZE makes floats of them.
        """
        name = self.constant(1, "weights")
        self.with_rank(name, rank)
        if self.tensor(self.operand(met, "the data")).dtype is DType.F32:
            name = self.draft.integers.get(name, name) if keep_int8 else name
            return name if keep_int8 and self.are_symmetric_int8(name, axis) else self.as_floats(name)
        if name not in self.draft.unsigned:
            return name
        tensor, data = centred_weights(self.tensor(name), self.array(name))
        return self.add_value(f"{name}/centred", tensor, data)

    def are_symmetric_int8(self, name: str, axis: int = 0) -> bool:
        """Returns whether weights are signed integers with one scale, or one per index of the axis."""
        weights = self.tensor(name)
        if weights.dtype is not DType.I8 or weights.quant is None or name in self.draft.unsigned:
            return False
        return not any(weights.quant.zero_points) and weights.quant.axis in (None, axis)

    def as_floats(self, name: str) -> str:
        """Dequantizes the weights of a layer on floats, whose sums are floats, too.

        LiteRT also rounds the layer's input to 8 bits, each of its kernels differently; this is the result
        that all of them approximate.
        """
        tensor = self.tensor(name)
        if tensor.quant is None:
            return name
        shape = [1] * tensor.rank
        if tensor.quant.axis is not None:
            shape[tensor.quant.axis] = -1
        scales, zeros = (np.array(v).reshape(shape) for v in (tensor.quant.scales, tensor.quant.zero_points))
        floats = ((self.array(name).astype(np.float64) - zeros) * scales).astype(np.float32)
        return self.add_value(f"{name}/floats", TensorType(DType.F32, tensor.shape), floats)

    def constant_bias(self, channels: int, number: int = 2) -> str | None:
        """Returns the name of the bias, with one element for each output channel; None if absent."""
        if self.optional_operand(number) is None:
            return None
        name = self.constant(number, "bias")
        stored = self.tensor(name)
        if stored.elements != channels:
            raise self.fail(
                f'its bias "{name}" has {stored.elements} elements, there are {channels} output channels'
            )
        if stored.rank == 1:
            return name
        # Some writers keep the image's dimensions, all 1. A bias needs no scale: it is in * w by definition.
        flat = TensorType(stored.dtype, (channels,))
        return self.add_value(name, flat, self.array(name).reshape(flat.shape))

    def constant_like(self, name: str, shape: tuple[int, ...]) -> str:
        """Returns the constant in another shape with as many elements."""
        return self.add_value(name, replace(self.tensor(name), shape=shape), self.array(name).reshape(shape))

    # Values and nodes to add

    def add_value(self, name_hint: str, tensor: TensorType, data: Array | None = None) -> str:
        """Adds a value with a unique name close to the hint."""
        return self.draft.add_value(name_hint, tensor, data)

    def value_like(self, name_hint: str, tensor: TensorType, shape: tuple[int, ...]) -> str:
        """Adds a value of the same type with another shape."""
        return self.add_value(name_hint, replace(tensor, shape=shape))

    def set_constant(self, output: str, array: Array) -> None:
        """Sets a result that is already known; its type was declared."""
        self._check_order((), output)
        self.draft.constants[output] = array
        self.draft.made.add(output)

    def add_node(self, op: Op, inputs: Sequence[str | None], output: str) -> None:
        """Adds a node after checking its operands, its op's constraints and its result's declared shape."""
        self._require_valid(op, inputs, output)
        draft = self.draft
        if draft.types[output].dtype in _OF_SHAPES and draft.are_known(inputs):
            # Converters compute shapes with operators even if every dimension is known.
            (draft.constants[output],) = draft.computed(op, inputs, (draft.types[output],))
            return
        draft.append(self.label, op, inputs, output, self.origin)

    def apply(self, op: Op, *inputs: str) -> str:
        """Adds a node whose result only the next step reads."""
        ((dtype, shape),) = op.infer([self.tensor(name) for name in inputs])
        name = self.add_value(f"{self.label}/{op.name}", TensorType(DType(dtype), shape))
        self.add_node(op, inputs, name)
        return name

    def reshaped(self, name: str, shape: tuple[int, ...]) -> str:
        """Returns the value in another shape with as many elements, or itself if the shape is equal."""
        stored = self.tensor(name)
        if stored.shape == shape:
            return name
        view = self.value_like(f"{name}/view", stored, shape)
        self.add_node(Reshape(shape), (name,), view)
        return view

    def reshaped_result(self, op: Op, inputs: Sequence[str | None], shape: tuple[int, ...]) -> None:
        """Adds a node with another result shape, and a view that gives the operator's result its shape."""
        self.reshaped_into(op, inputs, shape, self.the_output)

    def reshaped_into(
        self, op: Op, inputs: Sequence[str | None], shape: tuple[int, ...], output: str
    ) -> None:
        declared = self.tensor(output)
        if declared.shape == shape:
            self.add_node(op, inputs, output)
            return
        result = self.value_like(f"{output}/view", declared, shape)
        self.add_node(op, inputs, result)
        self.add_node(Reshape(declared.shape), (result,), output)

    def _require_valid(self, op: Op, inputs: Sequence[str | None], output: str) -> None:
        self._check_order(inputs, output)
        out_type = self.tensor(output)
        violation = self.draft.violation(op, inputs, out_type)
        if violation is not None:
            raise self.fail(violation, SEE_OPS)
        ((dtype, shape),) = op.infer(self.draft.types_of(inputs))
        if (dtype, shape) != (out_type.dtype.value, out_type.shape):
            raise self.fail(
                f"it computes {dtype}{list(shape)}, "
                f"the file declares {out_type.dtype.value}{list(out_type.shape)}",
                "models need static shapes: convert with a fixed input shape",
            )
        self.draft.made.add(output)

    def _check_order(self, inputs: Sequence[str | None], output: str) -> None:
        draft = self.draft
        for name in inputs:
            if name in draft.without_rows:
                raise self.fail(f'it reads "{name}", an empty list', FOR_RECURRENT_LAYERS)
            if name is not None and name not in draft.made:
                raise self.fail(
                    f'it reads "{name}", which no earlier operator, input or constant provides',
                    "operators must be stored in the order in which they run",
                )
        if output in draft.made:
            raise self.fail(f'it writes "{output}", which is already an input, a constant or a result')


Importer = Callable[[TfliteOperator], None]


# Attributes of custom operators: a FlexBuffer map by name. Damaged maps are reported.


_CORRUPTED = "the file looks corrupted: get or convert it again"


def custom_options(node: TfliteOperator) -> Mapping[str, Any]:
    """Returns the map; empty if the operator has no options."""
    table = node.table
    if not table.CustomOptionsLength():
        return {}
    try:
        found = flexbuffers.Loads(bytearray(table.CustomOptionsAsNumpy().tobytes()))
    except Exception as error:  # a damaged file may raise anything
        raise node.fail(f"its options cannot be read: {error}", _CORRUPTED) from None
    return found if isinstance(found, dict) else {}


def whole_options(node: TfliteOperator, *names: str) -> tuple[int, ...]:
    """Returns attributes that must be present and integers from 0 on."""
    known = custom_options(node)
    bad = [name for name in names if not isinstance(known.get(name), int) or not 0 <= known[name] < 2**31]
    if bad:
        raise node.fail(f"its options {', '.join(bad)} must be whole numbers, 0 or more", _CORRUPTED)
    return tuple(int(known[name]) for name in names)
