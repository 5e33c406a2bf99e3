"""blobs: each cell joins a blob that it touches or begins one. Then blobs merge, and gaps are closed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aot.ir.types import DType
from aot.ops.blobs import CORNERS, Blobs
from codegen.formats import RowFormat
from codegen.isa.plain.f32 import literal
from codegen.isa.plain.scalar_math import expression_function
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.row_nests import flat_kernel, flat_requests, operand, result
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Apply,
    Buffer,
    BufferPlace,
    Choose,
    Const,
    Expr,
    For,
    Index,
    Load,
    ScalarFunction,
    Stmt,
    Store,
    at,
    equal,
    less,
    let,
    load,
    local,
    minimum,
)

_PAIR = (DType.F32, DType.F32)
_AS_F32 = expression_function("as_real", DType.F32, (DType.I32,), "(float)a", float)
_LESS = expression_function("lesser", DType.F32, _PAIR, "a < b ? a : b", min)
_MORE = expression_function("greater", DType.F32, _PAIR, "a > b ? a : b", max)
_GROWN = (_LESS, _LESS, _MORE, _MORE)  # of the corners, for the box around two boxes
_BEFORE = expression_function("one_before", DType.F32, (DType.F32,), "a - 1.0f", lambda a: a - 1)
_TOUCH = ScalarFunction(
    "boxes_touch",
    DType.I32,
    """\
