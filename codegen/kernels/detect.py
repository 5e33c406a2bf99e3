"""detect: repeatedly selects the next best box that overlaps none of those already selected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aot.ir.types import DType
from aot.ops.detect import CORNERS, Detect
from codegen.formats import RowFormat
from codegen.isa.plain.f32 import literal
from codegen.isa.plain.scalar_math import expression_function
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.non_max_suppression import fit_beside, word_of
from codegen.kernels.row_nests import flat_kernel, flat_requests, operand, result
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.affine import Affine, variable
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

_NAMES = ("top", "left", "bottom", "right", "score", "kind")
_LARGEST = float(np.finfo(np.float32).max)
_LAST_SCORE = local("last_score", DType.F32)
_BEST_SCORE = local("best_score", DType.F32)
_LAST = local("last", DType.I32)  # the candidate selected last; -1: none
_BEST = local("best", DType.I32)  # the best candidate so far, its box and its class
_BEST_BOX = local("best_box", DType.I32)
_BEST_KIND = local("best_kind", DType.I32)
_FOUND = local("found", DType.I32)  # 1 if there is one
_COUNT = local("count", DType.I32)  # of selected boxes
_FREE = local("free", DType.I32)  # 1 while the candidate may still be selected
_STATE = (_LAST_SCORE, _BEST_SCORE, _LAST, _BEST, _BEST_BOX, _BEST_KIND, _FOUND, _COUNT)
_NUMBER, _BOX, _OTHER, _LABEL = (variable(name) for name in ("number", "box", "other", "label"))


@dataclass(frozen=True)
class _Task:
    """The parameters of a detection, and the buffers that it reads and writes."""

    op: Detect
    boxes: int
    corners: tuple[Buffer, ...]
    scores: Buffer
    kinds: Buffer | None  # None if each box has a score per class
    ys: Buffer

    @property
    def scores_per_box(self) -> int:
        return self.scores.elements // self.boxes

    @property
    def first_kind(self) -> int:
        return self.op.count * CORNERS

    @property
    def first_score(self) -> int:
        return self.op.count * (CORNERS + 1)


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    op = site.op_as(Detect)
    operands = tuple(operand(site, n, name) for n, name in enumerate(_NAMES[: len(site.inputs)]))
    corners, scores, kinds = operands[:CORNERS], operands[CORNERS], operands[CORNERS + 1 :]
    task = _Task(op, site.input(0).elements, corners, scores, kinds[0] if kinds else None, result(site))
    return flat_kernel(site, operands, _body(task), "the detections")


def _body(task: _Task) -> tuple[Stmt, ...]:
    return (
        *(Declare(each) for each in _STATE),
        Store(at(_LAST_SCORE), Const(_LARGEST)),
        Store(at(_LAST), Const(-1)),
        Store(at(_COUNT), Const(0)),
        For("number", task.op.count, _take_best(task)),
        Store(at(task.ys, task.op.count * (CORNERS + 2)), Apply(_AS_F32, (load(_COUNT),))),
    )


def _take_best(task: _Task) -> tuple[Stmt, ...]:
    """Returns statements that search all boxes and write the best one as the next detection."""

    def stored(place: Affine, value: Expr) -> Store:
        return Store(at(task.ys, place), Choose(load(_FOUND), value, Const(0.0)))

    return (
        Store(at(_BEST), Const(0)),
        Store(at(_BEST_BOX), Const(0)),
        Store(at(_BEST_KIND), Const(0)),
        Store(at(_BEST_SCORE), Const(-_LARGEST)),
        Store(at(_FOUND), Const(0)),
        For("box", task.boxes, _look_at_box(task)),
        *(
            stored(_NUMBER * CORNERS + n, Element(at(corner), load(_BEST_BOX)))
            for n, corner in enumerate(task.corners)
        ),
        stored(_NUMBER + task.first_kind, Apply(_AS_F32, (load(_BEST_KIND),))),
        stored(_NUMBER + task.first_score, load(_BEST_SCORE)),
        Store(at(_LAST), Choose(load(_FOUND), load(_BEST), load(_LAST))),
        Store(at(_LAST_SCORE), Choose(load(_FOUND), load(_BEST_SCORE), load(_LAST_SCORE))),
        Store(at(_COUNT), load(_COUNT) + load(_FOUND)),
    )


def _look_at_box(task: _Task) -> tuple[Stmt, ...]:
    """Returns statements that check a box, or one candidate per class if each box has several scores."""
    if task.kinds is not None:
        return _look_at_candidate(task, _BOX, load(task.kinds, _BOX))
    candidate = _BOX * task.scores_per_box + _LABEL
    return (For("label", task.scores_per_box, _look_at_candidate(task, candidate, Index(_LABEL))),)


def _look_at_candidate(task: _Task, candidate: Affine, kind: Expr) -> tuple[Stmt, ...]:
    """Returns statements that keep the candidate if it is the best so far and overlaps no selected box."""
    score = load(task.scores, candidate)
    follows = Apply(
        _follows(task.op.least),
        (score, load(_LAST_SCORE), Index(candidate), load(_LAST), load(_BEST_SCORE)),
    )
    is_to_meet = minimum(load(_FREE), less(Index(_OTHER), load(_COUNT)))
    met = Store(at(_FREE), Choose(is_to_meet, _fits(task, kind), load(_FREE)))
    kept: tuple[tuple[Buffer, Expr], ...] = (
        (_BEST, Index(candidate)),
        (_BEST_BOX, Index(_BOX)),
        (_BEST_KIND, kind),
        (_BEST_SCORE, score),
        (_FOUND, Const(1)),
    )
    return (
        *let(_FREE, follows),
        For("other", task.op.count, (met,)),
        *(Store(at(place), Choose(load(_FREE), value, load(place))) for place, value in kept),
    )


def _fits(task: _Task, kind: Expr) -> Expr:
    """Returns 1 if the box may coexist with a selected one."""
    chosen = [load(task.ys, _OTHER * CORNERS + n) for n in range(CORNERS)]
    fits = Apply(fit_beside(task.op.overlap), (*(load(c, _BOX) for c in task.corners), *chosen))
    if not task.op.by_class:
        return fits
    is_same = equal(Apply(_AS_F32, (kind,)), load(task.ys, _OTHER + task.first_kind))
    return Choose(is_same, fits, Const(1))


_AS_F32 = expression_function("as_real", DType.F32, (DType.I32,), "(float)a", float)


def _follows(least: float) -> ScalarFunction:
    """f(score, last score, box, last box, best score) -> whether the box is the best remaining one so far."""
    text = f"a >= {literal(least)} && a > e && (a < b || (a == b && c > d))"

    def compute(a: float, b: float, c: int, d: int, e: float) -> int:
        return int(np.float32(a) >= np.float32(least) and a > e and (a < b or (a == b and c > d)))

    types = (DType.F32, DType.F32, DType.I32, DType.I32, DType.F32)
    return expression_function(f"follows_{word_of(least)}", DType.I32, types, text, compute)


KERNEL = OpKernel((Strategy("plain", flat_requests, _lower),), frozenset({DType.F32, DType.I32}))
