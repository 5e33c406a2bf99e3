"""Sequences of tensors and optional values: resolved while the file is read; the graph has neither."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from aot.frontend.onnx.draft import AbsentValue, Item, TensorSequence, Value
from aot.frontend.onnx.importers.moving import concatenated, sliced
from aot.frontend.onnx.operation import Importer, OnnxOperator


def _has_element(node: OnnxOperator) -> Value:
    return node.number(node.has(0), TensorProto.BOOL)


def _element(node: OnnxOperator) -> Item:
    if not node.has(0):
        raise node.fail("it reads an optional value that is absent", "check OptionalHasElement first")
    return node.item(0)


def _optional(node: OnnxOperator) -> Item:
    return node.item(0) if node.has(0) else AbsentValue()


_MOST_PARTS = 4096  # of one tensor


def _construct(node: OnnxOperator) -> TensorSequence:
    return TensorSequence(tuple(node.operand(i) for i in range(len(node.operands))))


def _empty(node: OnnxOperator) -> TensorSequence:
    return TensorSequence(())


def _length(node: OnnxOperator) -> Value:
    return node.number(len(node.sequence(0).values), TensorProto.INT64)


def _at(node: OnnxOperator) -> Value:
    values = node.sequence(0).values
    return values[_position(node, 1, len(values))]


def _insert(node: OnnxOperator) -> TensorSequence:
    values = node.sequence(0).values
    place = _position(node, 2, len(values), is_between=True) if node.has(2) else len(values)
    return TensorSequence((*values[:place], node.operand(1), *values[place:]))


def _erase(node: OnnxOperator) -> TensorSequence:
    values = node.sequence(0).values
    place = _position(node, 1, len(values)) if node.has(1) else _within(node, len(values) - 1, len(values))
    return TensorSequence((*values[:place], *values[place + 1 :]))


def _position(node: OnnxOperator, operand: int, length: int, is_between: bool = False) -> int:
    """Returns a position; negative ones count from the end. There is one more position between tensors."""
    number = int(node.known_scalar(operand, "position"))
    return _within(node, number + length if number < 0 else number, length + is_between)


def _within(node: OnnxOperator, place: int, places: int) -> int:
    if not 0 <= place < places:
        raise node.fail(f"position {place} does not exist in a sequence of {places}")
    return place


def _split(node: OnnxOperator) -> TensorSequence:
    """Splits into parts of one size, the last perhaps smaller, of given sizes, or of size one."""
    x = node.operand(0)
    axis = node.axis(node.integer("axis", 0), len(x.order))
    parts = _parts(node, node.shape(x)[axis])
    begins = [sum(parts[:i]) for i in range(len(parts))]
    values = [sliced(node, x, {axis: range(b, b + p)}) for b, p in zip(begins, parts, strict=True)]
    if node.has(1) or node.integer("keepdims", 1):
        return TensorSequence(tuple(values))
    place = node.number([axis], TensorProto.INT64)
    return TensorSequence(tuple(node.do("Squeeze", value, place) for value in values))


def _parts(node: OnnxOperator, size: int) -> tuple[int, ...]:
    given = node.known(1, "split") if node.has(1) else np.asarray(1)
    parts = tuple(int(part) for part in given.reshape(-1))
    if given.ndim == 0:
        each = parts[0]
        if each < 1 or size > each * _MOST_PARTS:
            raise node.fail(f"{size} in parts of {each} is not supported, the limit is {_MOST_PARTS} parts")
        return tuple(min(each, size - begin) for begin in range(0, size, each))
    if sum(parts) != size or min(parts) < 0:
        raise node.fail(f"parts {list(parts)} do not make {size}")
    return parts


def _concatenated(node: OnnxOperator) -> Value:
    values, axis = list(node.sequence(0).values), node.integer("axis")
    if not values:
        raise node.fail("it joins no tensors, the sequence is empty")
    if node.integer("new_axis", 0):
        axis = node.axis(axis, len(values[0].order) + 1)
        place = node.number([axis], TensorProto.INT64)
        values = [node.do("Unsqueeze", value, place) for value in values]
    return concatenated(node, values, axis)


SEQUENCES: dict[str, Importer] = {
    "ConcatFromSequence": _concatenated,
    "Optional": _optional,
    "OptionalGetElement": _element,
    "OptionalHasElement": _has_element,
    "SequenceAt": _at,
    "SequenceConstruct": _construct,
    "SequenceEmpty": _empty,
    "SequenceErase": _erase,
    "SequenceInsert": _insert,
    "SequenceLength": _length,
    "SplitToSequence": _split,
}
