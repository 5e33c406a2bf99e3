"""Reorders nested loops by swapping perfectly nested neighbors until the given order is reached."""

from __future__ import annotations

from collections.abc import Sequence

from codegen.loops.ir import Body, For, Proc, walk
from codegen.loops.schedule import ScheduleError, reorder


def in_order(proc: Proc, loops: Sequence[str]) -> Proc:
    """Returns the proc with these loops in this order, outermost first."""
    while (pair := _misplaced(proc, loops)) is not None:
        proc = reorder(proc, *pair)
    if not _has_nest(proc.body, loops):
        raise ScheduleError("these loops are not perfectly nested")
    return proc


def _misplaced(proc: Proc, order: Sequence[str]) -> tuple[str, str] | None:
    """Returns a loop and the single loop inside it if they must be swapped; otherwise None."""
    for stmt in walk(proc.body):
        match stmt:
            case For(outer, _, (For(inner),)) if outer in order and inner in order:
                if order.index(outer) > order.index(inner):
                    return outer, inner
    return None


def _has_nest(body: Body, order: Sequence[str]) -> bool:
    """Returns True if these loops occur perfectly nested in this order."""
    return any(isinstance(s, For) and s.var == order[0] and _begins(s, order) for s in walk(body))


def _begins(loop: For, order: Sequence[str]) -> bool:
    match order[1:], loop.body:
        case (), _:
            return True
        case rest, (For() as inner,):
            return inner.var == rest[0] and _begins(inner, rest)
    return False
