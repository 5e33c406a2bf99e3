"""RNNs without gates: of one step, of a sequence, and of both directions; states persist between runs."""

from __future__ import annotations

import tflite

from aot.frontend.tflite.draft import Importer, TfliteDraft, TfliteOperator
from aot.frontend.tflite.importers import attributes as read
from aot.frontend.tflite.importers.lstm import Layer
from aot.ir.types import DType
from aot.ops.recurrent import Cell, Recurrent

_WEIGHTS, _HIDDEN_WEIGHTS, _BIAS, _HIDDEN = range(4)  # of one direction, after its first input
_FORWARD, _BACKWARD = 1, 5
_AUXILIARY = range(9, 12)


def _import_sequence(draft: TfliteDraft, operator: TfliteOperator) -> None:
    options = operator.options(tflite.SequenceRNNOptions)
    layer = Layer(draft, operator, bool(options.TimeMajor()))
    made = _rnn(layer, _FORWARD, layer.sequence(), options.FusedActivationFunction())
    layer.deliver(made, read.the_output(operator))


def _import_step(draft: TfliteDraft, operator: TfliteOperator) -> None:
    layer = Layer(draft, operator, is_time_major=True)
    number = operator.options(tflite.RNNOptions).FusedActivationFunction()
    layer.deliver(_rnn(layer, _FORWARD, layer.one_step(), number), read.the_output(operator))


def _import_both_ways(draft: TfliteDraft, operator: TfliteOperator) -> None:
    options = operator.options(tflite.BidirectionalSequenceRNNOptions)
    if any(read.optional_operand(operator, number) is not None for number in _AUXILIARY):
        raise operator.fail("an auxiliary input is not supported", "join it with the first input")
    layer, number = Layer(draft, operator, bool(options.TimeMajor())), options.FusedActivationFunction()
    x = layer.sequence()
    back = layer.reversed(_rnn(layer, _BACKWARD, layer.reversed(x), number))
    layer.deliver_ways([_rnn(layer, _FORWARD, x, number), back], bool(options.MergeOutputs()))


def _rnn(layer: Layer, first: int, x: str, activation: int) -> str:
    """Returns the hidden values of one direction, [1, steps, sequences, units]."""
    draft, operator = layer.draft, layer.operator
    if draft.types[x].dtype is not DType.F32:
        raise operator.fail("it is supported for f32 only", "convert this layer as float")
    weights, hidden_weights, bias = (
        layer.constant(layer.named(first + number, what), layer.values(first + number, what))
        for number, what in ((_WEIGHTS, "weights"), (_HIDDEN_WEIGHTS, "hidden weights"), (_BIAS, "bias"))
    )
    name, alpha = layer.activation(activation)
    hidden = layer.state(first + _HIDDEN)
    op = Recurrent(Cell.RNN, activations=(name,), alphas=(alpha,), betas=(0.0,))
    gates = layer.from_input(x, weights, bias)
    made = layer.made(op, (gates, hidden_weights, None, None, hidden), "steps", None)
    _, steps, count, units = draft.types[made].shape
    last = layer.picked(made, (1, 1, count, units), (steps - 1) * count * units)
    draft.keep_state(hidden, layer.like(last, draft.types[hidden]))
    return made


RNN: dict[str, Importer] = {
    "BIDIRECTIONAL_SEQUENCE_RNN": _import_both_ways,
    "RNN": _import_step,
    "UNIDIRECTIONAL_SEQUENCE_RNN": _import_sequence,
}
