"""The meaning of an op in the loop language: the loops of a node before anything is scheduled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aot.ir.graph import Graph, Node
from aot.ir.types import DType
from aot.target import Target
from codegen.formats import RowFormat, dense_format, requested_format
from codegen.kernels import conv2d, dense
from codegen.kernels.depthwise_conv2d import NEST as DEPTHWISE_NEST
from codegen.kernels.dot_product import DotProblem, ScheduledDot, nest, stored_bytes
from codegen.kernels.kernel import Site
from codegen.kernels.knobs import NOT_TUNED
from codegen.kernels.schedule import RowRequests, Schedule, choose_schedule
from codegen.kernels.table import KERNELS
from codegen.loops.ir import Proc
from codegen.lower.sites import Sites
from codegen.options import CompileOptions


def _unscheduled(_site: Site, p: DotProblem) -> ScheduledDot:
    return ScheduledDot("plain", "as it is meant", nest(p, p.w_dtype))


# Op -> the schedule that leaves its nest as it is meant, where the plain one takes steps of its own.
_NESTS: Mapping[str, Schedule] = {
    "conv2d": conv2d.conv2d_schedule("nest", _unscheduled, stored_bytes),
    "conv2d+add": conv2d.conv2d_schedule("nest", _unscheduled, stored_bytes),
    "dense": dense.dense_schedule("nest", _unscheduled, stored_bytes),
    "depthwise_conv2d": DEPTHWISE_NEST,
}


def unscheduled(op_name: str, site: Site) -> Schedule:
    """The schedule that takes no steps; of real numbers and rarer ops, Solder's plain one."""
    of_op = None if site.input(0).dtype is DType.F32 else _NESTS.get(op_name)
    return of_op or choose_schedule(KERNELS[op_name].schedules, site).schedule


def asked_formats(site: Site, requests: RowRequests) -> Sequence[RowFormat]:
    """The rows of a site's inputs as they are asked for."""
    moving = [kind for n, kind in enumerate(site.inputs) if kind is not None and n not in site.constants]
    return [
        dense_format(kind) if request is None else requested_format(kind, request)
        for kind, request in zip(moving, requests, strict=True)
    ]


def meaning_of(node: Node, graph: Graph, target: Target) -> tuple[Proc, ...]:
    """The loops of a node: a row of its result, or all of it; before and after them, where a sum goes on."""
    nothing: frozenset[str] = frozenset()
    site = Sites(graph, target, CompileOptions(), nothing, NOT_TUNED, nothing, nothing).of(node)
    schedule = unscheduled(node.op.name, site)
    formats = asked_formats(site, schedule.requests(site))
    return schedule.lower(site, formats, dense_format(site.outputs[0])).procs
