"""LSTM and RNN layers, in one direction or two."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import tflite

from aot.frontend.tflite.importers.gathering import gathered
from aot.frontend.tflite.operation import Importer, TfliteOperator
from aot.ir.types import Array, DType, Quant, TensorType, dense_strides
from aot.ops.concat import Concat
from aot.ops.conv2d import Conv2d
from aot.ops.convert import Convert
from aot.ops.integer_lstm import GATE_QUANT
from aot.ops.op import Op
from aot.ops.rearrange import Rearrange
from aot.ops.recurrent import Cell, Recurrent
from aot.ops.reshape import Reshape
from aot.ops.rounding import HIDDEN_NARROW, rounding_of

_OUR_ORDER = (0, 3, 1, 2)  # of the file's gates: input, forget, cell, output
FROM_INTEGERS = "/floats"
_INPUT, _FORGET, _OUTPUT = 0, 1, 2  # peepholes in the file's order
_NORMALIZATION = (20, 21, 22, 23)
_AUXILIARY = range(39, 48)  # a second input and its weights


@dataclass(frozen=True)
class _Inputs:
    """The numbers of one direction's inputs; the first of each gate."""

    weights: int = 1
    hidden_weights: int = 5
    peepholes: int = 9
    biases: int = 12
    projection: int = 16
    hidden: int = 18
    cell: int = 19


_ONE_WAY = _Inputs()
_BOTH_WAYS = (_Inputs(hidden=35, cell=36), _Inputs(18, 22, 26, 29, 33, 37, 38))


def import_sequence(node: TfliteOperator) -> None:
    options = node.options(tflite.UnidirectionalSequenceLSTMOptions)
    _refuse(node, _NORMALIZATION, "layer normalization")
    layer = Layer(node, bool(options.TimeMajor()))
    layer.deliver(_lstm(layer, _ONE_WAY, layer.sequence(), options), node.the_output)


def import_step(node: TfliteOperator) -> None:
    """Imports LSTM, which computes one step of each sequence."""
    options = node.options(tflite.LSTMOptions)
    if options.KernelType() != tflite.LSTMKernelType.FULL:
        raise node.fail("the kernel BASIC is not supported", "convert the model with a newer TensorFlow")
    _refuse(node, _NORMALIZATION, "layer normalization")
    layer = Layer(node, is_time_major=True)
    layer.deliver(_lstm(layer, _ONE_WAY, layer.one_step(), options), node.the_output)


def import_both_ways(node: TfliteOperator) -> None:
    options = node.options(tflite.BidirectionalSequenceLSTMOptions)
    _refuse(node, _AUXILIARY, "an auxiliary input")
    layer = Layer(node, bool(options.TimeMajor()))
    x = layer.sequence()
    forward, backward = _BOTH_WAYS
    made = [_lstm(layer, forward, x, options)]
    made.append(layer.reversed(_lstm(layer, backward, layer.reversed(x), options)))
    layer.deliver_ways(made, bool(options.MergeOutputs()))


_Options: TypeAlias = (
    tflite.UnidirectionalSequenceLSTMOptions | tflite.LSTMOptions | tflite.BidirectionalSequenceLSTMOptions
)


def _lstm(layer: Layer, at: _Inputs, x: str, options: _Options) -> str:
    """Returns the hidden values of one direction, [1, steps, sequences, units]."""
    node = layer.node
    activation = layer.activation(options.FusedActivationFunction())
    _require_plain_integers(layer, at, x, activation)
    tied = node.optional_operand(at.weights) is None
    gates = layer.from_input(x, layer.joined(at.weights, "w", tied), layer.joined(at.biases, "b", tied))
    weights, projection = layer.joined(at.hidden_weights, "r", tied), _projection(layer, at, options)
    cell = layer.state(at.cell)
    hidden = layer.state(at.hidden) if projection is None else layer.own_state(cell)
    if projection is not None:
        weights = layer.through(weights, projection)
    narrow = "i16" if node.tensor(hidden).dtype is DType.I16 else HIDDEN_NARROW
    kind, alpha = activation
    op = Recurrent(
        Cell.LSTM,
        gives_cell=True,
        cell_clip=float(options.CellClip()),
        rounding=rounding_of(Recurrent.name, node.draft.rounding, narrow),
        activations=() if kind == "tanh" else ("sigmoid", kind, kind),
        alphas=() if kind == "tanh" else (0.0, alpha, alpha),
        betas=() if kind == "tanh" else (0.0, 0.0, 0.0),
        input_forget=tied,
    )
    inputs = (gates, weights, None, _peepholes(layer, at, tied), hidden, cell)
    made = layer.made(op, inputs, "steps", node.tensor(hidden).quant)
    _, steps, count, both = node.tensor(made).shape
    units = both // 2
    last = layer.picked(made, (1, 1, count, both), (steps - 1) * count * both)
    for number, state in enumerate((hidden, cell)):
        part = layer.picked(last, (1, 1, count, units), number * units)
        node.draft.keep_state(state, layer.like(part, node.tensor(state)))
    result = layer.picked(made, (1, steps, count, units), 0)
    return result if projection is None else layer.from_input(result, projection, None)


