"""The automatic scheduler: a loop nest without a hand-written schedule becomes sketches, and these points.

A sketch is a structure made of schedule primitives: which loops are tiled, where sums are kept apart so that
they stay in registers, which loops are written out. Its numbers are knobs, so that everything that searches
hand-written schedules searches these too. What a primitive refuses is no point.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from codegen.loops.ir import Accumulate, Declare, For, Invoke, Proc, Role, Stmt, Store, loads_of, walk
from codegen.loops.lanes import Lanes, lanes_name, vectorize
from codegen.loops.schedule import ScheduleError, privatize, reorder, split, unroll, unroll_by

Step = tuple[str, tuple[object, ...]]
Steps = tuple[Step, ...]
_PRIMITIVES: Mapping[str, Callable[..., Proc]] = {
    "split": split,
    "reorder": reorder,
    "privatize": privatize,
    "unroll": unroll,
    "unroll_by": unroll_by,
    "vectorize": vectorize,
}
FACTORS = (1, 2, 3, 4, 6, 8)  # of a tile along one loop
TURNS = (1, 2, 3, 4, 8, 16, 32)  # of the reduction that are written out
MOST_SUMS = 16  # of a tile: more do not stay in registers
_MOST_TILED = 2  # loops; of more, a tile would hold too many sums

Numbers = Mapping[str, int]  # a factor for each loop around, by its variable; "order"; "turns"


@dataclass(frozen=True, slots=True)
class Nest:
    """The loops around one element, outermost first, and what makes it."""

    around: tuple[For, ...]
    reduced: tuple[For, ...]  # loops of the reduction, outermost first
    sums: tuple[str, ...]  # the locals of an element
    lanes: Lanes | None = None  # in which neighbours along the innermost loop may lie

    @property
    def open_numbers(self) -> Mapping[str, tuple[int, ...]]:
        """The choices, the nest as it is first: tiles, the order of the inner two loops, turns."""
        tiles = {loop.var: tuple(f for f in FACTORS if f <= loop.extent) for loop in self.around}
        order = {"order": (1, 2)} if len(self.around) > 1 else {}
        turns = math.prod(loop.extent for loop in self.reduced)
        written_out = tuple(n for n in TURNS if n == 1 or n // 2 < turns)
        side_by_side = {"lanes": (1, self.lanes.count)} if self.lanes is not None else {}
        return {**tiles, **order, **side_by_side, **({"turns": written_out} if self.reduced else {})}

    @property
    def extents(self) -> Mapping[str, int]:
        """Tiles of the loops that the numbers divide."""
        turns = math.prod(loop.extent for loop in self.reduced)
        return {**{loop.var: loop.extent for loop in self.around}, "turns": turns}

    def steps(self, numbers: Numbers) -> Steps:
        """The primitives for these numbers."""
        around = [loop.var for loop in self.around]
        found: list[Step] = []
        factors = {var: numbers[var] for var in around}
        if numbers.get("lanes", 1) > 1 and self.lanes is not None:
            last = around.pop()
            around.append(f"{last}_v")
            factors[f"{last}_v"] = factors.pop(last)
            found.append(("split", (last, self.lanes.count, f"{last}_v", f"{last}_l")))
            found.append(("vectorize", (f"{last}_l", self.lanes)))
        if numbers.get("order", 1) == 2:
            found.append(("reorder", (around[-2], around[-1])))
            around[-2:] = around[-1], around[-2]
        tiles = [var for var in around if factors[var] > 1]
        found += self._tiled(tiles, [factors[var] for var in tiles], numbers.get("lanes", 1) > 1)
        return (*found, *self._written_out(numbers.get("turns", 1)))

    def _tiled(self, tiles: Sequence[str], factors: Sequence[int], is_wide: bool) -> list[Step]:
        found: list[Step] = []
        for number, (var, factor) in enumerate(zip(tiles, factors, strict=True)):
            found.append(("split", (var, factor, f"{var}_b", f"{var}_i")))
            if number + 1 < len(tiles):  # the tile goes inside the next loop, which is then split around it
                found.append(("reorder", (f"{var}_i", tiles[number + 1])))
        if self.sums:
            sums = (*self.sums, *map(lanes_name, self.sums)) if is_wide else self.sums
            found += [("privatize", (sums, f"{var}_i")) for var in tiles]
            found += [("reorder", (f"{var}_i", loop.var)) for var in tiles for loop in self.reduced]
        return [*found, *(("unroll", (f"{var}_i",)) for var in tiles)]

    def _written_out(self, turns: int) -> list[Step]:
        """The innermost loops as wholes while they are no longer, then a part of the next."""
        found: list[Step] = []
        for loop in reversed(self.reduced):
            if turns > 1 and not loop.unrolled:
                whole = loop.extent <= turns
                found.append(("unroll", (loop.var,)) if whole else ("unroll_by", (loop.var, turns)))
            turns //= loop.extent
        return found

    def allows(self, numbers: Numbers) -> bool:
        """True where tiles are of neighbouring loops and their sums stay in registers."""
        tiled = [n for n, loop in enumerate(self.around) if numbers[loop.var] > 1]
        last = self.around[-1]
        if numbers.get("lanes", 1) * numbers[last.var] > last.extent:
            return False
        near = len(tiled) <= 1 or (len(tiled) == _MOST_TILED and tiled[1] == tiled[0] + 1)
        return near and math.prod(numbers[loop.var] for loop in self.around) <= MOST_SUMS


def nest_of(proc: Proc, lanes: Lanes | None = None) -> Nest | None:
    """The nest of a proc; None where it is more than one, has instructions, or reads what it has written."""
    around: list[For] = []
    body = proc.body
    while len(body) == 1 and isinstance(body[0], For) and not _is_reduction(body[0]):
        around.append(body[0])
        body = body[0].body
    inside = tuple(walk(body))
    if not around or any(loop.unrolled for loop in around) or not all(map(_is_free, inside)):
        return None
    reduced = tuple(s for s in inside if isinstance(s, For))
    return Nest(tuple(around), reduced, tuple(s.buffer.name for s in body if isinstance(s, Declare)), lanes)


def _is_reduction(loop: For) -> bool:
    """True where all iterations of the loop write one place."""
    written = [s.place for s in walk(loop.body) if isinstance(s, Store | Accumulate)]
    return any(loop.var not in p.variables for p in written if p.buffer.role is not Role.LOCAL)


def _is_free(stmt: Stmt) -> bool:
    """True where the order of the elements does not matter."""
    if not isinstance(stmt, Store | Accumulate):
        return not isinstance(stmt, Invoke)
    read = {load.place.buffer.role for load in loads_of(stmt.value)}
    return not read & {Role.OUTPUT, Role.STATE}


def apply(proc: Proc, steps: Steps) -> Proc:
    """Raises ScheduleError where a step cannot be done soundly."""
    for name, arguments in steps:
        proc = _PRIMITIVES[name](proc, *arguments)
    return proc


def is_sound(proc: Proc, steps: Steps) -> bool:
    try:
        apply(proc, steps)
    except ScheduleError:
        return False
    return True


def as_python(steps: Steps) -> str:
    """The schedule as one would write it by hand."""
    lines = [f"proc = {name}(proc, {', '.join(map(repr, arguments))})" for name, arguments in steps]
    names = ", ".join(sorted({name for name, _ in steps}))
    head = [f"from codegen.loops.schedule import {names}", ""] if steps else ["# the nest as it is"]
    return "\n".join([*head, *lines]) + "\n"
