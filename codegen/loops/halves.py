"""Halves of a proc for two cores: outermost loops cut in two, of which neither touches what the other writes.

Nothing but the bounds of these loops differs between the halves, so that both are one function, which is
given the half to compute. A loop that cannot be cut, of a single turn, belongs to the second half, which
has the smaller share of loops with an odd number of turns. That the halves are apart is not read off the
loops but found by listing every element that each of them writes, and reads of what is written.
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
_MOST_ELEMENTS = 400_000  # to list: half a second
_BUSY = "the halves would share its "
_Element = tuple[str, int, int]  # buffer, row, element


@dataclass(frozen=True, slots=True)
class Shares:
    """The statements that each half of a proc executes in a run."""

    first: int
    second: int

    @property
    def saved(self) -> int:
        """The statements that one core need not wait for."""
        return min(self.first, self.second)


def is_cut(stmt: Stmt) -> bool:
    """True for an outermost loop that is cut in two: others belong to the second half."""
    return isinstance(stmt, For) and stmt.extent > 1 and not stmt.unrolled


def turns_of(loop: For, half: int) -> range:
    """The turns of an outermost loop that belong to a half."""
    middle = -(-loop.extent // 2) if is_cut(loop) else 0
    return range(middle) if half == FIRST else range(middle, loop.extent)


def halves_of(proc: Proc) -> Shares | str:
    """The shares of both halves, or why the proc has none."""
    shared = next((p for p in proc.params if p.role in (Role.STATE, Role.SCRATCH)), None)
    if shared is not None:
        return f"{_BUSY}{shared.role.value}"
    if any(p.may_alias for p in proc.params):
        return "its result may lie where an operand lies"
    loops = [stmt for stmt in proc.body if isinstance(stmt, For)]
    if len(loops) < len(proc.body):
        return f"{_BUSY}variables"
    if not any(map(is_cut, loops)):
        return "its outermost loop has a single turn"
    touched = [_touched(loops, half) for half in (FIRST, SECOND)]
    if sum(places.elements for half in touched for places in half) > _MOST_ELEMENTS:
        return "its results are too many to list"
    written, used = zip(*map(_listed, touched), strict=True)
    if written[FIRST] & used[SECOND] or written[SECOND] & used[FIRST]:
        return f"{_BUSY}results"
    first, second = (
        sum(_executed(loop.body, len(turns_of(loop, half))) for loop in loops) for half in (0, 1)
    )
    return Shares(first, second)


def _executed(body: Body, times: int) -> int:
    """The statements that are executed, those that only declare not counted."""
    return times * sum(
        _executed(stmt.body, stmt.extent) if isinstance(stmt, For) else not isinstance(stmt, Declare)
        for stmt in body
    )


@dataclass(frozen=True, slots=True)
class _Places:
    """The elements of a result that a statement writes, or reads, while the loops around it turn."""

    place: BufferPlace  # the first of them
    rows: int  # from there, each turn
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
        """(buffer, row, element) of each."""
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
    """The elements that a half writes, and those that it writes or reads."""
    written: set[_Element] = set().union(*(places.numbers() for places in half if places.is_written))
    return written, written.union(*(places.numbers() for places in half if not places.is_written))


def _touched(loops: Sequence[For], half: int) -> list[_Places]:
    of_loops = ((loop, turns_of(loop, half)) for loop in loops)
    found = [each for loop, turns in of_loops if turns for each in _places(loop.body, {loop.var: turns})]
    return [each for each in found if each.place.buffer.role is Role.OUTPUT]


def _places(body: Body, turns: Mapping[str, range]) -> Iterator[_Places]:
    """The places in statements; what an instruction is given of a result counts as written and as read."""
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