def _projection(layer: Layer, at: _Inputs, options: _Options) -> str | None:
    """Returns the weights of the projection, or None. The next step's gates use their product with these."""
    node = layer.node
    if node.optional_operand(at.projection) is None:
        return None
    if options.ProjClip():
        raise node.fail("a clipped projection is not supported")
    bias = at.projection + 1
    if node.optional_operand(bias) is not None and layer.values(bias, "bias").any():
        raise node.fail("the bias of a projection is not supported", "add the bias after the layer")
    return layer.constant("projection", layer.values(at.projection, "projection"))


def _peepholes(layer: Layer, at: _Inputs, tied: bool) -> str | None:
    """Returns the peepholes of the input, output and forget gate as one vector, or None."""
    numbers = [at.peepholes + gate for gate in (_FORGET, _OUTPUT)]
    if all(layer.node.optional_operand(number) is None for number in numbers):
        return None
    forget, output = (layer.values(number, "peepholes") for number in numbers)
    first = np.negative(forget) if tied else layer.values(at.peepholes + _INPUT, "peepholes")
    if len({each.shape for each in (first, output, forget)}) != 1:
        raise layer.node.fail("its peepholes have different sizes")
    return layer.constant("p", np.concatenate([first, output, forget]).reshape(1, -1))


def _require_plain_integers(layer: Layer, at: _Inputs, x: str, activation: tuple[str, float]) -> None:
    """Raises ModelError if integers have a part that only floats may have."""
    if layer.node.tensor(x).dtype is DType.F32:
        return
    numbers = (*range(at.peepholes, at.peepholes + 3), at.projection, at.projection + 1)
    has_more = any(layer.node.optional_operand(number) is not None for number in numbers)
    if has_more or activation[0] != "tanh" or layer.node.optional_operand(at.weights) is None:
        raise layer.node.fail(
            "integers with peepholes, a projection, tied gates or another activation are not supported",
            "convert this layer as float, or a Keras LSTM layer with its default options",
        )


def _refuse(node: TfliteOperator, numbers: Iterable[int], what: str) -> None:
    if any(node.optional_operand(n) is not None for n in numbers):
        raise node.fail(f"{what} is not supported", "convert a Keras layer with its default options")


