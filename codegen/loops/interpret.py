"""The loop interpreter: runs a proc in Python, to prove schedules and instructions right."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from aot.ir.types import Array, DType
from codegen.loops.affine import Affine
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Binary,
    BufferPlace,
    Cast,
    Choose,
    Const,
    Declare,
    Element,
    Expr,
    For,
    Index,
    Invoke,
    Load,
    Proc,
    Stmt,
    Store,
)
from codegen.loops.value_type import SHIFTS, operand_type, wrapped

Rows = Sequence[Array]  # one flat array per row pointer
_BINARY: Mapping[str, Callable[[Any, Any], int | float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "<": lambda a, b: int(a < b),
    "==": lambda a, b: int(a == b),
    "min": min,
    "max": max,
    "<<": lambda a, b: a << _in_range(b),
    ">>": lambda a, b: a >> _in_range(b),
    "//": lambda a, b: a // _no_zero(b),
    "%": lambda a, b: a % _no_zero(b),
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
}
_MOST = 2**31 - 1  # what is between 0 and this is the same in every type of whole numbers
_GARBAGE = 0x55  # what memory nobody has written holds


@dataclass(frozen=True, slots=True)
class _Window:
    """A buffer as an instruction sees it: from an element of a row on."""

    rows: Rows
    row: int
    base: int


def run_proc(proc: Proc, buffers: Mapping[str, Rows]) -> None:
    """Run with every parameter bound to its rows (a plain buffer is one row); outputs are filled in."""
    frame = {p.name: _Window(buffers[p.name], 0, 0) for p in proc.params}
    _run(proc.body, frame, {})


def _run(body: tuple[Stmt, ...], frame: dict[str, _Window], loops: dict[str, int]) -> None:
    for stmt in body:
        match stmt:
            case For(var, extent, inner):
                for value in range(extent):
                    _run(inner, frame, {**loops, var: value})
            case Declare(buffer):
                cells = np.full(buffer.elements, _GARBAGE, buffer.dtype.numpy)
                frame[buffer.name] = _Window([cells], 0, 0)
            case Store(place, value):
                _write(place, _value(value, frame, loops), frame, loops)
            case Accumulate(place, value):
                _write(place, _read(place, frame, loops) + _value(value, frame, loops), frame, loops)
            case Invoke(instruction, windows):
                inner_frame = {
                    p.name: _window(w, frame, loops) for p, w in zip(instruction.params, windows, strict=True)
                }
                _run(instruction.body, inner_frame, {})


def _window(place: BufferPlace, frame: Mapping[str, _Window], loops: Mapping[str, int]) -> _Window:
    base = frame[place.buffer.name]
    return _Window(base.rows, base.row + place.row.evaluate(loops), base.base + place.index.evaluate(loops))


def _cell(place: BufferPlace, frame: Mapping[str, _Window], loops: Mapping[str, int]) -> tuple[Array, int]:
    window = _window(place, frame, loops)
    if not 0 <= window.row < len(window.rows):
        raise IndexError(f"{place.buffer.name} has no row {window.row}, only {len(window.rows)}")
    row = window.rows[window.row]
    if not 0 <= window.base < row.size:
        raise IndexError(f"{place.buffer.name}[{window.base}] lies outside its {row.size} elements")
    return row, window.base


def _read(place: BufferPlace, frame: Mapping[str, _Window], loops: Mapping[str, int]) -> int | float:
    row, index = _cell(place, frame, loops)
    value: int | float = row[index].item()
    return value


def _write(
    place: BufferPlace, value: int | float, frame: Mapping[str, _Window], loops: Mapping[str, int]
) -> None:
    row, index = _cell(place, frame, loops)
    if place.buffer.dtype.is_integer:
        low, high = place.buffer.dtype.limits
        if not low <= value <= high:
            raise OverflowError(f"{value} does not fit {place.buffer.name}, {place.buffer.dtype.value}")
    row[index] = value


def _value(expr: Expr, frame: Mapping[str, _Window], loops: Mapping[str, int]) -> int | float:
    match expr:
        case Const(value):
            return value
        case Index(affine):
            return _affine(affine, loops)
        case Load(place):
            return _read(place, frame, loops)
        case Element(place, number):
            index = place.index + int(_value(number, frame, loops))
            return _read(replace(place, index=index), frame, loops)
        case Binary(op, left, right):
            a, b = _value(left, frame, loops), _value(right, frame, loops)
            made = _BINARY[op](a, b)
            return made if a >= 0 <= b and 0 <= made <= _MOST else _in_type(expr, a, b, made)
        case Cast(dtype, value):
            return _cast(dtype, _value(value, frame, loops))
        case Choose(condition, yes, no):
            return _value(yes if _value(condition, frame, loops) else no, frame, loops)
        case Apply(function, arguments):
            result: int | float = function.meaning(*(_value(a, frame, loops) for a in arguments))
            return result


def _in_range(places: int) -> int:
    """The places of a shift, which no type has 64 of."""
    if not 0 <= places < 64:
        raise OverflowError(f"a shift by {places}")
    return places


def _no_zero(divisor: int) -> int:
    if divisor == 0:
        raise OverflowError("a division by 0")
    return divisor


def _in_type(expr: Binary, a: float, b: float, made: float) -> int | float:
    """The result in the type that C computes it in: unsigned ones wrap, and so do shifts to the left."""
    kind = operand_type(expr.op, expr.left, expr.right)
    if kind is DType.F32:
        return made
    if expr.op in SHIFTS and b >= 8 * kind.bytes:
        raise OverflowError(f"a shift of {kind.value} by {b}")
    low, high = kind.limits
    if low == 0 and (a < 0 or b < 0):  # C makes both unsigned first
        made = _BINARY[expr.op](wrapped(int(a), kind), wrapped(int(b), kind))
    if low == 0 or expr.op == "<<":
        return wrapped(int(made), kind)
    if not low <= made <= high:
        raise OverflowError(f"{a} {expr.op} {b} is beyond the {8 * kind.bytes} bits of {kind.value}")
    return made


def _cast(dtype: DType, value: float) -> int | float:
    """The value as C converts it: of a whole number, the lowest bits."""
    if dtype.is_integer and isinstance(value, int):
        return wrapped(value, dtype)
    cast: int | float = dtype.numpy.type(value).item()
    return cast


def _affine(affine: Affine, loops: Mapping[str, int]) -> int:
    return affine.evaluate(loops)
