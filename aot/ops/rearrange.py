"""Rearrangement: elements addressed by strides. Slices, transpositions and repetitions become this op."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, TensorType
from aot.ops import constraints as limits
from aot.ops.op import Constraint, Cost, Op, Types, required


@dataclass(frozen=True, slots=True)
class Loops:
    """Nested loops, innermost last: the element of the flat input that each iteration reads."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0

    @property
    def reach(self) -> tuple[int, int]:
        """Returns the smallest and the largest index read."""
        ends = [(size - 1) * stride for size, stride in zip(self.sizes, self.strides, strict=True)]
        return (
            self.offset + sum(end for end in ends if end < 0),
            self.offset + sum(end for end in ends if end > 0),
        )

    def merged(self) -> Loops:
        """Returns fewer loops that read the same: drops loops of size 1 and joins contiguous ones."""
        kept: list[tuple[int, int]] = []
        for size, stride in zip(self.sizes, self.strides, strict=True):
            if size == 1:
                continue
            if kept and kept[-1][1] == size * stride:
                kept[-1] = (kept[-1][0] * size, stride)
            else:
                kept.append((size, stride))
        return Loops(tuple(s for s, _ in kept), tuple(s for _, s in kept), self.offset)

    def indices(self) -> Array:
        """Returns the index in the flat input for each element of the flat result."""
        total = np.full(self.sizes, self.offset, np.int64)
        for axis, (size, stride) in enumerate(zip(self.sizes, self.strides, strict=True)):
            steps = np.arange(size, dtype=np.int64) * stride
            total += steps.reshape([-1 if a == axis else 1 for a in range(len(self.sizes))])
        return total.reshape(-1)


MOST_PLANES = 16  # per row: each is a pointer on the stack


@dataclass(frozen=True, slots=True)
class RowPicks:
    """Row y consists of input rows y * stride + first + i * step: one, or one for each channel."""

    stride: int
    first: int
    count: int = 1
    step: int = 1


LEAST_SPREAD = 16  # elements of a row; scattering fewer is not worth a step


@dataclass(frozen=True, slots=True)
class RowSpread:
    """Step y scatters elements of input row first + y * stride to the result.

    The loops iterate over these elements: their positions in the row, and in the result from `apart` * y on.
    """

    steps: int
    stride: int
    first: int
    apart: int  # elements of the result
    sizes: tuple[int, ...]
    sources: tuple[int, ...]  # strides in the row
    targets: tuple[int, ...]  # strides in the result
    offset: int  # of the first element in its row


def row_spread(loops: Loops, row_elements: int) -> RowSpread | None:
    """Describes how input rows are scattered over the result; None unless exactly one loop crosses rows."""
    inner, outer = list[_Loop](), list[_Loop]()
    for each in _loops(loops):
        by_rows, within = each.split(row_elements)
        outer += [by_rows] if by_rows is not None else []
        inner += [within] if within is not None else []
    low, high = Loops(tuple(i.size for i in inner), tuple(i.source for i in inner), loops.offset).reach
    first = low // row_elements
    if len(outer) != 1 or not inner or high // row_elements != first or row_elements < LEAST_SPREAD:
        return None
    (rows,) = outer
    if rows.source < 0:
        return None
    return RowSpread(
        rows.size,
        rows.source // row_elements,
        first,
        rows.target,
        tuple(each.size for each in inner),
        tuple(each.source for each in inner),
        tuple(each.target for each in inner),
        loops.offset - first * row_elements,
    )


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop: its size and its strides in the input and in the result."""

    size: int
    source: int
    target: int

    def split(self, row_elements: int) -> tuple[_Loop | None, _Loop | None]:
        """Splits into the part that crosses rows, and the part within a row."""
        if self.source % row_elements == 0 and self.source:
            return self, None
        each, rest = divmod(row_elements, self.source) if self.source > 0 else (self.size, 1)
        if rest or self.size <= each or self.size % each:
            return None, self
        by_rows = _Loop(self.size // each, row_elements, self.target * each)
        return by_rows, (_Loop(each, self.source, self.target) if each > 1 else None)


def _loops(loops: Loops) -> list[_Loop]:
    """Returns the loops, merged, with their strides in the result."""
    merged, target, found = loops.merged(), 1, list[_Loop]()
    for size, source in zip(reversed(merged.sizes), reversed(merged.strides), strict=True):
        found.insert(0, _Loop(size, source, target))
        target *= size
    return found


def _planes(loops: Loops, row_elements: int) -> RowPicks | None:
    """Describes rows of images with planar channels, if each row of a plane is in one input row, or None."""
    (_, _, width, channels), (_, down, along, across) = loops.sizes, loops.strides
    if channels > MOST_PLANES or down <= 0 or across <= 0 or along < 0:
        return None
    if down % row_elements or across % row_elements:
        return None
    if loops.offset % row_elements + (width - 1) * along >= row_elements:
        return None
    return RowPicks(down // row_elements, loops.offset // row_elements, channels, across // row_elements)


def row_steps(loops: Loops, row_elements: int) -> tuple[int, int] | None:
    """Returns (stride, first) in input rows if each row of an image [1, H, W, C] reads from a single row."""
    if len(loops.sizes) != 4 or loops.sizes[0] != 1:
        return None
    if loops.strides[1] < 0 or loops.strides[1] % row_elements:
        return None
    inner = Loops(loops.sizes[2:], loops.strides[2:], loops.offset)
    low, high = inner.reach
    first = low // row_elements
    return (loops.strides[1] // row_elements, first) if high // row_elements == first else None


def _inside(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    assert isinstance(op, Rearrange)
    x, (low, high) = required(inputs[0]), op.loops.reach
    return None if low >= 0 and high < x.elements else f"elements {low} to {high} of {x.elements}"


def is_vector(tensor: TensorType) -> bool:
    return prod(tensor.shape[:-1]) == 1


@dataclass(frozen=True, slots=True)
class Rearrange(Op):
    """Input: x of any type. Element (i, j, ...) is element offset + i * strides[0] + ... of flat x."""

    name: ClassVar[str] = "rearrange"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(1, 1),
        limits.DTYPE_IS_KEPT,
        Constraint("no element outside the input may be read", _inside),
    )
    shape: tuple[int, ...] = ()
    sizes: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    offset: int = 0

    @property
    def loops(self) -> Loops:
        return Loops(self.sizes, self.strides, self.offset)

    def picks(self, x: TensorType) -> RowPicks | None:
        """Describes each part of the rows of a result, if its images are read row by row."""
        if x.rank != 4 or x.shape[0] != 1 or self.sizes != self.shape:
            return None
        row_elements = x.shape[2] * x.shape[3]
        steps = row_steps(self.loops, row_elements)
        if steps is not None:
            return RowPicks(*steps)
        return _planes(self.loops, row_elements) if len(self.sizes) == 4 and self.sizes[0] == 1 else None

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        return ((required(inputs[0]).dtype.value, self.shape),)

    def reference(
        self, arrays: Sequence[Array | None], inputs: Types, outputs: Sequence[TensorType]
    ) -> tuple[Array, ...]:
        return (required(arrays[0]).reshape(-1)[self.loops.indices()].reshape(self.shape),)

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        return Cost(elementwise=outputs[0].elements)