@dataclass(frozen=True)
class Layer:
    """The operator, and the parts that its nodes share."""

    node: TfliteOperator
    is_time_major: bool

    def sequence(self) -> str:
        """Returns the operator's input as [1, steps, sequences, inputs]."""
        x = self.node.operand(0, "the sequence")
        first, second, depth = self.node.with_rank(x, 3).shape
        return self.image(x, *((first, second) if self.is_time_major else (second, first)), depth)

    def one_step(self) -> str:
        """Returns the operator's input, a row of each sequence, as [1, 1, sequences, inputs]."""
        x = self.node.operand(0, "the data")
        count, depth = self.node.with_rank(x, 2).shape
        return self.image(x, 1, count, depth)

    def activation(self, number: int) -> tuple[str, float]:
        """Returns the name of an activation, and its factor."""
        known = {
            tflite.ActivationFunctionType.NONE: ("affine", 1.0),
            tflite.ActivationFunctionType.RELU: ("relu", 0.0),
            tflite.ActivationFunctionType.TANH: ("tanh", 0.0),
        }
        if number not in known:
            name = {3: "RELU6", 2: "RELU_N1_TO_1"}.get(number, f"number {number}")
            raise self.node.fail(f"activation {name} is not supported", "supported: NONE, RELU, TANH")
        return known[number]

    def values(self, number: int, what: str) -> Array:
        """Returns a constant input as float; integers are multiplied by their scales."""
        return self.node.array(self.node.as_floats(self.node.constant(number, what)))

    def named(self, number: int, what: str) -> str:
        """Returns the name for weights; that of integers which become float ends with FROM_INTEGERS."""
        stored = self.node.tensor(self.node.constant(number, "weights"))
        return what if stored.dtype is DType.F32 else what + FROM_INTEGERS

    def constant(self, what: str, array: Array) -> str:
        tensor = TensorType(DType.F32, array.shape)
        return self.node.add_value(f"{self.node.label}/{what}", tensor, array.astype(np.float32))

    def reversed(self, image: str) -> str:
        """Returns the steps in reverse order."""
        tensor = self.node.tensor(image)
        if tensor.shape[1] == 1:
            return image
        made = self.node.value_like(f"{self.node.label}/reversed", tensor, tensor.shape)
        gathered(self.node, image, {1: np.arange(tensor.shape[1])[::-1]}, made)
        return made

    def through(self, weights: str, projection: str) -> str:
        """Returns the hidden weights for values before the projection: both are linear."""
        of_gates, projected = self.node.array(weights), self.node.array(projection)
        if of_gates.ndim != 2 or projected.ndim != 2 or of_gates.shape[1] != projected.shape[0]:
            raise self.node.fail(
                f"its projection {list(projected.shape)} does not fit weights {list(of_gates.shape)}"
            )
        return self.constant("r", of_gates.astype(np.float64) @ projected.astype(np.float64))

    def made(self, op: Op, inputs: tuple[str | None, ...], name_hint: str, quant: Quant | None) -> str:
        """Adds a node and returns its result."""
        ((dtype, shape),) = op.infer(self.node.draft.types_of(inputs))
        name = self.node.add_value(f"{self.node.label}/{name_hint}", TensorType(DType(dtype), shape, quant))
        self.node.add_node(op, inputs, name)
        return name

    def image(self, x: str, steps: int, count: int, depth: int) -> str:
        """Returns the sequences as [1, steps, sequences, inputs]."""
        shape = (1, steps, count, depth)
        if self.is_time_major or count == 1:
            return self.node.reshaped(x, shape)
        return self._turned(self.node.reshaped(x, (1, count, steps, depth)))

    def _turned(self, image: str) -> str:
        """Exchanges rows and columns."""
        tensor = self.node.tensor(image)
        n, rows, columns, channels = tensor.shape
        before, down, along, deep = dense_strides(tensor.shape)
        shape = (n, columns, rows, channels)
        op = Rearrange(shape, shape, (before, along, down, deep))
        return self.made(op, (image,), "turned", tensor.quant)

    def from_input(self, image: str, weights: str, bias: str | None) -> str:
        """Returns the product of each row with the weights: the input's part of the gates of each step."""
        types, known = self.node.draft.types, self.node.draft.constants
        kind, data = types[weights], known[weights]
        if kind.rank != 2 or kind.shape[1] != types[image].shape[3]:
            raise self.node.fail(
                f"its weights {list(kind.shape)} do not fit rows of {types[image].shape[3]} elements"
            )
        rows, depth = kind.shape
        filters = self.node.add_value(
            f"{self.node.label}/filters",
            replace(kind, shape=(rows, 1, 1, depth)),
            data.reshape(rows, 1, 1, depth),
        )
        dtype = types[image].dtype
        if dtype is DType.F32:
            return self.made(Conv2d(), (image, filters, bias), "gates", None)
        rounding = rounding_of(Conv2d.name, self.node.draft.rounding, dtype.value)
        op = Conv2d(rounding=rounding, result=DType.I16)
        return self.made(op, (image, filters, bias), "gates", GATE_QUANT)

    def joined(self, first: int, what: str, tied: bool = False) -> str:
        """Returns the constants of the four gates as one, with a scale for each row.

        With `tied` gates, the input gate is 1 minus the forget gate: the same sum with the other sign.
        """
        node = self.node
        numbers = [first + gate for gate in range(len(_OUR_ORDER))]
        names = [node.constant(number, "weights") for number in numbers[tied:]]
        arrays = [node.array(name) for name in names]
        if len({(array.shape, array.dtype) for array in arrays}) != 1:
            found = ", ".join(f"{array.dtype}{list(array.shape)}" for array in arrays)
            raise node.fail(f"its gates have weights of different shapes or types: {found}")
        if node.tensor(node.operand(0, "the data")).dtype is DType.F32:
            arrays = [self.values(number, "weights") for number in numbers[tied:]]
            arrays = [np.negative(arrays[0]), *arrays] if tied else arrays
            names = [self.constant("gate", array) for array in arrays]
            what = self.named(numbers[-1], what)
        types = [node.tensor(names[gate]) for gate in _OUR_ORDER]
        data: Array = np.concatenate([arrays[gate] for gate in _OUR_ORDER])
        tensor = TensorType(types[0].dtype, data.shape, _quant(types) if data.ndim == 2 else None)
        return node.add_value(f"{node.label}/{what}", tensor, data)

    def state(self, number: int) -> str:
        name = self.node.operand(number, "a state")
        return self.node.draft.add_state(name, (1, self.node.tensor(name).elements))

    def own_state(self, like: str) -> str:
        """Adds a state of that type which the file does not have."""
        return self.node.draft.add_state_of(f"{self.node.label}/before", self.node.tensor(like))

    def picked(self, image: str, shape: tuple[int, int, int, int], first: int) -> str:
        """Returns a part of an image."""
        tensor = self.node.tensor(image)
        if tensor.shape == shape:
            return image
        return self.made(
            Rearrange(shape, shape, dense_strides(tensor.shape), first), (image,), "part", tensor.quant
        )

    def like(self, image: str, wanted: TensorType) -> str:
        """Returns the same numbers in that type and shape."""
        stored = self.node.tensor(image)
        if stored.dtype is not wanted.dtype:
            image = self.made(Convert(wanted.dtype), (image,), "narrow", wanted.quant)
        return self.node.reshaped(image, wanted.shape)

    def deliver_ways(self, made: list[str], is_merged: bool) -> None:
        """Sets the results to the hidden values of both directions, joined or one by one."""
        if not is_merged:
            for hidden, output in zip(made, self.node.the_outputs(2), strict=True):
                self.deliver(hidden, output)
            return
        tensor = self.node.tensor(made[0])
        self.deliver(self.made(Concat(3), tuple(made), "both", tensor.quant), self.node.the_output)

    def deliver(self, hidden: str, output: str) -> None:
        """Sets a result to the hidden values, in the file's order."""
        wanted, (_, _, count, _) = self.node.tensor(output), self.node.tensor(hidden).shape
        narrow = self.like(hidden, replace(wanted, shape=self.node.tensor(hidden).shape))
        turned = narrow if self.is_time_major or count == 1 else self._turned(narrow)
        self.node.add_node(Reshape(wanted.shape), (turned,), output)


