"""non_max_suppression: repeatedly selects the best remaining box of each class, then closes the gaps.

Each pass over the boxes of a class removes those that overlap the last selected box, and finds the best of
the remaining ones. The result initially has a fixed range for each class; then the rows move together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from aot.ir.types import DType
from aot.ops.detect import CORNERS, overlap
from aot.ops.non_max_suppression import PLACE, NonMaxSuppression, sides
from codegen.formats import RowFormat
from codegen.isa.plain.f32 import literal
from codegen.isa.plain.scalar_math import expression_function
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.row_nests import flat_kernel, flat_requests, operand, result
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.affine import variable
from codegen.loops.ir import (
    Apply,
    Buffer,
    Choose,
    Const,
    Declare,
    Element,
    Expr,
    For,
    Index,
    Role,
    ScalarFunction,
    Stmt,
    Store,
    at,
    equal,
    less,
    let,
    load,
    local,
)


def fit_beside(most: float) -> ScalarFunction:
    """f(corners of a box, corners of a better one) -> whether they overlap at most that much."""
    name = f"fits_{word_of(most)}"
    definition = f"""\
/* Whether the intersection of two boxes is at most {literal(most)} of their union. */
static inline int32_t {name}(float top, float left, float bottom, float right, float top2, float left2,
    float bottom2, float right2)
{{
    const float area = (bottom - top) * (right - left);
    const float area2 = (bottom2 - top2) * (right2 - left2);
    const float height = (bottom < bottom2 ? bottom : bottom2) - (top > top2 ? top : top2);
    const float width = (right < right2 ? right : right2) - (left > left2 ? left : left2);
    const float shared = height > 0.0f && width > 0.0f ? height * width : 0.0f;
    return area <= 0.0f || area2 <= 0.0f || shared / (area + area2 - shared) <= {literal(most)};
}}
"""

    def compute(*corners: float) -> int:
        both = np.array(corners, np.float32).reshape(2, CORNERS).T
        return int(overlap(both, 1, np.array([0]))[0] <= np.float32(most))

    return ScalarFunction(name, DType.I32, definition, compute)


def word_of(value: float) -> str:
    """Returns a number as a part of a function's name."""
    return "".join(c if c.isalnum() else "_" for c in literal(value))


_LARGEST = float(np.finfo(np.float32).max)
_LAST = local("last", DType.I32)  # the box selected last; -1: none
_BEST = local("best", DType.I32)  # the best remaining box; -1: none
_BEST_SCORE = local("best_score", DType.F32)
_IS_BETTER = local("is_better", DType.I32)
_SOURCE = local("source", DType.I32)  # the next selected row; the number of rows if none
_FOUND = local("found", DType.I32)  # whether there is one
_BATCH, _LABEL, _BOX, _NUMBER = (variable(name) for name in ("batch", "label", "box", "number"))
_NONE = Const(-1)


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    op = site.op_as(NonMaxSuppression)
    batches, classes, boxes = site.input(1).shape
    corners, scores, ys = operand(site, 0, "boxes"), operand(site, 1, "scores"), result(site)
    left = Buffer("left", DType.U8, boxes, Role.SCRATCH)  # 1 if a box may still be selected
    begins = Buffer("begins", DType.I32, batches * classes + 1, Role.SCRATCH)  # of the next class with a box
    choosing = (
        For("box", boxes, (Store(at(left, _BOX), Apply(_counts(op.least), (_score(scores, site),))),)),
        Store(at(_LAST), _NONE),
        For("number", op.each, _turn(site, op, corners, scores, left, ys)),
    )
    body: tuple[Stmt, ...] = (
        Declare(_LAST),
        For("batch", batches, (For("label", classes, choosing),)),
        *_closed(op, batches * classes, classes, begins, ys),
    )
    kernel = flat_kernel(site, (corners, scores), body, "the chosen boxes")
    return replace(kernel, proc=replace(kernel.proc, params=(*kernel.proc.params, left, begins)))


def _score(scores: Buffer, site: Site) -> Expr:
    _, classes, boxes = site.input(1).shape
    return load(scores, (_BATCH * classes + _LABEL) * boxes + _BOX)


def _turn(
    site: Site, op: NonMaxSuppression, corners: Buffer, scores: Buffer, left: Buffer, ys: Buffer
) -> tuple[Stmt, ...]:
    """Selects a box of the class, or none."""
    _, classes, boxes = site.input(1).shape
    first = _BATCH * boxes * CORNERS
    own = [load(corners, first + _BOX * CORNERS + n) for n in range(CORNERS)]
    chosen = load(_LAST) * CORNERS
    others = [Element(at(corners, first + n), chosen) for n in range(CORNERS)]
    is_beside = Apply(_beside(op.overlap, op.centred), (*own, *others))
    is_chosen = equal(load(_LAST), Index(_BOX))
    stays = Choose(_is_none(_LAST), Const(1), Choose(is_chosen, Const(0), is_beside))
    score = _score(scores, site)
    beats = Choose(_is_none(_BEST), Const(1), less(load(_BEST_SCORE), score))
    look: tuple[Stmt, ...] = (
        Declare(_IS_BETTER),
        Store(at(left, _BOX), Choose(load(left, _BOX), stays, Const(0))),
        Store(at(_IS_BETTER), Choose(load(left, _BOX), beats, Const(0))),
        Store(at(_BEST), Choose(load(_IS_BETTER), Index(_BOX), load(_BEST))),
        Store(at(_BEST_SCORE), Choose(load(_IS_BETTER), score, load(_BEST_SCORE))),
    )
    row = (_BATCH * classes + _LABEL) * op.each + _NUMBER
    return (
        Declare(_BEST),
        Declare(_BEST_SCORE),
        Store(at(_BEST), _NONE),
        Store(at(_BEST_SCORE), Const(0.0)),
        For("box", boxes, look),
        Store(at(ys, row * PLACE + PLACE - 1), load(_BEST)),
        Store(at(_LAST), load(_BEST)),
    )


