"""RNNs without gates: of one step, of a sequence, and of both directions; states persist between runs."""

from __future__ import annotations

import tflite

from aot.frontend.tflite.importers.lstm import Layer
from aot.frontend.tflite.operation import Importer, TfliteOperator
from aot.ir.types import DType
from aot.ops.recurrent import Cell, Recurrent

_WEIGHTS, _HIDDEN_WEIGHTS, _BIAS, _HIDDEN = range(4)  # of one direction, after its first input
_FORWARD, _BACKWARD = 1, 5
_AUXILIARY = range(9, 12)


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
    if any(node.optional_operand(number) is not None for number in _AUXILIARY):
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
