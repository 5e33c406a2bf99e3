"""UNIDIRECTIONAL_SEQUENCE_LSTM: the plain form that TFLite Micro runs; its states live from run to run."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import tflite

from aot.frontend.tflite.draft import TfliteDraft, TfliteOperator
from aot.frontend.tflite.importers import attributes as read
from aot.ir.types import Array, DType, Quant, TensorType
from aot.ops.concat import Concat
from aot.ops.convert import Convert
from aot.ops.lstm import GATES, Lstm
from aot.ops.rearrange import Rearrange
from aot.ops.reshape import Reshape
from aot.ops.rounding import rounding_of

_INPUT_WEIGHTS, _HIDDEN_WEIGHTS, _BIASES = 1, 5, 12  # the first of four, in the order of gates
_HIDDEN, _CELL = 18, 19
_OTHERS = (9, 10, 11, 16, 17, 20, 21, 22, 23)  # peepholes, projection, layer normalisation


def import_lstm(draft: TfliteDraft, operator: TfliteOperator) -> None:
    options = operator.options(tflite.UnidirectionalSequenceLSTMOptions)
    _refuse_other_forms(operator, options)
    x = read.operand(operator, 0, "the sequence")
    x_type = read.with_rank(draft, operator, x, 3)
    samples, steps, depth = x_type.shape
    if options.TimeMajor():
        samples, steps = steps, samples
    if options.TimeMajor() and samples > 1:
        raise operator.fail(
            f"{samples} sequences side by side are not supported", "convert with time_major=False"
        )
    weights = _joined(draft, operator, _INPUT_WEIGHTS, "w")
    recurrent = _joined(draft, operator, _HIDDEN_WEIGHTS, "r")
    bias = _joined(draft, operator, _BIASES, "b")
    units = draft.types[recurrent].shape[1]
    rounding = rounding_of(Lstm.name, draft.rounding, "i16" if x_type.dtype is DType.I16 else "i8")
    op = Lstm(steps, float(options.CellClip()), rounding)
    flat = read.reshaped(draft, operator, x, (1, samples * steps * depth))
    parts = []
    for sample in range(samples):
        sequence = _cut(draft, operator, flat, sample * steps * depth, steps * depth)
        parts.append(_one_sequence(draft, operator, op, (sequence, weights, recurrent, bias), units))
    output = read.the_output(operator)
    if samples == 1:
        draft.add_node(operator, Reshape(draft.types[output].shape), parts, output)
    else:
        read.reshaped_result(draft, operator, Concat(1), parts, (1, samples * steps * units))


def _one_sequence(
    draft: TfliteDraft, operator: TfliteOperator, op: Lstm, operands: tuple[str, str, str, str], units: int
) -> str:
    """[1, steps * units]; the last step and the cell are where the next run begins."""
    names = [read.operand(operator, n, "a state") for n in (_HIDDEN, _CELL)]
    hidden, cell = (draft.add_state(name, (1, units)) for name in names)
    sequence, *constants = operands
    ((dtype, shape),) = op.infer([draft.types[n] for n in (sequence, hidden, cell, *constants)])
    made = draft.add_value(
        f"{operator.label}/steps", TensorType(DType(dtype), shape, draft.types[hidden].quant)
    )
    draft.add_node(operator, op, (sequence, hidden, cell, *constants), made)
    results = _cut(draft, operator, made, 0, op.steps * units)
    last = _cut(draft, operator, made, (op.steps - 1) * units, units)
    draft.keep_state(hidden, _narrowed(draft, operator, last, draft.types[hidden]))
    draft.keep_state(cell, _cut(draft, operator, made, op.steps * units, units))
    return _narrowed(draft, operator, results, draft.types[read.the_output(operator)])


def _narrowed(draft: TfliteDraft, operator: TfliteOperator, name: str, like: TensorType) -> str:
    stored = draft.types[name]
    if stored.dtype is like.dtype:
        return name
    narrow = draft.add_value(f"{name}/narrow", replace(like, shape=stored.shape))
    draft.add_node(operator, Convert(like.dtype), (name,), narrow)
    return narrow


def _cut(draft: TfliteDraft, operator: TfliteOperator, name: str, first: int, size: int) -> str:
    if draft.types[name].elements == size:
        return name
    part = read.value_like(draft, f"{name}/part", draft.types[name], (1, size))
    draft.add_node(operator, Rearrange((1, size), (size,), (1,), first), (name,), part)
    return part


def _joined(draft: TfliteDraft, operator: TfliteOperator, first: int, what: str) -> str:
    """The constants of the four gates as one, a scale for each row."""
    names = [read.constant(draft, operator, first + gate, "weights") for gate in range(GATES)]
    arrays = [draft.constants[name] for name in names]
    if len({(array.shape, array.dtype) for array in arrays}) != 1:
        found = ", ".join(f"{array.dtype}{list(array.shape)}" for array in arrays)
        raise operator.fail(f"its gates have weights of different shapes or types: {found}")
    data: Array = np.concatenate(arrays)
    types = [draft.types[name] for name in names]
    tensor = TensorType(types[0].dtype, data.shape, _quant(types) if data.ndim == 2 else None)
    return draft.add_value(f"{operator.label}/{what}", tensor, data)


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
        raise operator.fail("peepholes, projections and layer normalisation are not supported", hint)
    if options.FusedActivationFunction() != tflite.ActivationFunctionType.TANH:
        raise operator.fail("an activation other than tanh is not supported", hint)