def _closed(op: NonMaxSuppression, groups: int, classes: int, begins: Buffer, ys: Buffer) -> tuple[Stmt, ...]:
    """Moves the selected boxes together, adds their batches and classes, and counts them.

    A row moves to the front or stays, so none is overwritten before it is read.
    """
    rows = groups * op.each
    return (
        Declare(_SOURCE),
        Store(at(begins, groups), Const(rows)),
        For("back", groups, (_begin(op, groups, begins, ys),)),
        Store(at(_SOURCE), load(begins)),
        Store(at(ys, rows * PLACE), Const(0)),
        For("row", rows, _moved(op, rows, classes, begins, ys)),
    )


def _begin(op: NonMaxSuppression, groups: int, begins: Buffer, ys: Buffer) -> Store:
    """Stores the first row of a group. An empty group begins with the next one."""
    back = variable("back")  # groups, counted from the last
    from_end = Index(back * -op.each + (groups - 1) * op.each)
    is_empty = less(load(ys, back * (-op.each * PLACE) + (groups - 1) * op.each * PLACE + 2), 0)
    following = load(begins, back * -1 + groups)
    return Store(at(begins, back * -1 + groups - 1), Choose(is_empty, following, from_end))


def _moved(op: NonMaxSuppression, rows: int, classes: int, begins: Buffer, ys: Buffer) -> tuple[Stmt, ...]:
    """Moves the next selected row to the next place, or writes zeros if there is none."""
    row = variable("row")
    group = load(_SOURCE) // op.each
    box = Element(at(ys, PLACE - 1), load(_SOURCE) * PLACE)
    parts: tuple[Expr, ...] = (group // classes, group % classes, box)
    return (
        *let(_FOUND, less(load(_SOURCE), rows)),
        *(
            Store(at(ys, row * PLACE + n), Choose(load(_FOUND), part, Const(0)))
            for n, part in enumerate(parts)
        ),
        Store(at(ys, rows * PLACE), load(ys, rows * PLACE) + load(_FOUND)),
        Store(at(_SOURCE), Choose(load(_FOUND), _next_source(op, begins, ys), load(_SOURCE))),
    )


def _next_source(op: NonMaxSuppression, begins: Buffer, ys: Buffer) -> Expr:
    """Returns the next selected row: of the same class, or the first of the next non-empty class."""
    following = load(_SOURCE) + 1
    in_class = less(0, following % op.each)
    is_there = less(_NONE, Element(at(ys, 2 * PLACE - 1), load(_SOURCE) * PLACE))
    in_next = Element(at(begins, 1), load(_SOURCE) // op.each)
    return Choose(in_class, Choose(is_there, following, in_next), in_next)


def _is_none(number: Buffer) -> Expr:
    return less(load(number), 0)


def _counts(least: float) -> ScalarFunction:
    """f(score) -> whether a box with this score may be selected."""
    text = f"a >= {literal(least)} && a <= {literal(_LARGEST)}"

    def compute(a: float) -> int:
        return int(np.float32(least) <= np.float32(a) <= np.float32(_LARGEST))

    return expression_function(f"counts_{word_of(least)}", DType.I32, (DType.F32,), text, compute)


def _beside(most: float, centred: bool) -> ScalarFunction:
    """f(numbers of a box, numbers of a better one) -> whether they overlap at most that much."""
    inner = fit_beside(most)
    name, text = ("centred", _CENTRED) if centred else ("cornered", _CORNERED)
    name = f"{name}_{inner.name}"

    def compute(*numbers: float) -> int:
        pair = np.array(numbers, np.float32).reshape(2, CORNERS)
        return int(inner.compute(*sides(pair, centred).T.reshape(-1)))

    definition = text.replace("NAME", name).replace("INNER", inner.name)
    return ScalarFunction(name, DType.I32, definition, compute, calls=(inner,))


_CORNERED = """\
/* Whether two boxes may both stay, by two opposite corners of each. */
static inline int32_t NAME(float y, float x, float y2, float x2, float v, float u, float v2, float u2)
{
    return INNER(y < y2 ? y : y2, x < x2 ? x : x2, y < y2 ? y2 : y, x < x2 ? x2 : x,
        v < v2 ? v : v2, u < u2 ? u : u2, v < v2 ? v2 : v, u < u2 ? u2 : u);
}
"""
_CENTRED = """\
/* Whether two boxes may both stay, by the centre, width and height of each. */
static inline int32_t NAME(float x, float y, float w, float h, float u, float v, float w2, float h2)
{
    return INNER(y - h * 0.5f, x - w * 0.5f, y + h * 0.5f, x + w * 0.5f,
        v - h2 * 0.5f, u - w2 * 0.5f, v + h2 * 0.5f, u + w2 * 0.5f);
}
"""
KERNEL = OpKernel((Strategy("plain", flat_requests, _lower),), frozenset({DType.F32, DType.I32}))
