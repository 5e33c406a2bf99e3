"""The instruction table of the device: the source of header, assembler, disassembler and docs.

An instruction is eight 32-bit integers. The table has the position of each field; unused bits are 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from aot.ir.types import Array

WORDS = 8
BYTES = 4 * WORDS


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an instruction: its position and meaning."""

    name: str
    word: int
    low: int
    bits: int
    says: str
    of: tuple[str, ...]  # operations that use it
    signed: bool = False
    names: tuple[str, ...] = ()  # names of its values, from 0

    @property
    def least(self) -> int:
        return -(1 << self.bits - 1) if self.signed else 0

    @property
    def most(self) -> int:
        return len(self.names) - 1 if self.names else (1 << self.bits - self.signed) - 1


OPERATIONS = ("LOAD", "STORE", "GEMM", "ALU")
MEMORY_NAMES = ("INPUT", "WEIGHT", "ACCUMULATOR", "MICROCODE")
ALU_OPERATIONS = ("MOVE", "ADD", "SHIFT_LEFT", "SCALE", "CLIP", "MAX")
QUEUES = ("LOAD", "EXECUTE", "STORE")

_MOVES = ("LOAD", "STORE")
_LOOPS = ("GEMM", "ALU")
_TWO = "index += this in each iteration of the"
FIELDS = (
    Field("operation", 0, 0, 3, "the operation", OPERATIONS, names=OPERATIONS),
    Field("pop_previous", 0, 3, 1, "wait for a token of the previous queue", OPERATIONS),
    Field("pop_next", 0, 4, 1, "wait for a token of the next queue", OPERATIONS),
    Field("push_previous", 0, 5, 1, "give the previous queue a token when done", OPERATIONS),
    Field("push_next", 0, 6, 1, "give the next queue a token when done", OPERATIONS),
    Field("memory", 0, 7, 2, "the destination", ("LOAD",), names=MEMORY_NAMES),
    Field("diagonal", 0, 9, 1, "16 bytes become the diagonal of a tile of weights", ("LOAD",)),
    Field("base", 0, 10, 3, "the base register that `offset` counts from", _MOVES),
    Field("index", 0, 16, 16, "the first entry of the memory of the device", _MOVES),
    Field("offset", 1, 0, 32, "bytes from the base register to row 0, column 0", _MOVES, signed=True),
    Field("rows", 2, 0, 16, "rows, without padding", _MOVES),
    Field("columns", 2, 16, 16, "elements of a row, without padding", _MOVES),
    Field("row_stride", 3, 0, 32, "bytes from row to row", _MOVES),
    Field("column_stride", 4, 0, 16, "bytes from element to element", _MOVES),
    Field("bytes", 4, 16, 16, "of an element; zeros fill its last entry", _MOVES),
    Field("top", 5, 0, 8, "rows of padding above", ("LOAD",)),
    Field("bottom", 5, 8, 8, "rows of padding below", ("LOAD",)),
    Field("left", 5, 16, 8, "elements of padding before each row", ("LOAD",)),
    Field("right", 5, 24, 8, "elements of padding after each row", ("LOAD",)),
    Field("fill", 6, 0, 8, "each byte of padding", ("LOAD",), signed=True),
    Field("alu", 0, 7, 3, "the ALU's operation", ("ALU",), names=ALU_OPERATIONS),
    Field("immediate", 0, 10, 1, "the second operand is `value`", ("ALU",)),
    Field("first", 0, 11, 10, "the first micro-operation", _LOOPS),
    Field("count", 0, 21, 10, "micro-operations", _LOOPS),
    Field("outer", 1, 0, 16, "iterations of the outer loop", _LOOPS),
    Field("inner", 1, 16, 16, "iterations of the inner loop", _LOOPS),
    Field("to_outer", 2, 0, 16, f"accumulator's {_TWO} outer loop", _LOOPS),
    Field("to_inner", 2, 16, 16, f"accumulator's {_TWO} inner loop", _LOOPS),
    Field("from_outer", 3, 0, 16, f"operand's {_TWO} outer loop", _LOOPS),
    Field("from_inner", 3, 16, 16, f"operand's {_TWO} inner loop", _LOOPS),
    Field("to_base", 4, 0, 16, "first accumulator", _LOOPS),
    Field("from_base", 4, 16, 16, "first operand: input of GEMM, accumulator of the ALU", _LOOPS),
    Field("tile_base", 5, 0, 16, "first tile of weights", ("GEMM",)),
    Field("value", 5, 0, 32, "the immediate operand; added by CLIP", ("ALU",), signed=True),
    Field("least", 6, 0, 8, "the least result of CLIP", ("ALU",), signed=True),
    Field("greatest", 6, 8, 8, "the greatest result of CLIP", ("ALU",), signed=True),
)
# A micro-operation is one 32-bit integer: offsets to add to the three bases.
MICRO_FIELDS = (
    Field("to", 0, 0, 11, "accumulator", ()),
    Field("from", 0, 11, 11, "operand", ()),
    Field("tile", 0, 22, 10, "tile of weights", ()),
)
_BY_OPERATION = {name: tuple(f for f in FIELDS if name in f.of) for name in OPERATIONS}
_QUEUE_OF = {"STORE": "STORE", "GEMM": "EXECUTE", "ALU": "EXECUTE"}


