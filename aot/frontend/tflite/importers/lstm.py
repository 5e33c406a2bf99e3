"""UNIDIRECTIONAL_SEQUENCE_LSTM in the plain form that TFLite Micro runs; states persist between runs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import tflite

from aot.frontend.tflite.draft import Importer, TfliteDraft, TfliteOperator
from aot.frontend.tflite.importers import attributes as read
from aot.ir.strides import dense_strides
from aot.ir.types import Array, DType, Quant, TensorType
from aot.ops.conv2d import Conv2d
from aot.ops.convert import Convert
from aot.ops.integer_lstm import GATE_QUANT
from aot.ops.op import Op
from aot.ops.rearrange import Rearrange
from aot.ops.recurrent import Cell, Recurrent
from aot.ops.reshape import Reshape
from aot.ops.rounding import HIDDEN_NARROW, rounding_of

_INPUT_WEIGHTS, _HIDDEN_WEIGHTS, _BIASES = 1, 5, 12  # the first of four: input, forget, cell, output gate
_OUR_ORDER = (0, 3, 1, 2)
_HIDDEN, _CELL = 18, 19
_OTHERS = (9, 10, 11, 16, 17, 20, 21, 22, 23)  # peepholes, projection, layer normalization


def import_lstm(draft: TfliteDraft, operator: TfliteOperator) -> None:
    options = operator.options(tflite.UnidirectionalSequenceLSTMOptions)
    _refuse_other_forms(operator, options)
    x = read.operand(operator, 0, "the sequence")
    first, second, depth = read.with_rank(draft, operator, x, 3).shape
    layer = _Layer(draft, operator, bool(options.TimeMajor()))
    steps, count = (first, second) if layer.is_time_major else (second, first)
    gates = layer.from_input(layer.image(x, steps, count, depth))
    hidden, cell = (layer.state(number) for number in (_HIDDEN, _CELL))
    weights = layer.joined(_HIDDEN_WEIGHTS, "r")
    narrow = "i16" if draft.types[hidden].dtype is DType.I16 else HIDDEN_NARROW
    op = Recurrent(
        Cell.LSTM,
        gives_cell=True,
        cell_clip=float(options.CellClip()),
        rounding=rounding_of(Recurrent.name, draft.rounding, narrow),
    )
    made = layer.made(op, (gates, weights, None, None, hidden, cell), "steps", draft.types[hidden].quant)
    units = draft.types[made].shape[3] // 2
    last = layer.picked(made, (1, 1, count, 2 * units), (steps - 1) * count * 2 * units)
    for number, state in enumerate((hidden, cell)):
        part = layer.picked(last, (1, 1, count, units), number * units)
        draft.keep_state(state, layer.like(part, draft.types[state]))
    layer.deliver(layer.picked(made, (1, steps, count, units), 0))


@dataclass(frozen=True)
class _Layer:
    """The operator, and the parts that its nodes share."""

    draft: TfliteDraft
    operator: TfliteOperator
    is_time_major: bool

    def made(self, op: Op, inputs: tuple[str | None, ...], name_hint: str, quant: Quant | None) -> str:
        """Adds a node and returns its result."""
        ((dtype, shape),) = op.infer(self.draft.types_of(inputs))
        name = self.draft.add_value(
            f"{self.operator.label}/{name_hint}", TensorType(DType(dtype), shape, quant)
        )
        self.draft.add_node(self.operator, op, inputs, name)
        return name

    def image(self, x: str, steps: int, count: int, depth: int) -> str:
        """Returns the sequences as [1, steps, sequences, inputs]."""
        shape = (1, steps, count, depth)
        if self.is_time_major or count == 1:
            return read.reshaped(self.draft, self.operator, x, shape)
        return self._turned(read.reshaped(self.draft, self.operator, x, (1, count, steps, depth)))

    def _turned(self, image: str) -> str:
        """Exchanges rows and columns."""
        tensor = self.draft.types[image]
        n, rows, columns, channels = tensor.shape
        before, down, along, deep = dense_strides(tensor.shape)
        shape = (n, columns, rows, channels)
        op = Rearrange(shape, shape, (before, along, down, deep))
        return self.made(op, (image,), "turned", tensor.quant)

    def from_input(self, image: str) -> str:
        """Returns the input's part of the gates of each step."""
        types, known = self.draft.types, self.draft.constants
        weights, bias = self.joined(_INPUT_WEIGHTS, "w"), self.joined(_BIASES, "b")
        kind, data = types[weights], known[weights]
        rows, depth = kind.shape
        filters = self.draft.add_value(
            f"{self.operator.label}/filters",
            replace(kind, shape=(rows, 1, 1, depth)),
            data.reshape(rows, 1, 1, depth),
        )
        dtype = types[image].dtype
        if dtype is DType.F32:
            return self.made(Conv2d(), (image, filters, bias), "gates", None)
        rounding = rounding_of(Conv2d.name, self.draft.rounding, dtype.value)
        op = Conv2d(rounding=rounding, result=DType.I16)
        return self.made(op, (image, filters, bias), "gates", GATE_QUANT)

    def joined(self, first: int, what: str) -> str:
        """Returns the constants of the four gates as one, with a scale for each row."""
        draft, operator = self.draft, self.operator
        names = [read.constant(draft, operator, first + gate, "weights") for gate in range(len(_OUR_ORDER))]
        arrays = [draft.constants[name] for name in names]
        if len({(array.shape, array.dtype) for array in arrays}) != 1:
            found = ", ".join(f"{array.dtype}{list(array.shape)}" for array in arrays)
            raise operator.fail(f"its gates have weights of different shapes or types: {found}")
        types = [draft.types[names[gate]] for gate in _OUR_ORDER]
        data: Array = np.concatenate([arrays[gate] for gate in _OUR_ORDER])
        tensor = TensorType(types[0].dtype, data.shape, _quant(types) if data.ndim == 2 else None)
        return draft.add_value(f"{operator.label}/{what}", tensor, data)

    def state(self, number: int) -> str:
        name = read.operand(self.operator, number, "a state")
        return self.draft.add_state(name, (1, self.draft.types[name].elements))

    def picked(self, image: str, shape: tuple[int, int, int, int], first: int) -> str:
        """Returns a part of an image."""
        tensor = self.draft.types[image]
        if tensor.shape == shape:
            return image
        return self.made(
            Rearrange(shape, shape, dense_strides(tensor.shape), first), (image,), "part", tensor.quant
        )

    def like(self, image: str, wanted: TensorType) -> str:
        """Returns the same numbers in that type and shape."""
        stored = self.draft.types[image]
        if stored.dtype is not wanted.dtype:
            image = self.made(Convert(wanted.dtype), (image,), "narrow", wanted.quant)
        return read.reshaped(self.draft, self.operator, image, wanted.shape)

    def deliver(self, hidden: str) -> None:
        """Sets the result to the hidden values, in the file's order."""
        output = read.the_output(self.operator)
        wanted, (_, _, count, _) = self.draft.types[output], self.draft.types[hidden].shape
        narrow = self.like(hidden, replace(wanted, shape=self.draft.types[hidden].shape))
        turned = narrow if self.is_time_major or count == 1 else self._turned(narrow)
        self.draft.add_node(self.operator, Reshape(wanted.shape), (turned,), output)


def _quant(types: list[TensorType]) -> Quant | None:
    quants = [t.quant for t in types]
    if any(q is None or q.is_per_channel or q.zero_point for q in quants):
        return None
    scales = tuple(
        q.scale for q, t in zip(quants, types, strict=True) if q is not None for _ in range(t.shape[0])
    )
    return Quant(scales, (0,) * len(scales), 0)


def _refuse_other_forms(operator: TfliteOperator, options: tflite.UnidirectionalSequenceLSTMOptions) -> None:
    hint = "convert a Keras LSTM layer with its default options"
    if any(read.optional_operand(operator, n) is not None for n in _OTHERS):
        raise operator.fail("peepholes, projections and layer normalization are not supported", hint)
    if options.FusedActivationFunction() != tflite.ActivationFunctionType.TANH:
        raise operator.fail("an activation other than tanh is not supported", hint)


LSTM: dict[str, Importer] = {"UNIDIRECTIONAL_SEQUENCE_LSTM": import_lstm}
