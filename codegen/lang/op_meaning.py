"""The meaning of an op in the loop language: the loops of a node before anything is scheduled."""

from __future__ import annotations

from collections.abc import Sequence

from aot.ir.graph import Graph, Node
from aot.target import Target
from codegen.formats import RowFormat, dense_format, requested_format
from codegen.kernels.kernel import Site
from codegen.kernels.knobs import NOT_TUNED
from codegen.kernels.nests import unscheduled
from codegen.kernels.schedule import RowRequests
from codegen.loops.ir import Proc
from codegen.lower.sites import Sites
from codegen.options import CompileOptions


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
