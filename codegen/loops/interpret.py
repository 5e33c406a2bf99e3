"""The loop interpreter runs a proc in Python, to prove that schedules and instructions are correct.

It translates statements and expressions to Python functions once; loops call these in every iteration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
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
    Instruction,
    Invoke,
    Load,
    Proc,
    Stmt,
    Store,
)
from codegen.loops.operators import OPERATORS, SHIFTS, operand_type, wrapped

Rows = Sequence[Array]  # one flat array per row pointer
_Window = tuple[Rows, int, int]  # a buffer as an instruction sees it: rows, first row, first element
_Frame = dict[str, _Window]
_Loops = dict[str, int]
_Run = Callable[[_Frame, _Loops], None]
_Number = Callable[[_Frame, _Loops], Any]
_Cell = Callable[[_Frame, _Loops], tuple[Array, int]]
_LARGEST_OF_ALL_TYPES = 2**31 - 1  # 0 to this number are the same in every integer type
_GARBAGE = 0x55  # fills memory that has not been written
_PROCS_KEPT = 8  # a stage calls its few procs once per row


def run_proc(proc: Proc, buffers: Mapping[str, Rows]) -> None:
    """Runs a proc with every parameter bound to its rows and fills the outputs. A plain buffer is one row."""
    _translated(_Same(proc))({p.name: (buffers[p.name], 0, 0) for p in proc.params}, {})


@dataclass(frozen=True, slots=True, eq=False)
class _Same:
    """A proc that is compared by identity. Comparing the loops could cost more than running them."""

    proc: Proc

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.proc is self.proc

    def __hash__(self) -> int:
        return id(self.proc)


@lru_cache(maxsize=_PROCS_KEPT)
def _translated(same: _Same) -> _Run:
    return _Translation().body(same.proc.body)


class _Translation:
    """Translates the statements of one proc to functions, and each instruction once for all its calls."""

    def __init__(self) -> None:
        self._instructions: dict[int, _Run] = {}

    def body(self, body: tuple[Stmt, ...]) -> _Run:
        statements = tuple(self._statement(stmt) for stmt in body)
        if len(statements) == 1:
            return statements[0]

        def run(frame: _Frame, loops: _Loops) -> None:
            for statement in statements:
                statement(frame, loops)

        return run

    def _statement(self, stmt: Stmt) -> _Run:
        match stmt:
            case For(var, extent, inner):
                return _loop(var, extent, self.body(inner))
            case Declare(buffer):
                return _declaration(buffer.name, buffer.elements, buffer.dtype)
            case Store(place, value):
                return _store(place, _value(value))
            case Accumulate(place, value):
                return _store(place, _sum(_read(place), _value(value)))
            case Invoke(instruction, windows):
                return _call(instruction, windows, self._meaning(instruction))

    def _meaning(self, instruction: Instruction) -> _Run:
        key = id(instruction)  # the proc holds it
        if key not in self._instructions:
            self._instructions[key] = self.body(instruction.body)
        return self._instructions[key]


def _loop(var: str, extent: int, inner: _Run) -> _Run:
    def run(frame: _Frame, loops: _Loops) -> None:
        mine = {**loops}
        for mine[var] in range(extent):
            inner(frame, mine)

    return run


def _declaration(name: str, elements: int, dtype: DType) -> _Run:
    def run(frame: _Frame, loops: _Loops) -> None:
        frame[name] = ([np.full(elements, _GARBAGE, dtype.numpy)], 0, 0)

    return run


def _store(place: BufferPlace, value: _Number) -> _Run:
    cell, name, dtype = _cell(place), place.buffer.name, place.buffer.dtype
    if not dtype.is_integer:

        def store_real(frame: _Frame, loops: _Loops) -> None:
            made = value(frame, loops)
            row, index = cell(frame, loops)
            row[index] = made

        return store_real
    low, high = dtype.limits

    def store(frame: _Frame, loops: _Loops) -> None:
        made = value(frame, loops)
        row, index = cell(frame, loops)
        if not low <= made <= high:
            raise OverflowError(f"{made} does not fit {name}, {dtype.value}")
        row[index] = made

    return store


def _call(instruction: Instruction, windows: tuple[BufferPlace, ...], meaning: _Run) -> _Run:
    given = [
        (param.name, place.buffer.name, _affine(place.row), _affine(place.index))
        for param, place in zip(instruction.params, windows, strict=True)
    ]

    def run(frame: _Frame, loops: _Loops) -> None:
        inner: _Frame = {}
        for param, name, row, index in given:
            rows, first_row, first = frame[name]
            inner[param] = (rows, first_row + row(loops), first + index(loops))
        meaning(inner, {})

    return run


def _cell(place: BufferPlace) -> _Cell:
    name, row_of, index_of = place.buffer.name, _affine(place.row), _affine(place.index)

    def cell(frame: _Frame, loops: _Loops) -> tuple[Array, int]:
        rows, first_row, first = frame[name]
        number, index = first_row + row_of(loops), first + index_of(loops)
        if 0 <= number < len(rows) and 0 <= index < (row := rows[number]).size:
            return row, index
        raise _outside(name, rows, number, index)

    return cell


def _outside(name: str, rows: Rows, number: int, index: int) -> IndexError:
    if not 0 <= number < len(rows):
        return IndexError(f"{name} has no row {number}, only {len(rows)}")
    return IndexError(f"{name}[{index}] is outside its {rows[number].size} elements")


def _affine(affine: Affine) -> Callable[[_Loops], int]:
    constant = affine.constant
    match affine.terms:
        case ():
            return lambda loops: constant
        case ((name, factor),):
            return lambda loops: constant + factor * loops[name]
        case ((name, factor), (other, step)):
            return lambda loops: constant + factor * loops[name] + step * loops[other]
        case (*_, (name, factor), (other, step)):
            rest = _affine(Affine(affine.terms[:-2], constant))
            return lambda loops: rest(loops) + factor * loops[name] + step * loops[other]
    return affine.evaluate


def _value(expr: Expr) -> _Number:
    match expr:
        case Const(number):
            return lambda frame, loops: number
        case Index(affine):
            index = _affine(affine)
            return lambda frame, loops: index(loops)
        case Load(place):
            return _read(place)
        case Element(place, number):
            return _element(place, _value(number))
        case Binary(op, left, right):
            return _binary(expr, OPERATORS[op].compute, _value(left), _value(right))
        case Cast(dtype, value):
            inner = _value(value)
            return lambda frame, loops: _cast(dtype, inner(frame, loops))
        case Choose(condition, yes, no):
            asked, this, that = _value(condition), _value(yes), _value(no)
            return lambda frame, loops: this(frame, loops) if asked(frame, loops) else that(frame, loops)
        case Apply(function, arguments):
            compute, given = function.compute, [_value(argument) for argument in arguments]
            return lambda frame, loops: compute(*[argument(frame, loops) for argument in given])


def _read(place: BufferPlace) -> _Number:
    """Returns a function that reads an element. It inlines `_cell`, since most executed operations read."""
    name, row_of, index_of = place.buffer.name, _affine(place.row), _affine(place.index)

    def read(frame: _Frame, loops: _Loops) -> Any:
        rows, first_row, first = frame[name]
        number, index = first_row + row_of(loops), first + index_of(loops)
        if 0 <= number < len(rows) and 0 <= index < (row := rows[number]).size:
            return row.item(index)
        raise _outside(name, rows, number, index)

    return read


def _element(place: BufferPlace, number: _Number) -> _Number:
    """Returns a function that reads the element a computed number of elements after the place."""
    name, row_of, index_of = place.buffer.name, _affine(place.row), _affine(place.index)
    cell = _cell(BufferPlace(place.buffer, Affine(), Affine()))

    def read(frame: _Frame, loops: _Loops) -> Any:
        rows, first_row, first = frame[name]
        index = first + index_of(loops) + int(number(frame, loops))
        row, index = cell({name: (rows, first_row + row_of(loops), index)}, loops)
        return row.item(index)

    return read


def _sum(left: _Number, right: _Number) -> _Number:
    return lambda frame, loops: left(frame, loops) + right(frame, loops)


def _binary(expr: Binary, compute: Callable[[Any, Any], Any], left: _Number, right: _Number) -> _Number:
    def run(frame: _Frame, loops: _Loops) -> Any:
        a, b = left(frame, loops), right(frame, loops)
        made = compute(a, b)
        return made if a >= 0 <= b and 0 <= made <= _LARGEST_OF_ALL_TYPES else in_type(a, b, made)

    in_type = _in_type(expr)
    return run


def _in_type(expr: Binary) -> Callable[[Any, Any, Any], int | float]:
    """Returns the result in C's type: unsigned results and left shifts wrap."""
    op, kind = expr.op, operand_type(expr.op, expr.left, expr.right)
    if kind is DType.F32:
        return lambda a, b, made: made
    (low, high), bits = kind.limits, 8 * kind.bytes
    if low and op not in SHIFTS:

        def in_signed_type(a: Any, b: Any, made: Any) -> Any:
            if low <= made <= high:
                return made
            raise OverflowError(f"{a} {op} {b} does not fit the {bits} bits of {kind.value}")

        return in_signed_type

    def in_type(a: Any, b: Any, made: Any) -> Any:
        if op in SHIFTS and b >= bits:
            raise OverflowError(f"a shift of {kind.value} by {b}")
        if low == 0 and (a < 0 or b < 0):  # C converts both to unsigned first
            made = OPERATORS[op].compute(wrapped(int(a), kind), wrapped(int(b), kind))
        if low == 0 or op == "<<":
            return wrapped(int(made), kind)
        if not low <= made <= high:
            raise OverflowError(f"{a} {op} {b} does not fit the {bits} bits of {kind.value}")
        return made

    return in_type


def _cast(dtype: DType, value: float) -> int | float:
    """Converts a value as C does; integers keep their lowest bits."""
    if dtype.is_integer and isinstance(value, int):
        return wrapped(value, dtype)
    cast: int | float = dtype.numpy.type(value).item()
    return cast
