"""detect: again and again the best box after the last chosen one that overlaps none of those chosen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aot.ir.types import DType
from aot.ops.detect import CORNERS, Detect
from codegen.formats import RowFormat
from codegen.isa.plain.f32 import literal
from codegen.isa.plain.plain import expression_function
from codegen.kernels.box_overlap import fit_beside, word_of
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
    names = _NAMES[: len(site.inputs)]
    operands = tuple(operand(site, n, name) for n, name in enumerate(names))
    corners, scores = operands[:CORNERS], operands[CORNERS]
    ys = result(site)
    best_score, last_score = _locals(DType.F32, "best_score", "last_score")
    best, best_box, best_kind, last = _locals(DType.I32, "best", "best_box", "best_kind", "last")
    free, found, count = _locals(DType.I32, "free", "found", "count")
    number, box, other = (variable(name) for name in ("number", "box", "other"))
    each = scores.elements // boxes  # scores of a box
    candidate: Affine = box
    kind: Expr = load(operands[-1], box)
    if len(names) == CORNERS + 1:
        candidate, kind = box * each + variable("label"), Index(variable("label"))
    first_kind, first_score = op.count * CORNERS, op.count * (CORNERS + 1)
    chosen = [load(ys, other * CORNERS + n) for n in range(CORNERS)]
    fits: Expr = Apply(fit_beside(op.overlap), (*(load(c, box) for c in corners), *chosen))
    if op.by_class:
        is_same = Binary("==", Apply(_AS_F32, (kind,)), load(ys, other + first_kind))
        fits = Choose(is_same, fits, Const(1))
    score = load(scores, candidate)
    follows = Apply(
        _follows(op.least), (score, load(last_score), Index(candidate), load(last), load(best_score))
    )
    is_to_meet = Binary("min", load(free), Binary("<", Index(other), load(count)))
    look: tuple[Stmt, ...] = (
        Declare(free),
        Store(at(free), follows),
        For("other", op.count, (Store(at(free), Choose(is_to_meet, fits, load(free))),)),
        *(
            Store(at(place), Choose(load(free), value, load(place)))
            for place, value in (
                (best, Index(candidate)),
                (best_box, Index(box)),
                (best_kind, kind),
                (best_score, score),
                (found, Const(1)),
            )
        ),
    )
    if len(names) == CORNERS + 1:
        look = (For("label", each, look),)

    def stored(place: Affine, value: Expr) -> Store:
        return Store(at(ys, place), Choose(load(found), value, Const(0.0)))

    take: tuple[Stmt, ...] = (
        Store(at(best), Const(0)),
        Store(at(best_box), Const(0)),
        Store(at(best_kind), Const(0)),
        Store(at(best_score), Const(-_LARGEST)),
        Store(at(found), Const(0)),
        For("box", boxes, look),
        *(
            stored(number * CORNERS + n, Element(at(corner), load(best_box)))
            for n, corner in enumerate(corners)
        ),
        stored(number + first_kind, Apply(_AS_F32, (load(best_kind),))),
        stored(number + first_score, load(best_score)),
        Store(at(last), Choose(load(found), load(best), load(last))),
        Store(at(last_score), Choose(load(found), load(best_score), load(last_score))),
        Store(at(count), Binary("+", load(count), load(found))),
    )
    body: tuple[Stmt, ...] = (
        *(Declare(each) for each in (last_score, best_score, last, best, best_box, best_kind, found, count)),
        Store(at(last_score), Const(_LARGEST)),
        Store(at(last), Const(-1)),
        Store(at(count), Const(0)),
        For("number", op.count, take),
        Store(at(ys, op.count * (CORNERS + 2)), Apply(_AS_F32, (load(count),))),
    )
    return flat_kernel(site, operands, body, "the detections")


def _locals(dtype: DType, *names: str) -> list[Buffer]:
    return [Buffer(name, dtype, 1, Role.LOCAL) for name in names]


_AS_F32 = expression_function("as_real", DType.F32, (DType.I32,), "(float)a", float)


def _follows(least: float) -> ScalarFunction:
    """f(score, last score, box, last box, best score) -> whether the box is the best so far of those left."""
    text = f"a >= {literal(least)} && a > e && (a < b || (a == b && c > d))"

    def compute(a: float, b: float, c: int, d: int, e: float) -> int:
        return int(np.float32(a) >= np.float32(least) and a > e and (a < b or (a == b and c > d)))

    types = (DType.F32, DType.F32, DType.I32, DType.I32, DType.F32)
    return expression_function(f"follows_{word_of(least)}", DType.I32, types, text, compute)


KERNEL = OpKernel((Schedule("plain", flat_requests, _lower),), frozenset({DType.F32, DType.I32}))
