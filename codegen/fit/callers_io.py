"""Inputs and outputs in the caller's memory: the plan reserves no bytes for them and never overlaps them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aot.plan.model import Kind, PlanTensor, Stage

_CALLERS = (Kind.INPUT, Kind.OUTPUT)


def without_io(
    tensors: Sequence[PlanTensor], stages: Sequence[Stage]
) -> tuple[tuple[PlanTensor, ...], tuple[Stage, ...]]:
    """Returns the planner's request in which inputs and outputs are read and written but occupy no memory."""
    apart = {tensor.name for tensor in tensors if tensor.kind in _CALLERS}
    return (
        tuple(replace(tensor, row_bytes=0) if tensor.name in apart else tensor for tensor in tensors),
        tuple(replace(stage, in_place=_inside(stage, apart)) for stage in stages),
    )


def _inside(stage: Stage, apart: set[str]) -> tuple[tuple[int, int], ...]:
    return tuple(
        (read, write)
        for read, write in stage.in_place
        if stage.reads[read] not in apart and stage.writes[write] not in apart
    )
