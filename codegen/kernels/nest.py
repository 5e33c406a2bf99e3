"""Loops over flat memory: how far apart, for each operand, the elements of neighbouring steps lie."""

from __future__ import annotations

from collections.abc import Sequence

from aot.ir.strides import dense_strides
from aot.records import dataclass
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import For, Stmt


@dataclass(frozen=True)
class StridedNest:
    """`strides` has a row for each operand, with a stride for each of the sizes; the innermost is last."""

    sizes: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]

    def merged(self) -> StridedNest:
        """Fewer loops that do the same: none of one step, none that only goes on where the inner ends."""
        kept: list[tuple[int, tuple[int, ...]]] = []
        for size, steps in zip(self.sizes, zip(*self.strides, strict=True), strict=True):
            if size == 1:
                continue
            if kept and kept[-1][1] == tuple(size * step for step in steps):
                kept[-1] = (kept[-1][0] * size, steps)
            else:
                kept.append((size, steps))
        columns = [tuple(steps[i] for _, steps in kept) for i in range(len(self.strides))]
        return StridedNest(tuple(size for size, _ in kept), tuple(columns))

    def element(self, operand: int, prefix: str = "i") -> Affine:
        """The index of the operand's element of a step, counted from its first."""
        place = Affine()
        for axis, stride in enumerate(self.strides[operand]):
            place = place + variable(f"{prefix}{axis}") * stride
        return place

    def loops(self, *body: Stmt, prefix: str = "i") -> tuple[Stmt, ...]:
        """The body once for each step."""
        for axis, size in reversed(list(enumerate(self.sizes))):
            body = (For(f"{prefix}{axis}", size, body),)
        return body


def repeated_strides(shape: Sequence[int], whole: Sequence[int]) -> tuple[int, ...]:
    """The strides of a tensor that is repeated along the dimensions that it lacks or has once."""
    missing = len(whole) - len(shape)
    strides = dense_strides(shape)
    return (0,) * missing + tuple(0 if size == 1 else step for size, step in zip(shape, strides, strict=True))
