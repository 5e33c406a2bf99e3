"""detect: again and again the best box after the last chosen one that overlaps none of those chosen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aot.ir.types import DType
from aot.ops.detect import CORNERS, Detect, overlap
from codegen.formats import RowFormat
from codegen.isa.plain.f32 import literal
from codegen.isa.plain.plain import expression_function
from codegen.kernels.flat import flat_kernel, flat_requests, operand, result
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.schedule import OpKernel, Schedule
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Apply,
    Binary,
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
    load,
)

_NAMES = ("top", "left", "bottom", "right", "score", "kind")
_LARGEST = float(np.finfo(np.float32).max)


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    op, boxes = site.node.op, site.input(0).elements
    assert isinstance(op, Detect)
    operands = tuple(operand(site, n, name) for n, name in enumerate(_NAMES))
    *corners, scores, kinds = operands
    ys = result(site)
    last_score, best_score = (Buffer(n, DType.F32, 1, Role.LOCAL) for n in ("last_score", "best_score"))
    last, best, found, count = (
        Buffer(n, DType.I32, 1, Role.LOCAL) for n in ("last", "best", "found", "count")
    )
    free = Buffer("free", DType.I32, 1, Role.LOCAL)
    number, box, other = (variable(name) for name in ("number", "box", "other"))
    chosen = [load(ys, other * CORNERS + n) for n in range(CORNERS)]
    meets = Apply(_fits(op.overlap), (*(load(c, box) for c in corners), *chosen))
    score = load(scores, box)
    follows = Apply(_follows(op.least), (score, load(last_score), Index(box), load(last), load(best_score)))
    better = Binary("*", load(free), follows)
    among = Binary("<", Index(other), load(count))
    still = Choose(among, Binary("*", load(free), meets), load(free))
    look: tuple[Stmt, ...] = (
        Declare(free),
        Store(at(free), Const(1)),
        For("other", op.count, (Store(at(free), still),)),
        Store(at(free), better),
        Store(at(best), Choose(load(free), Index(box), load(best))),
        Store(at(best_score), Choose(load(free), score, load(best_score))),
        Store(at(found), Choose(load(free), Const(1), load(found))),
    )

    def stored(place: Affine, source: Buffer) -> Store:
        value: Expr = Element(at(source), load(best))
        if source.dtype is DType.I32:
            value = Apply(_AS_F32, (value,))
        return Store(at(ys, place), Choose(load(found), value, Const(0.0)))

    take: tuple[Stmt, ...] = (
        Store(at(best), Const(0)),
        Store(at(best_score), Const(-_LARGEST)),
        Store(at(found), Const(0)),
        For("box", boxes, look),
        *(stored(number * CORNERS + n, corner) for n, corner in enumerate(corners)),
        stored(number + op.count * CORNERS, kinds),
        stored(number + op.count * (CORNERS + 1), scores),
        Store(at(last), Choose(load(found), load(best), load(last))),
        Store(at(last_score), Choose(load(found), load(best_score), load(last_score))),
        Store(at(count), Binary("+", load(count), load(found))),
    )
    body: tuple[Stmt, ...] = (
        *(Declare(buffer) for buffer in (last_score, best_score, last, best, found, count)),
        Store(at(last_score), Const(_LARGEST)),
        Store(at(last), Const(-1)),
        Store(at(count), Const(0)),
        For("number", op.count, take),
        Store(at(ys, op.count * (CORNERS + 2)), Apply(_AS_F32, (load(count),))),
    )
    return flat_kernel(site, operands, body, "the detections")


_AS_F32 = expression_function("as_real", DType.F32, (DType.I32,), "(float)a", float)


def _follows(least: float) -> ScalarFunction:
    """f(score, last score, box, last box, best score) -> whether the box is the best so far of those left."""
    text = f"a >= {literal(least)} && a > e && (a < b || (a == b && c > d))"

    def compute(a: float, b: float, c: int, d: int, e: float) -> int:
        return int(np.float32(a) >= np.float32(least) and a > e and (a < b or (a == b and c > d)))

    types = (DType.F32, DType.F32, DType.I32, DType.I32, DType.F32)
    return expression_function(f"follows_{_word(least)}", DType.I32, types, text, compute)


def _fits(most: float) -> ScalarFunction:
    """f(corners of a box, corners of a better one) -> whether they overlap little enough."""
    name = f"fits_{_word(most)}"
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


def _word(value: float) -> str:
    return "".join(c if c.isalnum() else "_" for c in literal(value))


KERNEL = OpKernel((Schedule("plain", flat_requests, _lower),), frozenset({DType.F32, DType.I32}))
