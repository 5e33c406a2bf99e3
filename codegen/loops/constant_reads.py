"""How loops read constants: as indices of other accesses, and through a cache.

A loop that reads the same constants in each iteration is simulated twice: all iterations after the first miss
equally often.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from aot.ir.types import Array
from aot.line_cache import LineCache
from codegen.loops.affine import Affine
from codegen.loops.ir import (
    Accumulate,
    Body,
    Buffer,
    Element,
    Expr,
    For,
    Instruction,
    Invoke,
    Proc,
    Role,
    Stmt,
    Store,
    loads_of,
    parts_of,
    walk,
)

_Numbers = Mapping[str, int]
_Read = tuple[Buffer, Affine, tuple[int, ...]]  # begin in a buffer, and byte offsets from there
_ONE = (0,)


class ReadLines:
    """A memory that is read in lines, through a cache."""

    def __init__(self, line_bytes: int, lines: LineCache) -> None:
        self._line_bytes = line_bytes
        self._lines = lines
        self._at_hand = -1  # the line read last

    def misses(self, address: int) -> bool:
        """Reads one byte and returns True if its line was neither the last one nor in the cache."""
        line = address // self._line_bytes
        if line == self._at_hand:
            return False
        self._at_hand = line
        return not self._lines.take(line)


class ConstantReads:
    """The constants of a proc at given addresses, in a memory that may have other readers."""

    def __init__(self, proc: Proc, begins: Mapping[str, int], memory: ReadLines) -> None:
        self._proc = proc  # keeps its statements alive: the dictionaries below use their identities
        self._begins = begins
        self._memory = memory
        self._reads: dict[int, tuple[_Read, ...]] = {}
        self._variables: dict[int, frozenset[str] | None] = {}

    def missed(self) -> int:
        """Executes the proc once and returns the number of cache misses."""
        return sum(self._statement(stmt, {}) for stmt in self._proc.body)

    def _statement(self, stmt: Stmt, turns: _Numbers) -> int:
        if isinstance(stmt, For):
            return self._loop(stmt, turns)
        return sum(self._read(each, turns) for each in self._reads_of(stmt))

    def _loop(self, loop: For, turns: _Numbers) -> int:
        variables = self._variables_of(loop)
        if variables is None:
            return 0
        if loop.var in variables:
            return sum(self._turn(loop, turns, turn) for turn in range(loop.extent))
        followed = [self._turn(loop, turns, turn) for turn in range(min(loop.extent, 2))]
        return sum(followed) + sum(followed[-1:]) * max(0, loop.extent - 2)

    def _turn(self, loop: For, turns: _Numbers, turn: int) -> int:
        here = {**turns, loop.var: turn}
        return sum(self._statement(stmt, here) for stmt in loop.body)

    def _read(self, read: _Read, turns: _Numbers) -> int:
        buffer, index, offsets = read
        begin = self._begins[buffer.name] + index.evaluate(turns) * buffer.dtype.bytes
        return sum(self._memory.misses(begin + offset) for offset in offsets)

    def _variables_of(self, loop: For) -> frozenset[str] | None:
        """Returns the variables that select the constants that a loop reads, or None if it reads none."""
        if id(loop) not in self._variables:
            self._variables[id(loop)] = _joined(
                self._variables_of(stmt)
                if isinstance(stmt, For)
                else _joined(i.variables for _, i, _ in reads)
                for stmt in loop.body
                for reads in [() if isinstance(stmt, For) else self._reads_of(stmt)]
            )
        return self._variables[id(loop)]

    def _reads_of(self, stmt: Stmt) -> tuple[_Read, ...]:
        if id(stmt) not in self._reads:
            self._reads[id(stmt)] = tuple(_reads(stmt))
        return self._reads[id(stmt)]


def _joined(sets: Iterable[frozenset[str] | None]) -> frozenset[str] | None:
    found = [each for each in sets if each is not None]
    return frozenset[str]().union(*found) if found else None


def _reads(stmt: Stmt) -> Iterator[_Read]:
    """Yields the constant reads of a statement other than a loop."""
    match stmt:
        case Store(_, value) | Accumulate(_, value):
            for load in loads_of(value):
                if load.place.buffer.role is Role.CONSTANT:
                    yield load.place.buffer, load.place.index, _ONE
        case Invoke(instruction, windows):
            for param, window in zip(instruction.params, windows, strict=True):
                if window.buffer.role is Role.CONSTANT:
                    yield window.buffer, window.index, _bytes_read(instruction, param)


def _bytes_read(instruction: Instruction, param: Buffer) -> tuple[int, ...]:
    """Returns the byte offsets in a window that an instruction reads, each once, in ascending order.

    An instruction is written for the machine and need not read in the order of its loop nest.
    """
    found = set(_elements(instruction.body, param.name, {}, dict(instruction.numbers)))
    return tuple(sorted(element * param.dtype.bytes for element in found))


def _elements(body: Body, name: str, extents: _Numbers, numbers: _Numbers) -> Iterator[int]:
    for stmt in body:
        match stmt:
            case For(var, extent, inner):
                yield from _elements(inner, name, {**extents, var: extent}, numbers)
            case Store(_, value) | Accumulate(_, value):
                for load in loads_of(value):
                    if load.place.buffer.name == name:
                        yield from _indices(load.place.index, extents, numbers).tolist()
            case Invoke(instruction, windows):
                for param, window in zip(instruction.params, windows, strict=True):
                    if window.buffer.name == name:
                        begins = _indices(window.index, extents, numbers)
                        inside = [byte // param.dtype.bytes for byte in _bytes_read(instruction, param)]
                        yield from {begin + each for begin in begins.tolist() for each in inside}


def _indices(index: Affine, extents: _Numbers, numbers: _Numbers) -> Array:
    """Returns all values of an index over its outer loops."""
    values = np.array([index.constant], np.int64)
    for name, factor in index.terms:
        turns = np.arange(extents[name]) if name in extents else np.array([numbers[name]])
        values = np.unique(values[:, None] + factor * turns)
    return values


def place_tables(procs: Sequence[Proc]) -> frozenset[str]:
    """Returns the parameters whose values become indices, directly or through locals."""
    stores = [each for proc in procs for each in walk(proc.body) if isinstance(each, Store | Accumulate)]
    found = {name for each in stores for name in _in_places(each.value)}
    while more := {name for each in stores for name in _read_for(each, found)} - found:
        found |= more
    params = (param for proc in procs for param in proc.params)
    return frozenset(param.name for param in params if param.role is Role.CONSTANT) & found


def _in_places(value: Expr) -> Iterator[str]:
    if isinstance(value, Element):
        yield from (each.place.buffer.name for each in loads_of(value.number))
    for part in parts_of(value):
        yield from _in_places(part)


def _read_for(stmt: Stmt, places: set[str]) -> Iterator[str]:
    """Yields the buffers that a store to one of the indices reads."""
    if isinstance(stmt, Store | Accumulate) and stmt.place.buffer.name in places:
        yield from (each.place.buffer.name for each in loads_of(stmt.value))
