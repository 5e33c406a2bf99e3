"""Encodes a table in bytes as solder_table.c reads it: 32-bit and 16-bit little-endian integers."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from aot.errors import ModelError
from codegen.element_numbers import ELEMENT_NUMBERS
from codegen.model import TensorInfo
from codegen.tables.rule import MOST, Rule
from codegen.tables.table import CONSTANTS_ALIGN, Action, Filling, ModelTable

_HEAD = struct.Struct("<8s9HH3I")
_POINTER, _ACTION, _SEGMENT = struct.Struct("<I4H"), struct.Struct("<4H"), struct.Struct("<4H")
_TENSOR = struct.Struct("<6I8I")
_MOST_RANK, _MOST_TENSORS, _MOST_NAME = 8, 8, 96
_MEMORY_BIT, _MOST_OFFSET = 28, 1 << 28
_FILLS = 0xFFFF  # instead of a kernel's number


def pack_table(table: ModelTable, name: str, model_hash: str) -> bytes:
    """Returns the bytes of a table. Raises ModelError if a number does not fit its field."""
    words = _Strings()
    words.add(name)
    tensors = b"".join(_tensor(each, words) for each in (*table.inputs, *table.outputs))
    actions, pointers, ends = _actions(table)
    kernels = b"".join(bytes.fromhex(each.id)[::-1] for each in table.kernels)
    segments = b"".join(
        _SEGMENT.pack(_half(each.first), _half(each.length), _half(each.times), 0) for each in table.segments
    )
    layers = struct.pack(f"<{len(ends)}H", *ends)
    parts = (kernels, tensors, segments, actions, pointers, layers, bytes(table.order), words.data)
    sizes = (
        len(table.kernels),
        len(table.inputs),
        len(table.outputs),
        len(table.segments),
        len(actions) // _ACTION.size,
        len(pointers) // _POINTER.size,
        len(ends),
        len(table.order),
        _half(len(words.data)),
    )
    if max(len(table.inputs), len(table.outputs)) > _MOST_TENSORS:
        raise _no_room(f"{_MOST_TENSORS} inputs and {_MOST_TENSORS} outputs")
    used = _HEAD.size + sum(map(len, parts))
    constants = -(-used // CONSTANTS_ALIGN) * CONSTANTS_ALIGN
    head = _HEAD.pack(
        bytes.fromhex(model_hash)[:8], *map(_half, sizes), 0, constants, len(table.constants), 0
    )
    return head + b"".join(parts) + bytes(constants - used) + table.constants


class _Strings:
    """Names, each followed by a zero."""

    def __init__(self) -> None:
        self.data = b""

    def add(self, name: str) -> int:
        if len(name.encode()) >= _MOST_NAME:
            raise _no_room(f"names of {_MOST_NAME - 1} bytes", name)
        place = len(self.data)
        self.data += name.encode() + b"\0"
        return place


def _tensor(tensor: TensorInfo, words: _Strings) -> bytes:
    shape = tensor.type.shape
    if len(shape) > _MOST_RANK:
        raise _no_room(f"{_MOST_RANK} axes of a tensor", tensor.name)
    numbers = (
        words.add(tensor.name),
        len(shape),
        ELEMENT_NUMBERS[tensor.type.dtype],
        tensor.arena,
        tensor.arena_offset,
        tensor.bytes,
    )
    return _TENSOR.pack(*numbers, *shape, *(0,) * (_MOST_RANK - len(shape)))


def _actions(table: ModelTable) -> tuple[bytes, bytes, list[int]]:
    """Returns the actions, their pointers, and for each layer the end of its actions."""
    actions, pointers, ends = b"", b"", []
    for layer in table.layers:
        for action in layer:
            first = len(pointers) // _POINTER.size
            kernel = _FILLS if isinstance(action.kernel, Filling) else action.kernel
            actions += _ACTION.pack(_half(action.first), _half(action.end), kernel, _half(first))
            pointers += b"".join(_pointers(action))
        ends.append(_half(len(actions) // _ACTION.size))
    return actions, pointers, ends


def _pointers(action: Action) -> Iterator[bytes]:
    yield from (_pointer(rule) for rule in action.rules)
    if isinstance(action.kernel, Filling):
        fill = action.kernel
        value = int.from_bytes(fill.value * (4 // len(fill.value)), "little")
        yield _POINTER.pack(value, _half(fill.planes), _half(fill.step), _half(fill.bytes), 0)


def _pointer(rule: Rule) -> bytes:
    if rule.offset >= _MOST_OFFSET:
        raise _no_room(f"{_MOST_OFFSET:,} bytes of memory")
    place = rule.memory << _MEMORY_BIT | rule.offset
    return _POINTER.pack(place, rule.unit, rule.stride, rule.start, rule.held)


def _half(number: int) -> int:
    if number > MOST:
        raise _no_room(f"numbers up to {MOST:,}", f"{number:,}")
    return number


def _no_room(most: str, where: str = "") -> ModelError:
    return ModelError(
        f"the model cannot be a table: the limit is {most}",
        where,
        "make a cartridge with code: omit --tables",
    )
