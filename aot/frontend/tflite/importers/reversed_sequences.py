"""REVERSE_SEQUENCE: reverses the start of each sequence, with constant lengths."""

from __future__ import annotations

from math import prod

import numpy as np
import tflite

from aot.frontend.tflite.importers.gathering import gathered
from aot.frontend.tflite.importers.rearranging import rearrange
from aot.frontend.tflite.operation import Importer, TfliteOperator
from aot.ir.types import Array, dense_strides
from aot.ops.rearrange import Loops


def _import_reverse_sequence(node: TfliteOperator) -> None:
    """Selects along time if all lengths are equal; otherwise selects rows of batch and time, flattened."""
    options = node.options(tflite.ReverseSequenceOptions)
    x, output = node.operand(0, "the data"), node.the_output
    shape = node.tensor(x).shape
    time, batch = (node.axis(n, len(shape)) for n in (options.SeqDim(), options.BatchDim()))
    lengths = node.integers(1, "lengths of the sequences")
    if time == batch or len(lengths) != shape[batch] or not all(0 <= n <= shape[time] for n in lengths):
        raise node.fail(
            f"lengths {list(lengths)} do not fit dimensions {batch} and {time} of shape {list(shape)}",
            "the file looks corrupted: get or convert it again",
        )
    if len(set(lengths)) == 1:
        gathered(node, x, {time: _places(lengths[0], shape[time])}, output)
        return
    order = (batch, time, *(axis for axis in range(len(shape)) if axis not in (batch, time)))
    front = tuple(shape[axis] for axis in order)
    rows = (shape[batch] * shape[time], prod(front[2:]))
    places = [number * shape[time] + _places(n, shape[time]) for number, n in enumerate(lengths)]
    moved = node.value_like(f"{output}/front", node.tensor(x), front)
    picked = node.value_like(f"{output}/rows", node.tensor(x), rows)
    strides = dense_strides(shape)
    rearrange(node, x, Loops(front, tuple(strides[axis] for axis in order)), moved)
    flat = node.reshaped(moved, rows)
    gathered(node, flat, {0: np.concatenate(places)}, picked)
    steps = dense_strides(front)
    back = Loops(shape, tuple(steps[order.index(axis)] for axis in range(len(shape))))
    rearrange(node, picked, back, output)


def _places(length: int, size: int) -> Array:
    """Returns the positions of a sequence whose first elements are reversed."""
    return np.concatenate((np.arange(length)[::-1], np.arange(length, size)))


REVERSED_SEQUENCES: dict[str, Importer] = {"REVERSE_SEQUENCE": _import_reverse_sequence}
