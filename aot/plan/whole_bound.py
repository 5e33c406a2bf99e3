"""Computes how much memory a whole-tensor planner needs at least, for comparison with a plan of rows."""

from __future__ import annotations

from dataclasses import replace

from aot.ir.graph import Graph
from aot.plan.model import Kind, PlanRequest, PlanTensor, Rows, Stage, Step
from aot.plan.wholes import peak_lower_bound

_VIEW = "reshape"  # its output shares its input's memory
_ONCE = Rows(0, 1)


def whole_tensor_bound(graph: Graph, io_apart: bool = False) -> int:
    """Returns a lower bound of live bytes over all orders of nodes; dense tensors, no padding, no copies.

    With `io_apart`, inputs and outputs do not count. The search is short compared to a compile, so for a
    graph with many branches the true minimum may be higher.
    """
    request = _whole_request(graph)
    if io_apart:
        request = replace(request, tensors=tuple(map(_beside, request.tensors)))
    return peak_lower_bound(request)


def _beside(tensor: PlanTensor) -> PlanTensor:
    return replace(tensor, row_bytes=0) if tensor.kind in (Kind.INPUT, Kind.OUTPUT) else tensor


def _whole_request(graph: Graph) -> PlanRequest:
    roots: dict[str, str] = {}
    constants = set(graph.constants)  # and values computed from constants only
    stages = []
    for node in graph.nodes:
        reads = tuple(dict.fromkeys(roots.get(v, v) for v in node.reads if v not in constants))
        if not reads:
            constants.update(node.outputs)
            continue
        if node.op.name == _VIEW:
            roots[node.outputs[0]] = reads[0]
            continue
        step = Step((_ONCE,) * len(reads), (_ONCE,) * len(node.outputs))
        stages.append(Stage(node.name, reads, node.outputs, (step,)))
    outputs = {roots.get(v, v) for v in graph.outputs}
    states = {state.name for state in graph.states}
    made = [v for stage in stages for v in stage.writes]
    tensors = [
        PlanTensor(v, 1, graph.types[v].bytes, Kind.STATE if v in states else Kind.INPUT, align=1)
        for v in graph.given
    ]
    tensors += [
        PlanTensor(v, 1, graph.types[v].bytes, Kind.OUTPUT if v in outputs else Kind.INNER, align=1)
        for v in made
    ]
    return PlanRequest(tuple(tensors), tuple(stages), rows=False)
