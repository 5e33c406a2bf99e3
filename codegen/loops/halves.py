"""Splits a proc into halves for two cores: cuts outermost loops in two parts that do not conflict.

The halves differ only in the bounds of these loops, so both are one C function that gets the half as a
parameter. A loop that cannot be cut, because it has one iteration, belongs to the second half, which has the
smaller share of loops with an odd number of iterations. To prove that the halves do not conflict, this module
lists every element that each of them writes, and every read of a written buffer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from codegen.loops.ir import (
    Accumulate,
    Body,
    BufferPlace,
    Declare,
    For,
    Invoke,
    Proc,
    Role,
    Stmt,
    Store,
    loads_of,
)

FIRST, SECOND = 0, 1
_MOST_ELEMENTS = 400_000  # elements to list at most: half a second
_BUSY = "the halves would share its "
_Element = tuple[str, int, int]  # buffer, row, element


@dataclass(frozen=True, slots=True)
class Shares:
    """The number of statements that each half executes in a run."""

    first: int
    second: int

    @property
    def saved(self) -> int:
        """Returns the number of statements that one core saves by not waiting."""
        return min(self.first, self.second)


def is_cut(stmt: Stmt) -> bool:
    """Returns True for an outermost loop that is cut in two. All others belong to the second half."""
    return isinstance(stmt, For) and stmt.extent > 1 and not stmt.unrolled


def turns_of(loop: For, half: int) -> range:
    """Returns the iterations of an outermost loop that belong to a half."""
    middle = -(-loop.extent // 2) if is_cut(loop) else 0
    return range(middle) if half == FIRST else range(middle, loop.extent)


def halves_of(proc: Proc) -> Shares | str:
    """Returns the shares of both halves, or the reason why the proc cannot be split."""
    shared = next((p for p in proc.params if p.role in (Role.STATE, Role.SCRATCH)), None)
    if shared is not None:
        return f"{_BUSY}{shared.role.value}"
    if any(p.may_alias for p in proc.params):
        return "its result may share memory with an operand"
    loops = [stmt for stmt in proc.body if isinstance(stmt, For)]
    if len(loops) < len(proc.body):
        return f"{_BUSY}variables"
    if not any(map(is_cut, loops)):
        return "its outermost loop has a single iteration"
    touched = [_touched(loops, half) for half in (FIRST, SECOND)]
    if sum(places.elements for half in touched for places in half) > _MOST_ELEMENTS:
        return "it has too many results to list"
    written, used = zip(*map(_listed, touched), strict=True)
    if written[FIRST] & used[SECOND] or written[SECOND] & used[FIRST]:
        return f"{_BUSY}results"
    first, second = (
        sum(_executed(loop.body, len(turns_of(loop, half))) for loop in loops) for half in (0, 1)
    )
    return Shares(first, second)


def _executed(body: Body, times: int) -> int:
    """Counts the executed statements, without declarations."""
    return times * sum(
        _executed(stmt.body, stmt.extent) if isinstance(stmt, For) else not isinstance(stmt, Declare)
        for stmt in body
    )


@dataclass(frozen=True, slots=True)
class _Places:
    """The elements of a result that a statement writes or reads over its outer loops."""

    place: BufferPlace  # of the first iteration
    rows: int  # added in each iteration
    width: int
    is_written: bool
    turns: Mapping[str, range]

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(sorted(self.place.variables))

    @property
    def elements(self) -> int:
        return self.rows * self.width * prod(len(self.turns[variable]) for variable in self.variables)

    def numbers(self) -> set[_Element]:
        """Returns (buffer, row, element) of each element."""
        place = self.place
        found: set[_Element] = set()
        for values in product(*(self.turns[variable] for variable in self.variables)):
            at = dict(zip(self.variables, values, strict=True))
            row, element = place.row.evaluate(at), place.index.evaluate(at)
            found |= {
                (place.buffer.name, row + r, element + e) for r in range(self.rows) for e in range(self.width)
            }
        return found


def _listed(half: Sequence[_Places]) -> tuple[set[_Element], set[_Element]]:
    """Returns two sets: the elements that a half writes, and those that it reads or writes."""
    written: set[_Element] = set().union(*(places.numbers() for places in half if places.is_written))
    return written, written.union(*(places.numbers() for places in half if not places.is_written))


def _touched(loops: Sequence[For], half: int) -> list[_Places]:
    of_loops = ((loop, turns_of(loop, half)) for loop in loops)
    found = [each for loop, turns in of_loops if turns for each in _places(loop.body, {loop.var: turns})]
    return [each for each in found if each.place.buffer.role is Role.OUTPUT]


def _places(body: Body, turns: Mapping[str, range]) -> Iterator[_Places]:
    """Yields the places in statements. A result passed to an instruction counts as written and as read."""
    for stmt in body:
        match stmt:
            case For(var, extent, inner):
                yield from _places(inner, {**turns, var: range(extent)})
            case Store(place, value) | Accumulate(place, value):
                yield _Places(place, 1, 1, True, turns)
                yield from (_Places(each.place, 1, 1, False, turns) for each in loads_of(value))
            case Invoke(instruction, windows):
                for place, param in zip(windows, instruction.params, strict=True):
                    yield _Places(place, param.rows, param.elements, True, turns)
