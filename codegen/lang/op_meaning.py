"""The meaning of an op in the loop language: the unscheduled loops of a node."""

from __future__ import annotations

from aot.ir.graph import Graph, Node
from aot.target import Target
from codegen.formats import dense_format
from codegen.kernels.nests import unscheduled
from codegen.lang.layer_schedule import asked_formats
from codegen.loops.ir import Proc
from codegen.lower.decisions import Decisions
from codegen.lower.sites import Sites
from codegen.options import CompileOptions


def meaning_of(node: Node, graph: Graph, target: Target) -> tuple[Proc, ...]:
    """Returns the loops of a node, for one row or the whole result.

    If the reduction spans several steps, there are also procs that begin and end it.
    """
    site = Sites(graph, target, CompileOptions(), Decisions()).of(node)
    schedule = unscheduled(node.op.name, site)
    formats = asked_formats(site, schedule.requests(site))
    return schedule.lower(site, formats, dense_format(site.outputs[0])).procs
