"""The automatic scheduler: derives sketches and their points from an unscheduled loop nest.

A sketch is a structure of schedule primitives: which loops are tiled, which sums stay in registers, which
loops are unrolled. Its numbers are knobs, so that every search over hand-written schedules covers these too.
Points that a primitive rejects are skipped.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from codegen.loops.ir import Accumulate, Body, Declare, For, Invoke, Proc, Role, Stmt, Store, loads_of, walk
from codegen.loops.schedule import ScheduleError, privatize, reorder, split, unroll, unroll_by
from codegen.loops.share import overlaps, share
from codegen.loops.tensorize import Lanes, lanes_name, vectorize

Step = tuple[str, tuple[object, ...]]
Steps = tuple[Step, ...]
_PRIMITIVES: Mapping[str, Callable[..., Proc]] = {
    "split": split,
    "reorder": reorder,
    "privatize": privatize,
    "unroll": unroll,
    "unroll_by": unroll_by,
    "vectorize": vectorize,
    "share": share,
}
FACTORS = (1, 2, 3, 4, 6, 8)  # of a tile along one loop
_MORE_FACTORS = (5, 7)  # only if they divide the extent
TURNS = (1, 2, 3, 4, 8, 16, 32)  # of the reduction to unroll
MOST_SUMS = 16  # of a tile; more do not fit into registers
_MOST_TILED = 2  # loops; with more, a tile would hold too many sums

Numbers = Mapping[str, int]  # a factor per outer loop variable; "order"; "turns"


@dataclass(frozen=True, slots=True)
class Nest:
    """The loops around one element, outermost first, and the statements that compute it."""

    around: tuple[For, ...]
    reduced: tuple[For, ...]  # loops of the reduction, outermost first
    sums: tuple[str, ...]  # the locals of an element
    lanes: Lanes | None = None  # that may compute neighbors along the innermost loop
    overlapping: tuple[tuple[str, str], ...] = ()  # outer loops with a window loop whose windows overlap

    @property
    def open_numbers(self) -> Mapping[str, tuple[int, ...]]:
        """Returns the choices, the unchanged nest first: tiles, order of inner loops, windows, unrolling."""
        tiles = {loop.var: _factors(loop.extent) for loop in self.around}
        order = {"order": (1, 2)} if len(self.around) > 1 else {}
        turns = math.prod(loop.extent for loop in self.reduced)
        written_out = tuple(n for n in TURNS if n == 1 or n // 2 < turns)
        side_by_side = {"lanes": (1, self.lanes.count)} if self.lanes is not None else {}
        shared = {"shared": tuple(range(1, len(self.overlapping) + 2))} if self.overlapping else {}
        written = {"turns": written_out} if self.reduced else {}
        return {**tiles, **order, **side_by_side, **shared, **written}

    @property
    def extents(self) -> Mapping[str, int]:
        """Returns the extents of the loops that the numbers divide."""
        turns = math.prod(loop.extent for loop in self.reduced)
        return {**{loop.var: loop.extent for loop in self.around}, "turns": turns}

    def steps(self, numbers: Numbers) -> Steps:
        """Returns the primitives for these numbers."""
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
        found += self._tiled(around, factors, numbers.get("lanes", 1) > 1)
        shared = self._shared(numbers)
        if shared is not None:
            var, window = shared
            found.append(("share", (f"{var}_i", window, f"near_{window}")))
            found += [("unroll", (name,)) for name in (window, f"{var}_i_{window}")]
        found += [("unroll", (f"{var}_i",)) for var in tiles]
        return (*found, *self._written_out(numbers.get("turns", 1), shared and shared[1]))

    def _shared(self, numbers: Numbers) -> tuple[str, str] | None:
        """Returns the tile and the window whose common part neighbors share, or None."""
        chosen = numbers.get("shared", 1)
        return self.overlapping[chosen - 2] if chosen > 1 else None

    def _tiled(self, around: Sequence[str], factors: Mapping[str, int], is_wide: bool) -> list[Step]:
        found: list[Step] = []
        tiles = [var for var in around if factors[var] > 1]
        for var in tiles:
            found.append(("split", (var, factors[var], f"{var}_b", f"{var}_i")))
            # Moves the tile inside the later loops. If one of them is tiled, it is split around the tile
            # next.
            found += [("reorder", (f"{var}_i", inner)) for inner in _after(var, around, tiles)]
        if self.sums:
            sums = (*self.sums, *map(lanes_name, self.sums)) if is_wide else self.sums
            found += [("privatize", (sums, f"{var}_i")) for var in tiles]
            found += [("reorder", (f"{var}_i", loop.var)) for var in tiles for loop in self.reduced]
        return found

    def _written_out(self, turns: int, but: str | None) -> list[Step]:
        """Unrolls the innermost loops whole as long as they fit, then a part of the next."""
        found: list[Step] = []
        for loop in reversed(self.reduced):
            if turns > 1 and not loop.unrolled and loop.var != but:
                whole = loop.extent <= turns
                found.append(("unroll", (loop.var,)) if whole else ("unroll_by", (loop.var, turns)))
            turns //= loop.extent
        return found

    def allows(self, numbers: Numbers) -> bool:
        """Returns True if only neighboring loops are tiled and their sums fit into registers."""
        tiled = [n for n, loop in enumerate(self.around) if numbers[loop.var] > 1]
        last = self.around[-1]
        if numbers.get("lanes", 1) * numbers[last.var] > last.extent:
            return False
        shared = self._shared(numbers)
        if shared is not None and (numbers[shared[0]] == 1 or numbers.get("lanes", 1) > 1):
            return False
        near = len(tiled) <= 1 or (len(tiled) == _MOST_TILED and tiled[1] == tiled[0] + 1)
        return near and math.prod(numbers[loop.var] for loop in self.around) <= MOST_SUMS


def nest_of(proc: Proc, lanes: Lanes | None = None) -> Nest | None:
    """Returns the nest of a proc; None if it has several nests or instructions, or reads its own results."""
    around: list[For] = []
    body = proc.body
    while len(body) == 1 and isinstance(body[0], For) and not _is_reduction(body[0]):
        around.append(body[0])
        body = body[0].body
    inside = tuple(walk(body))
    if not around or any(loop.unrolled for loop in around) or not all(map(_is_free, inside)):
        return None
    reduced = tuple(s for s in inside if isinstance(s, For))
    sums = tuple(s.buffer.name for s in body if isinstance(s, Declare))
    return Nest(tuple(around), reduced, sums, lanes, _overlapping(around, body))


def _overlapping(around: Sequence[For], body: Body) -> tuple[tuple[str, str], ...]:
    """Returns pairs of outer loop and reduction loop whose windows overlap."""
    reductions = [stmt for stmt in body if isinstance(stmt, For)]
    if len(reductions) != 1:
        return ()
    return tuple((loop.var, window) for loop in around for window in overlaps(reductions[0], loop.var))


def _factors(extent: int) -> tuple[int, ...]:
    more = tuple(f for f in _MORE_FACTORS if extent % f == 0)
    return tuple(sorted(f for f in (*FACTORS, *more) if f <= extent))


def _after(var: str, around: Sequence[str], tiles: Sequence[str]) -> Sequence[str]:
    """Returns the loops between a tile's loop and the next tiled one; for the last tile, all inner loops."""
    rest = around[around.index(var) + 1 :]
    last = next((n for n, other in enumerate(rest) if other in tiles), len(rest))
    return rest[: last + 1]


def _is_reduction(loop: For) -> bool:
    """Returns True if all iterations of the loop write to the same place."""
    written = [s.place for s in walk(loop.body) if isinstance(s, Store | Accumulate)]
    return any(loop.var not in p.variables for p in written if p.buffer.role is not Role.LOCAL)


def _is_free(stmt: Stmt) -> bool:
    """Returns True if the elements may be computed in any order."""
    if not isinstance(stmt, Store | Accumulate):
        return not isinstance(stmt, Invoke)
    read = {load.place.buffer.role for load in loads_of(stmt.value)}
    return not read & {Role.OUTPUT, Role.STATE}


def apply(proc: Proc, steps: Steps) -> Proc:
    """Applies the steps. Raises ScheduleError if one is not sound."""
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
    """Returns the schedule as hand-written Python."""
    lines = [f"proc = {name}(proc, {', '.join(map(repr, arguments))})" for name, arguments in steps]
    names = ", ".join(sorted({name for name, _ in steps}))
    head = [f"from codegen.loops.schedule import {names}", ""] if steps else ["# the nest as it is"]
    return "\n".join([*head, *lines]) + "\n"
