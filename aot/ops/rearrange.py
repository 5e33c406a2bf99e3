"""Rearrangement: elements addressed by strides. Slices, transpositions and repetitions become this op."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, TensorType, dense_strides
from aot.ops import constraints as limits
from aot.ops.op import Arrays, Constraint, Op, Types, required


@dataclass(frozen=True, slots=True)
class AxisLoop:
    """A loop that steps along one axis; the step is 0 if it reads the same element again."""

    size: int
    axis: int
    step: int


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

    @property
    def is_identity(self) -> bool:
        """Returns whether the first elements are read in order."""
        merged = self.merged()
        return not merged.offset and merged.strides in ((), (1,))

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

    def by_axes(self, shape: Sequence[int]) -> tuple[Loops, ...] | None:
        """Returns the loops of each axis of a result of that shape; None if these cross axes."""
        merged, found = self.merged(), list[Loops]()
        left = list(zip(merged.sizes, merged.strides, strict=True))
        for size in reversed(shape):
            group = list[tuple[int, int]]()
            while size > 1:
                length, stride = left.pop() if left else (0, 0)
                inner = min(length, size)
                if not inner or size % inner or length % inner:
                    return None
                group.insert(0, (inner, stride))
                left += [(length // inner, stride * inner)] if length > inner else []
                size //= inner
            found.insert(0, Loops(tuple(n for n, _ in group), tuple(s for _, s in group)))
        return None if left else tuple(found)

    def in_axes(self, shape: Sequence[int]) -> Loops | None:
        """Returns one loop for each axis of a result of that shape; None if there are no such loops."""
        groups = self.by_axes(shape)
        if groups is None or any(len(each.sizes) > 1 for each in groups):
            return None
        return Loops(tuple(shape), tuple(sum(each.strides) for each in groups), self.offset)

    def along(self, shape: Sequence[int]) -> tuple[AxisLoop, ...] | None:
        """Returns loops that each step along one axis of an input of that shape; None if these do not.

        A loop that crosses axes is split. The offset of the loops is not in the result.
        """
        weights, found = dense_strides(shape), list[AxisLoop]()
        ends = [self.offset // weight % size for size, weight in zip(shape, weights, strict=True)]
        left = list(zip(self.sizes, self.strides, strict=True))
        while left:
            size, stride = left.pop(0)
            if size == 1 or stride == 0:
                found.append(AxisLoop(size, 0, 0))
                continue
            axis = next((a for a, w in enumerate(weights) if shape[a] > 1 and 0 < w <= stride), None)
            if axis is None or stride % weights[axis]:
                return None
            step = stride // weights[axis]
            if (size - 1) * step < shape[axis]:
                found.append(AxisLoop(size, axis, step))
                ends[axis] += (size - 1) * step
                continue
            inner, rest = divmod(shape[axis], step)
            if rest or inner < 2 or size % inner:
                return None
            left[:0] = [(size // inner, stride * inner), (inner, stride)]
        return tuple(found) if all(end < size for end, size in zip(ends, shape, strict=True)) else None

    def over(self, inner: Loops) -> Loops | None:
        """Returns loops that read from the input of `inner` what these read from its result, or None."""
        found = self.along(inner.sizes)
        if found is None:
            return None
        offset, rest = inner.offset, self.offset
        for weight, stride in zip(dense_strides(inner.sizes), inner.strides, strict=True):
            offset += rest // weight * stride
            rest %= weight
        strides = (each.step * inner.strides[each.axis] if each.step else 0 for each in found)
        return Loops(tuple(each.size for each in found), tuple(strides), offset)

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

    The loops iterate over these elements: their positions in the row, and in the result from
    `y // group * apart + y % group * within` on.
    """

    steps: int
    stride: int  # in rows of the input
    first: int
    apart: int  # elements of the result
    group: int  # steps
    within: int  # elements of the result
    sizes: tuple[int, ...]
    sources: tuple[int, ...]  # strides in the row
    targets: tuple[int, ...]  # strides in the result
    offset: int  # of the first element in its row


def row_spread(loops: Loops, row_elements: int) -> RowSpread | None:
    """Describes how input rows are scattered over the result.

    Returns None unless one loop crosses rows, or two that take the rows in groups of equal size.
    """
    inner, outer = list[_Loop](), list[_Loop]()
    for each in _loops(loops):
        by_rows, within = each.split(row_elements)
        outer += [by_rows] if by_rows is not None else []
        inner += [within] if within is not None else []
    low, high = Loops(tuple(i.size for i in inner), tuple(i.source for i in inner), loops.offset).reach
    first = low // row_elements
    if not inner or high // row_elements != first or row_elements < LEAST_SPREAD:
        return None
    if len(outer) not in (1, 2) or min(each.source for each in outer) < 0:
        return None
    outer.sort(key=lambda each: each.source)
    row, group = (_Loop(1, outer[0].source, 0), outer[0]) if len(outer) == 1 else outer
    if group.source != row.source * row.size:
        return None
    return RowSpread(
        row.size * group.size,
        row.source // row_elements,
        first,
        group.target,
        row.size,
        row.target,
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


def _inside(op: Rearrange, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
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

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        return (required(arrays[0]).reshape(-1)[self.loops.indices()].reshape(self.shape),)
