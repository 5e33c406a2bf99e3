"""A median of two equal tensors and another is one of the equal ones."""

from __future__ import annotations

from aot.ir.graph import Graph
from aot.passes.outcome import Outcome, outcome
from aot.passes.values import rename_reads
from solder_example.median import Median

TABLE, BEFORE = "MEANING", "remove-identity"
WHY = "before merge-duplicates: it makes the inputs of nodes equal"


def median_of_equals(graph: Graph) -> Outcome:
    before, left = graph, dict[str, str]()
    for node in before.nodes:
        if not isinstance(node.op, Median):
            continue
        twice = next((value for value in node.reads if node.inputs.count(value) > 1), None)
        if twice is None or node.outputs[0] in graph.kept:
            left[node.name] = "reads three tensors" if twice is None else "gives an output its name"
            continue
        others = [other for other in graph.nodes if other.name != node.name]
        graph = graph.with_nodes(rename_reads(others, {node.outputs[0]: twice}))
    return outcome(before, graph, left, "there is no median")
