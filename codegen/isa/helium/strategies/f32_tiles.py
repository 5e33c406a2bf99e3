"""Kernels of float tiles on Helium: the tiles of a row, and weights in the order in which they are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from aot.ir.types import Array, DType
from codegen.kernels.f32_sums import with_fused_sums
from codegen.kernels.half_weights import is_half
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.strategy import F32_INPUTS, NOT_FOR_SIZE, Condition
from codegen.loops.affine import Affine
from codegen.loops.ir import Instruction, Proc, map_places
from codegen.loops.pack import pack
from codegen.loops.schedule import partition, reorder, split
from codegen.loops.tensorize import tensorize


def _in_words(site: Site) -> bool:
    return site.input(1).dtype is DType.F32 and not (site.half_weights and is_half(site.constants[1]))


FITS = (F32_INPUTS, NOT_FOR_SIZE, Condition("weights stored in 32 bits", _in_words))


@dataclass(frozen=True, slots=True)
class Pieces:
    """The tiles along an axis: some of one size, and one of the rest."""

    extent: int
    size: int

    @property
    def found(self) -> tuple[tuple[int, int], ...]:
        """Returns the count and the size of each kind of tile."""
        count, rest = divmod(self.extent, self.size)
        return tuple((n, size) for n, size in ((count, self.size), (1, rest)) if n and size)

    def split(self, proc: Proc, var: str) -> Proc:
        """Returns the proc with a loop <var>_i over each tile, in <var>_b or <var>_rest_b."""
        count, rest = divmod(self.extent, self.size)
        if count and rest:
            proc = partition(proc, var, count * self.size, var, f"{var}_rest")
        if rest:
            proc = split(proc, f"{var}_rest" if count else var, rest, f"{var}_rest_b", f"{var}_i")
        return split(proc, var, self.size, f"{var}_b", f"{var}_i") if count else proc


@dataclass(frozen=True, slots=True)
class Tiling:
    """The tiles of a row of results."""

    pixels: Pieces
    channels: Pieces

    def cycles(self, tile: Callable[[int, int], int]) -> int:
        """Returns the cycles of a row, given those of a tile of some pixels and channels."""
        return sum(n * m * tile(p, c) for (n, p), (m, c) in product(self.pixels.found, self.channels.found))


def with_tiles(
    kernel: Kernel,
    loops: Sequence[str],
    tiling: Tiling,
    instruction: Callable[[int, int], Instruction],
    reads_ahead: int,
    weights: str = "w",
) -> Kernel:
    """Returns the kernel with its unscheduled sums as instructions for some pixels and channels.

    `loops` are those around a sum: over channels, then others, the last one over the row's pixels.
    `reads_ahead` is the number of elements after the last weight that are loaded with it.
    """
    channel, *others = loops
    proc = tiling.channels.split(with_fused_sums(kernel).proc, channel)
    for var in others:
        proc = reorder(proc, f"{channel}_i", var)
    proc = tiling.pixels.split(proc, others[-1])
    order = (f"{channel}_b", f"{channel}_rest_b", "m", "r", "t", "k", f"{channel}_i")
    proc, packing = pack(proc, weights, order, Affine(), limit=1)
    sizes = [(p, c) for (_, p), (_, c) in product(tiling.pixels.found, tiling.channels.found)]
    proc = tensorize(proc, f"{others[-1]}_i", [instruction(*size) for size in sizes])

    def packed(part: Array) -> Array:
        return np.concatenate([packing.apply(part), np.zeros(reads_ahead, part.dtype)])

    stored, size = kernel.constants[weights], kernel.row_tables.get(weights)
    parts = [packed(part) for part in (np.split(stored, stored.size // size) if size else [stored])]
    return replace(
        kernel,
        strategy=f"helium-{kernel.strategy}",
        why=f"{tiling.pixels.size} pixels x {tiling.channels.size} channels at a time",
        proc=_lengthened(proc, weights, reads_ahead),
        constants={**kernel.constants, weights: np.concatenate(parts)},
        row_tables={**kernel.row_tables, weights: parts[0].size} if size else {},
    )


def _lengthened(proc: Proc, name: str, more: int) -> Proc:
    """Returns the proc with more elements in a parameter than its loops read."""
    old = proc.param(name)
    new = replace(old, elements=old.elements + more)
    body = [map_places(s, lambda p: replace(p, buffer=new) if p.buffer == old else p) for s in proc.body]
    params = tuple(new if p == old else p for p in proc.params)
    return replace(proc, params=params, body=tuple(body))