/* Whether two boxes meet, at a corner too. */
static inline int32_t boxes_touch(float left, float top, float right, float bottom, float left2, float top2,
    float right2, float bottom2)
{
    return left <= right2 && left2 <= right && top <= bottom2 && top2 <= bottom;
}
""",
    lambda a, b, c, d, e, f, g, h: int(a <= g and e <= c and b <= h and f <= d),
)
_PLACE = local("place", DType.I32)  # of the blob to join; -1: none
_COUNT = local("count", DType.I32)
_MOVES = local("moves", DType.I32)
_SLOT, _OTHER = variable("slot"), variable("other")


class _List:
    """The result under construction: classes count from the background, and are 0 for free slots."""

    def __init__(self, buffer: Buffer, most: int) -> None:
        self._buffer, self.most = buffer, most

    @property
    def total(self) -> BufferPlace:
        return at(self._buffer, self.most * (CORNERS + 2))

    def corners(self, number: Affine) -> list[BufferPlace]:
        return [at(self._buffer, number * CORNERS + n) for n in range(CORNERS)]

    def kind(self, number: Affine) -> BufferPlace:
        return at(self._buffer, number + self.most * CORNERS)

    def score(self, number: Affine) -> BufferPlace:
        return at(self._buffer, number + self.most * (CORNERS + 1))

    def every(self, number: Affine) -> list[BufferPlace]:
        return [*self.corners(number), self.kind(number), self.score(number)]


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    op = site.op_as(Blobs)
    xs, ys = operand(site, 0, "scores"), result(site)
    listed = _List(ys, op.count)
    body: tuple[Stmt, ...] = (
        *let(_COUNT, 0),
        For("i", ys.elements, (Store(at(ys, variable("i")), Const(0.0)),)),
        *_cells(site, xs, listed, op.least),
        For("slot", op.count, _blobs_joined(listed)),
        For("slot", op.count, (For("other", op.count, _gap_closed(listed)),)),
        For("slot", op.count, _finished(listed)),
    )
    return flat_kernel(site, (xs,), body, "the blobs")


def _cells(site: Site, xs: Buffer, listed: _List, least: float) -> tuple[Stmt, ...]:
    _, rows, columns, classes = site.input(0).shape
    row, column, kind = (variable(name) for name in ("row", "column", "label"))
    score = load(xs, (row * columns + column) * classes + kind + 1)
    corners = [_real(Index(each)) for each in (column, row, column + 1, row + 1)]
    is_same = equal(_real(Index(kind + 1)), Load(listed.kind(_SLOT)))
    touches = Apply(_TOUCH, (*corners, *map(Load, listed.corners(_SLOT))))
    is_seen = Apply(_is_seen(least), (score,))
    is_new = equal(load(_PLACE), load(_COUNT))
    new = [*corners, _real(Index(kind + 1)), score]
    is_here = equal(Index(_SLOT), load(_PLACE))
    steps: tuple[Stmt, ...] = (
        *let(_PLACE, Const(-1)),
        For("slot", listed.most, (_first(_SLOT, is_same, touches),)),
        Store(at(_PLACE), Choose(_nowhere(), load(_COUNT), load(_PLACE))),
        Store(at(_PLACE), Choose(is_seen, load(_PLACE), Const(-1))),
        For(
            "slot",
            listed.most,
            tuple(
                Store(place, Choose(is_here, Choose(is_new, value, grown), Load(place)))
                for place, value, grown in zip(
                    listed.every(_SLOT), new, _grown(listed, _SLOT, corners, score), strict=True
                )
            ),
        ),
        Store(at(_COUNT), load(_COUNT) + is_new),
        Store(at(_COUNT), minimum(load(_COUNT), listed.most)),
    )
    return (For("row", rows, (For("column", columns, (For("label", classes - 1, steps),)),)),)


def _blobs_joined(listed: _List) -> tuple[Stmt, ...]:
    """Merges each blob into the first earlier one that it touches."""
    corners = [Load(place) for place in listed.corners(_SLOT)]
    score, kind = Load(listed.score(_SLOT)), Load(listed.kind(_SLOT))
    is_same = _both(
        less(Index(_OTHER), Index(_SLOT)),
        _both(_is_blob(listed, _SLOT), equal(kind, Load(listed.kind(_OTHER)))),
    )
    touches = Apply(_TOUCH, (*corners, *map(Load, listed.corners(_OTHER))))
    is_there = equal(Index(_OTHER), load(_PLACE))
    return (
        *let(_PLACE, Const(-1)),
        For("other", listed.most, (_first(_OTHER, is_same, touches),)),
        For(
            "other",
            listed.most,
            tuple(
                Store(place, Choose(is_there, grown, Load(place)))
                for place, grown in zip(
                    listed.every(_OTHER), _grown(listed, _OTHER, corners, score), strict=True
                )
            ),
        ),
        Store(listed.kind(_SLOT), Choose(_nowhere(), kind, Const(0.0))),
    )


def _gap_closed(listed: _List) -> tuple[Stmt, ...]:
    """Moves the blob of a later slot into a free one."""
    is_free = equal(Load(listed.kind(_SLOT)), 0.0)
    is_later = less(Index(_SLOT), Index(_OTHER))
    return (
        *let(_MOVES, _both(is_later, _both(is_free, _is_blob(listed, _OTHER)))),
        *(
            Store(here, Choose(load(_MOVES), Load(there), Load(here)))
            for here, there in zip(listed.every(_SLOT), listed.every(_OTHER), strict=True)
        ),
        Store(listed.kind(_OTHER), Choose(load(_MOVES), Const(0.0), Load(listed.kind(_OTHER)))),
    )


def _finished(listed: _List) -> tuple[Stmt, ...]:
    """Renumbers classes to count after the background, and sets free slots to 0."""
    kind = listed.kind(_SLOT)
    others = [*listed.corners(_SLOT), listed.score(_SLOT)]
    is_blob = _is_blob(listed, _SLOT)
    return (
        *(Store(place, Choose(is_blob, Load(place), Const(0.0))) for place in others),
        Store(listed.total, Load(listed.total) + _real(is_blob)),
        Store(kind, Choose(is_blob, Apply(_BEFORE, (Load(kind),)), Const(0.0))),
    )


def _first(number: Affine, is_same: Expr, touches: Expr) -> Store:
    """Keeps the first number for which both conditions hold; the second is evaluated only after the first."""
    is_open = _both(_nowhere(), is_same)
    return Store(at(_PLACE), Choose(is_open, Choose(touches, Index(number), load(_PLACE)), load(_PLACE)))


def _grown(listed: _List, number: Affine, corners: Sequence[Expr], score: Expr) -> list[Expr]:
    """Returns the parts of a blob after another one of its class joins it."""
    boxes = zip(_GROWN, listed.corners(number), corners, strict=True)
    grown: list[Expr] = [Apply(function, (Load(place), corner)) for function, place, corner in boxes]
    best = Apply(_MORE, (Load(listed.score(number)), score))
    return [*grown, Load(listed.kind(number)), best]


def _both(one: Expr, other: Expr) -> Expr:
    """Returns a number that is true if both are."""
    return minimum(one, other)


def _nowhere() -> Expr:
    return less(load(_PLACE), 0)


def _is_blob(listed: _List, number: Affine) -> Expr:
    return less(0.0, Load(listed.kind(number)))


def _real(number: Expr) -> Expr:
    return Apply(_AS_F32, (number,))


def _is_seen(least: float) -> ScalarFunction:
    def compute(a: float) -> int:
        return int(np.float32(a) >= np.float32(least))

    word = "".join(c if c.isalnum() else "_" for c in literal(least))
    return expression_function(f"is_seen_{word}", DType.I32, (DType.F32,), f"a >= {literal(least)}", compute)


KERNEL = OpKernel((Strategy("plain", flat_requests, _lower),), frozenset({DType.F32}))
