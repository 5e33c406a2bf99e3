"""Schedules that leave loops unscheduled, as a start for other schedules, and for debugging."""

from __future__ import annotations

from collections.abc import Mapping

from aot.ir.types import DType
from codegen.kernels import conv2d, dense
from codegen.kernels.depthwise_conv2d import NEST as DEPTHWISE_NEST
from codegen.kernels.dot_product import DotProblem, ScheduledDot, stored_bytes
from codegen.kernels.dot_product import nest as dot_nest
from codegen.kernels.kernel import Site
from codegen.kernels.schedule import Schedule, choose_schedule
from codegen.kernels.table import KERNELS


def _unscheduled(_site: Site, p: DotProblem) -> ScheduledDot:
    return ScheduledDot("plain", "unscheduled", dot_nest(p, p.w_dtype))


# Op -> the schedule without steps, if the plain schedule has some.
_NESTS: Mapping[str, Schedule] = {
    "conv2d": conv2d.conv2d_schedule("nest", _unscheduled, stored_bytes),
    "conv2d+add": conv2d.conv2d_schedule("nest", _unscheduled, stored_bytes),
    "dense": dense.dense_schedule("nest", _unscheduled, stored_bytes),
    "depthwise_conv2d": DEPTHWISE_NEST,
}


def unscheduled(op_name: str, site: Site) -> Schedule:
    """Returns the schedule without steps; for floats and rarer ops, the plain schedule."""
    return choose_schedule(plain_schedules(op_name, site), site).schedule


def plain_schedules(op_name: str, site: Site) -> tuple[Schedule, ...]:
    """Returns the schedule without steps alone; for floats and rarer ops, all schedules for any core."""
    in_order = None if site.input(0).dtype is DType.F32 else _NESTS.get(op_name)
    return KERNELS[op_name].schedules if in_order is None else (in_order,)
