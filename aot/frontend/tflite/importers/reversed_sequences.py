"""REVERSE_SEQUENCE: reverses the start of each sequence, with constant lengths."""

from __future__ import annotations

from math import prod

import numpy as np
import tflite

from aot.frontend.tflite.draft import Importer, TfliteDraft, TfliteOperator
from aot.frontend.tflite.importers import attributes as read
from aot.frontend.tflite.importers.gathering import gathered
from aot.frontend.tflite.importers.rearranging import rearrange
from aot.ir.strides import dense_strides
from aot.ir.types import Array
from aot.ops.rearrange import Loops


def _import_reverse_sequence(draft: TfliteDraft, operator: TfliteOperator) -> None:
    """Selects along time if all lengths are equal; otherwise selects rows of batch and time, flattened."""
    options = operator.options(tflite.ReverseSequenceOptions)
    x, output = read.operand(operator, 0, "the data"), read.the_output(operator)
    shape = draft.types[x].shape
    time, batch = (read.axis(operator, n, len(shape)) for n in (options.SeqDim(), options.BatchDim()))
    lengths = read.integers(draft, operator, 1, "lengths of the sequences")
    if time == batch or len(lengths) != shape[batch] or not all(0 <= n <= shape[time] for n in lengths):
        raise operator.fail(
            f"lengths {list(lengths)} do not fit dimensions {batch} and {time} of shape {list(shape)}",
            "the file looks corrupted: get or convert it again",
        )
    if len(set(lengths)) == 1:
        gathered(draft, operator, x, {time: _places(lengths[0], shape[time])}, output)
        return
    order = (batch, time, *(axis for axis in range(len(shape)) if axis not in (batch, time)))
    front = tuple(shape[axis] for axis in order)
    rows = (shape[batch] * shape[time], prod(front[2:]))
    places = [number * shape[time] + _places(n, shape[time]) for number, n in enumerate(lengths)]
    moved = read.value_like(draft, f"{output}/front", draft.types[x], front)
    picked = read.value_like(draft, f"{output}/rows", draft.types[x], rows)
    strides = dense_strides(shape)
    rearrange(draft, operator, x, Loops(front, tuple(strides[axis] for axis in order)), moved)
    flat = read.reshaped(draft, operator, moved, rows)
    gathered(draft, operator, flat, {0: np.concatenate(places)}, picked)
    steps = dense_strides(front)
    back = Loops(shape, tuple(steps[order.index(axis)] for axis in range(len(shape))))
    rearrange(draft, operator, picked, back, output)


def _places(length: int, size: int) -> Array:
    """Returns the positions of a sequence whose first elements are reversed."""
    return np.concatenate((np.arange(length)[::-1], np.arange(length, size)))


REVERSED_SEQUENCES: dict[str, Importer] = {"REVERSE_SEQUENCE": _import_reverse_sequence}
