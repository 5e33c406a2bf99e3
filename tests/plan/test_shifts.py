"""A buffer moved anywhere: the checker, which replays runs, and the lives of rows say the same."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_nets import requests

from aot.plan.check import PlanError, check_plan
from aot.plan.conflicts import forbidden_distances
from aot.plan.model import Plan, PlanRequest
from aot.plan.order import draft
from aot.plan.planner import make_plan
from aot.plan.rings import find_in_place_overlaps, make_blocks
from aot.plan.steps import number_steps

ALIGN = 4


def is_accepted(request: PlanRequest, plan: Plan) -> bool:
    try:
        check_plan(request, plan)
    except PlanError:
        return False
    return True


def is_free(request: PlanRequest, plan: Plan, moved: str) -> bool:
    """Whether no distance from the moved buffer to another would put a live row on a live row."""
    steps = number_steps(request)
    lives = draft(steps, plan.order).lives
    rings = np.array([plan.buffers[tensor.name].rows_held for tensor in request.tensors])
    blocks = make_blocks(steps, lives, rings)
    names = [block.name for block in blocks]
    wrong = forbidden_distances(blocks, find_in_place_overlaps(steps, lives, rings), lives.after)
    offset = plan.buffers[moved].offset
    return not any(
        first <= plan.buffers[names[other]].offset - offset <= last
        for other, spans in wrong[names.index(moved)].items()
        for first, last in spans
    )


@pytest.mark.slow
@settings(max_examples=80)
@given(requests(), st.data())
def test_a_shifted_buffer_is_accepted_exactly_where_it_is_free(request, data):
    plan = make_plan(request)
    moved = data.draw(st.sampled_from(sorted(plan.buffers)))
    buffer = plan.buffers[moved]
    align = max([ALIGN, *(t.align for t in request.tensors if t.name == moved)])
    steps = data.draw(st.integers(-(buffer.offset // align), plan.arena_bytes // align))
    shifted = replace(buffer, offset=buffer.offset + steps * align)
    ends = {name: size + 2 * plan.arena_bytes for name, size in plan.pool_bytes.items()}
    changed = replace(plan, buffers={**plan.buffers, moved: shifted}, pool_bytes=ends)
    assert is_accepted(request, changed) is is_free(request, changed, moved)
