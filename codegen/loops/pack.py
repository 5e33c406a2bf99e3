"""Pack: stores a constant at compile time in the order in which the kernel reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from aot.ir.types import Array
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import Buffer, BufferPlace, For, Proc, Stmt, map_places
from codegen.loops.schedule import ScheduleError

IndexArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Packing:
    """Element i of the packed constant is element source[i] of the original, or zero if source[i] is -1."""

    source: tuple[int, ...]

    def apply(self, data: Array) -> Array:
        flat = np.concatenate([data.reshape(-1), np.zeros(1, data.dtype)])
        return flat[np.asarray(self.source, dtype=np.int64)]

    def behind(self, first: Packing) -> Packing:
        """Returns the composition: `first`, then this packing."""
        return Packing(tuple(-1 if at < 0 else first.source[at] for at in self.source))


@dataclass(frozen=True, slots=True)
class _ReadSite:
    """A read of the constant, with the loops that its index depends on, in iteration order."""

    index: Affine
    loops: tuple[tuple[str, int], ...]


def pack(proc: Proc, name: str, order: Sequence[str], valid: Affine, limit: int) -> tuple[Proc, Packing]:
    """Lays out the constant by the loops of `order`, outermost to innermost.

    Reads that visit the same elements in the same order share a part, as do reads that visit a subrange of
    one loop of another read. Elements are zero if the affine `valid` (over the loops) reaches `limit`; that
    is the padded end of a reduction.
    """
    old = proc.param(name)
    parts: dict[_ReadSite, int] = {}
    source: list[int] = []

    def place_for(place: BufferPlace, loops: dict[str, int]) -> Affine:
        walked = [v for v in order if v in place.index.variables and v in loops]
        missing = place.index.variables - set(walked)
        if missing:
            raise ScheduleError(
                f"packing {name}: its index depends on {sorted(missing)}, which the order lacks"
            )
        site = _ReadSite(place.index, tuple((v, loops[v]) for v in walked))
        if site not in parts:
            for known, base in parts.items():
                iterations = _iterations_of(site, known)
                if iterations is not None:
                    return _packed_index(known, base).substitute(iterations)
            parts[site] = len(source)
            source.extend(_elements(site, valid, limit, old.elements))
        return _packed_index(site, parts[site])

    body = tuple(_rewrite(stmt, {}, old, place_for) for stmt in proc.body)
    new = replace(old, elements=len(source))
    body = tuple(map_places(s, lambda p: replace(p, buffer=new) if p.buffer == old else p) for s in body)
    params = tuple(new if p == old else p for p in proc.params)
    return replace(proc, params=params, body=body), Packing(tuple(source))


def _rewrite(stmt: Stmt, loops: dict[str, int], old: Buffer, place_for) -> Stmt:  # type: ignore[no-untyped-def]
    if isinstance(stmt, For):
        inside = {**loops, stmt.var: stmt.extent}
        return replace(stmt, body=tuple(_rewrite(s, inside, old, place_for) for s in stmt.body))
    return map_places(stmt, lambda p: replace(p, index=place_for(p, loops)) if p.buffer == old else p)


def _iterations_of(site: _ReadSite, other: _ReadSite) -> Mapping[str, Affine] | None:
    """Returns the other read's loop if the site visits a subrange of it, in the site's variables; or None."""
    if [var for var, _ in site.loops] != [var for var, _ in other.loops]:
        return None
    shorter = [
        (var, mine, its) for (var, mine), (_, its) in zip(site.loops, other.loops, strict=True) if mine != its
    ]
    apart = site.index - other.index
    if len(shorter) != 1 or not apart.is_constant:
        return None
    ((var, mine, its),) = shorter
    first, rest = divmod(apart.constant, other.index.coefficient(var))
    return {var: variable(var) + first} if rest == 0 <= first <= its - mine else None


def _packed_index(site: _ReadSite, base: int) -> Affine:
    index, step = Affine(constant=base), 1
    for var, extent in reversed(site.loops):
        index = index + variable(var) * step
        step *= extent
    return index


def _elements(site: _ReadSite, valid: Affine, limit: int, elements: int) -> list[int]:
    shape = tuple(extent for _, extent in site.loops)
    at = dict(zip((var for var, _ in site.loops), np.indices(shape), strict=True))
    index = np.broadcast_to(_everywhere(site.index, at), shape)
    inside = _everywhere(valid, at) < limit
    found: list[int] = np.where(inside & (index < elements), index, -1).reshape(-1).tolist()
    return found


def _everywhere(affine: Affine, at: Mapping[str, IndexArray]) -> IndexArray:
    """Returns the values of an index at every point of the loops. Variables of other loops are zero."""
    value: IndexArray = np.asarray(affine.constant, np.int64)
    for name, factor in affine.terms:
        value = value + factor * at.get(name, np.zeros((), np.int64))
    return value