class EncodingError(ValueError):
    """Raised if a value does not fit its field, or if the bits are not an instruction."""


@dataclass(frozen=True)
class NpuCommand:
    """One instruction: its operation, and the fields that are not 0."""

    operation: str
    fields: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    def __hash__(self) -> int:
        return hash((self.operation, frozenset(self.fields.items())))

    def __getitem__(self, name: str) -> int:
        return self.fields.get(name, 0)

    @property
    def queue(self) -> str:
        """Returns the instruction's queue. The execute queue loads its microcode and accumulators."""
        if self.operation == "LOAD":
            return "LOAD" if MEMORY_NAMES[self["memory"]] in ("INPUT", "WEIGHT") else "EXECUTE"
        return _QUEUE_OF[self.operation]


def fields_of(operation: str) -> tuple[Field, ...]:
    return _BY_OPERATION[operation]


def encode(instruction: NpuCommand) -> tuple[int, ...]:
    """Encodes an instruction as 32-bit integers. Raises EncodingError."""
    known = {each.name: each for each in fields_of(instruction.operation)}
    words = [0] * WORDS
    values = {**instruction.fields, "operation": OPERATIONS.index(instruction.operation)}
    for name, value in values.items():
        if name not in known:
            raise EncodingError(f"{instruction.operation} has no field {name}")
        place = known[name]
        if not place.least <= value <= place.most:
            raise EncodingError(
                f"{name} of {instruction.operation} is {value}, not from {place.least} to {place.most}"
            )
        words[place.word] |= (value & (1 << place.bits) - 1) << place.low
    return tuple(words)


def decode(words: Sequence[int]) -> NpuCommand:
    """Decodes an instruction from 32-bit integers. Raises EncodingError."""
    number = _value(FIELDS[0], words)
    if len(words) != WORDS or number >= len(OPERATIONS):
        raise EncodingError(f"no instruction: {' '.join(f'{word:08x}' for word in words)}")
    operation = OPERATIONS[number]
    values = {each.name: _value(each, words) for each in fields_of(operation) if each.name != "operation"}
    found = NpuCommand(operation, {name: value for name, value in values.items() if value})
    if encode(found) != tuple(words):
        raise EncodingError(f"bits beside the fields of {operation}: {' '.join(f'{w:08x}' for w in words)}")
    return found


def _value(place: Field, words: Sequence[int]) -> int:
    value = words[place.word] >> place.low & (1 << place.bits) - 1
    return value - (1 << place.bits) if place.signed and value > place.most else value


def micro(to: int, source: int, tile: int = 0) -> int:
    """Encodes a micro-operation. Raises EncodingError."""
    word = 0
    for place, value in zip(MICRO_FIELDS, (to, source, tile), strict=True):
        if not 0 <= value <= place.most:
            raise EncodingError(f"{place.name} of a micro-operation is {value}, not from 0 to {place.most}")
        word |= value << place.low
    return word


def micro_parts(word: int) -> tuple[int, int, int]:
    """Splits a micro-operation into (to, from, tile)."""
    to, source, tile = (word >> place.low & place.most for place in MICRO_FIELDS)
    return to, source, tile


def binary(program: Sequence[NpuCommand]) -> Array:
    """Returns a program as the device reads it."""
    words = [encode(each) for each in program]
    return np.array(words, np.uint32).reshape(-1).view(np.int32)


def program_in(words: Array) -> tuple[NpuCommand, ...]:
    """Decodes a program. Raises EncodingError."""
    rows = np.ascontiguousarray(words).view(np.uint32).reshape(-1, WORDS)
    return tuple(decode([int(word) for word in row]) for row in rows)