def _quant(types: list[TensorType]) -> Quant | None:
    quants = [t.quant for t in types]
    if any(q is None or q.is_per_channel or q.zero_point for q in quants):
        return None
    scales = tuple(
        q.scale for q, t in zip(quants, types, strict=True) if q is not None for _ in range(t.shape[0])
    )
    return Quant(scales, (0,) * len(scales), 0)


LSTM: dict[str, Importer] = {
    "BIDIRECTIONAL_SEQUENCE_LSTM": import_both_ways,
    "LSTM": import_step,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": import_sequence,
}


# RNNs without gates: of one step, of a sequence, and of both directions; states persist between runs.


_WEIGHTS, _HIDDEN_WEIGHTS, _BIAS, _HIDDEN = range(4)  # of one direction, after its first input
_FORWARD, _BACKWARD = 1, 5
_RNN_AUXILIARY = range(9, 12)


def _import_sequence(node: TfliteOperator) -> None:
    options = node.options(tflite.SequenceRNNOptions)
    layer = Layer(node, bool(options.TimeMajor()))
    made = _rnn(layer, _FORWARD, layer.sequence(), options.FusedActivationFunction())
    layer.deliver(made, node.the_output)


def _import_step(node: TfliteOperator) -> None:
    layer = Layer(node, is_time_major=True)
    number = node.options(tflite.RNNOptions).FusedActivationFunction()
    layer.deliver(_rnn(layer, _FORWARD, layer.one_step(), number), node.the_output)


def _import_both_ways(node: TfliteOperator) -> None:
    options = node.options(tflite.BidirectionalSequenceRNNOptions)
    if any(node.optional_operand(number) is not None for number in _RNN_AUXILIARY):
        raise node.fail("an auxiliary input is not supported", "join it with the first input")
    layer, number = Layer(node, bool(options.TimeMajor())), options.FusedActivationFunction()
    x = layer.sequence()
    back = layer.reversed(_rnn(layer, _BACKWARD, layer.reversed(x), number))
    layer.deliver_ways([_rnn(layer, _FORWARD, x, number), back], bool(options.MergeOutputs()))


def _rnn(layer: Layer, first: int, x: str, activation: int) -> str:
    """Returns the hidden values of one direction, [1, steps, sequences, units]."""
    node = layer.node
    if node.tensor(x).dtype is not DType.F32:
        raise node.fail("it is supported for f32 only", "convert this layer as float")
    weights, hidden_weights, bias = (
        layer.constant(layer.named(first + number, what), layer.values(first + number, what))
        for number, what in ((_WEIGHTS, "weights"), (_HIDDEN_WEIGHTS, "hidden weights"), (_BIAS, "bias"))
    )
    name, alpha = layer.activation(activation)
    hidden = layer.state(first + _HIDDEN)
    op = Recurrent(Cell.RNN, activations=(name,), alphas=(alpha,), betas=(0.0,))
    gates = layer.from_input(x, weights, bias)
    made = layer.made(op, (gates, hidden_weights, None, None, hidden), "steps", None)
    _, steps, count, units = node.tensor(made).shape
    last = layer.picked(made, (1, 1, count, units), (steps - 1) * count * units)
    node.draft.keep_state(hidden, layer.like(last, node.tensor(hidden)))
    return made


RNN: dict[str, Importer] = {
    "BIDIRECTIONAL_SEQUENCE_RNN": _import_both_ways,
    "RNN": _import_step,
    "UNIDIRECTIONAL_SEQUENCE_RNN": _import_sequence,
}
