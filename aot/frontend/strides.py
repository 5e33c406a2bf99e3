"""Selects elements by strides in the cheapest way: a view, row by row, or vector to vector."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from aot.ir.types import TensorType
from aot.ops.rearrange import Loops, Rearrange, row_steps


@dataclass(frozen=True)
class Rearrangement:
    """A rearrangement of a tensor viewed in a shape."""

    op: Rearrange
    source: tuple[int, ...]


def rearrangement(tensor: TensorType, loops: Loops, shape: tuple[int, ...]) -> Rearrangement | None:
    """Returns the op that selects the elements into `shape`; None if a view of that shape suffices."""
    merged = loops.merged()
    if merged.offset == 0 and prod(shape) == tensor.elements and merged.strides in ((), (1,)):
        return None
    if shape == loops.sizes and _by_rows(tensor, loops):
        return Rearrangement(Rearrange(shape, loops.sizes, loops.strides, loops.offset), tensor.shape)
    flat = Rearrange((1, prod(shape)), merged.sizes, merged.strides, merged.offset)
    return Rearrangement(flat, (1, tensor.elements))


def _by_rows(source: TensorType, loops: Loops) -> bool:
    if source.rank != 4 or source.shape[0] != 1:
        return False
    return row_steps(loops, source.shape[2] * source.shape[3]) is not None
