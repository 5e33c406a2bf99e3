"""The automatic scheduler: a loop nest without a hand-written schedule becomes sketches, and these points.

A sketch is a structure made of schedule primitives: which loops are tiled, where sums are kept apart so that
they stay in registers, which loops are written out. Its numbers are knobs, so that everything that searches
hand-written schedules searches these too. What a primitive refuses is no point.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product

from codegen.loops.ir import Declare, For, Proc, Stmt, walk
from codegen.loops.schedule import ScheduleError, privatize, reorder, split, unroll, unroll_by

Steps = tuple[tuple[str, tuple[object, ...]], ...]
_PRIMITIVES: Mapping[str, Callable[..., Proc]] = {
    "split": split,
    "reorder": reorder,
    "privatize": privatize,
    "unroll": unroll,
    "unroll_by": unroll_by,
}
FACTORS = (1, 2, 3, 4, 6, 8)  # of a tile along one loop
TURNS = (1, 2, 3, 4, 8, 16)  # of the innermost reduction that are written out
MOST_SUMS = 16  # of a tile: more do not stay in registers


@dataclass(frozen=True, slots=True)
class Sketch:
    """Which loops are tiled, outermost first, and the sums they keep apart."""

    tiled: tuple[str, ...]
    reduced: tuple[For, ...]  # loops of the reduction, outermost first
    sums: tuple[str, ...]  # the locals of an element

    def steps(self, factors: tuple[int, ...], turns: int) -> Steps:
        """The primitives for these numbers."""
        names = [loop.var for loop in self.reduced]
        sizes = dict(zip(self.tiled, factors, strict=False))
        tiles = [var for var in self.tiled if sizes[var] > 1]
        found: list[tuple[str, tuple[object, ...]]] = []
        for number, var in enumerate(tiles):
            found.append(("split", (var, sizes[var], f"{var}_b", f"{var}_i")))
            if number + 1 < len(tiles):  # the tile goes inside the next loop, which is then split around it
                found.append(("reorder", (f"{var}_i", tiles[number + 1])))
        if self.sums:
            found += [("privatize", (self.sums, f"{var}_i")) for var in tiles]
            found += [("reorder", (f"{var}_i", inner)) for var in tiles for inner in names]
        found += [("unroll", (f"{var}_i",)) for var in tiles]
        return (*found, *self._written_out(turns))

    def _written_out(self, turns: int) -> Steps:
        """The innermost reduction, as a whole where it is no longer than that."""
        if turns == 1 or not self.reduced:
            return ()
        last = self.reduced[-1]
        if last.extent <= turns:
            return (("unroll", (last.var,)),)
        return (("unroll_by", (last.var, turns)),)


def apply(proc: Proc, steps: Steps) -> Proc:
    """Raises ScheduleError where a step cannot be done soundly."""
    for name, arguments in steps:
        proc = _PRIMITIVES[name](proc, *arguments)
    return proc


def as_python(steps: Steps) -> str:
    """The schedule as one would write it by hand."""
    lines = [f"proc = {name}(proc, {', '.join(map(repr, arguments))})" for name, arguments in steps]
    names = ", ".join(sorted({name for name, _ in steps}))
    head = [f"from codegen.loops.schedule import {names}", ""] if steps else ["# the nest as it is"]
    return "\n".join([*head, *lines]) + "\n"


def sketches(proc: Proc) -> tuple[Sketch, ...]:
    """One or two neighbouring loops around the reduction are tiled; the innermost ones first."""
    around, inside = _nest(proc)
    reduced = tuple(s for s in walk(inside) if isinstance(s, For))
    sums = tuple(s.buffer.name for s in inside if isinstance(s, Declare))
    ones = [(var,) for var in reversed(around)]
    twos = [around[n : n + 2] for n in reversed(range(len(around) - 1))]
    return tuple(Sketch(tiled, reduced, sums) for tiled in (*twos, *ones))


def schedules(proc: Proc) -> Mapping[tuple[int, int, int, int], Steps]:
    """All that the primitives accept, by sketch (from 1), factors and turns; each schedule once."""
    found: dict[tuple[int, int, int, int], Steps] = {}
    known: set[Steps] = set()
    for number, sketch in enumerate(sketches(proc), 1):
        for outer, inner, turns in product(FACTORS, FACTORS, TURNS):
            steps = sketch.steps((outer, inner), turns)
            if outer * inner <= MOST_SUMS and steps not in known and _is_sound(proc, steps):
                known.add(steps)
                found[number, outer, inner, turns] = steps
    return found


def _is_sound(proc: Proc, steps: Steps) -> bool:
    try:
        apply(proc, steps)
    except ScheduleError:
        return False
    return True


def _nest(proc: Proc) -> tuple[tuple[str, ...], tuple[Stmt, ...]]:
    """The loops around one element, and what makes it."""
    around: list[str] = []
    body = proc.body
    while len(body) == 1 and isinstance(body[0], For):
        around.append(body[0].var)
        body = body[0].body
    return tuple(around), body
