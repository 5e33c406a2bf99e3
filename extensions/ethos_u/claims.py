"""Determines which nodes Vela supports, and why it rejects the others."""

from __future__ import annotations

from collections.abc import Mapping

from aot.errors import ToolError
from aot.frontend.tflite.write import WrittenModel, unwritable, write_with
from aot.ir.graph import Graph, Node
from aot.ir.types import DType
from aot.passes.partition.claims import Claims
from aot.passes.partition.partition import piece_graph, piece_of
from extensions.ethos_u.configurations import NpuConfig
from extensions.ethos_u.other_bits import other_bits
from extensions.ethos_u.program import COMPILED, FILE
from extensions.ethos_u.vela import VelaRun, failure, named, reason_of, refusals, run_vela
from extensions.ethos_u.writers import WRITERS

FLOWING = frozenset({DType.I8, DType.I16})  # the types of activations


def claims(config: NpuConfig, owner: str, graph: Graph) -> Claims:
    """Claims each node whose result on the device is bit-exact. Raises ToolError if Vela fails."""
    left = {node.name: why for node in graph.nodes if (why := misfit(graph, node))}
    left |= _refused_by_vela(config, graph, tuple(node for node in graph.nodes if node.name not in left))
    return Claims(owner, tuple((node.name,) for node in graph.nodes if node.name not in left), left)


def misfit(graph: Graph, node: Node) -> str:
    """Returns why the device cannot run a node, without running Vela; empty if nothing prevents it."""
    values = (name for name in (*node.reads, *node.outputs) if name not in graph.constants)
    other = next((graph.types[name].dtype for name in values if graph.types[name].dtype not in FLOWING), None)
    if other is not None:
        return f"the device computes values of 8 and 16 bits, no {other.value}"
    if any(not graph.types[name].shape for name in node.outputs):
        return "its result has no dimensions"
    return unwritable(WRITERS, graph, node) or other_bits(graph, node)


def _refused_by_vela(config: NpuConfig, graph: Graph, nodes: tuple[Node, ...]) -> Mapping[str, str]:
    """Returns Vela's reason for each rejected node. If Vela names no node, each node is tried alone."""
    if not nodes:
        return {}
    written, run = _asked(config, graph, nodes)
    if COMPILED in run.files:
        return {}
    if not run.gave_up:
        raise _failed(run, config, graph, nodes)
    found = {_node_of(written, refusal.tensor): refusal for refusal in refusals(run)}
    if found and "" not in found:
        return {name: f"Vela: {refusal.why} ({refusal.code})" for name, refusal in found.items()}
    if len(nodes) == 1:
        return {nodes[0].name: f"Vela cannot compile it: {reason_of(run)}"}
    return {k: why for node in nodes for k, why in _refused_by_vela(config, graph, (node,)).items()}


def _asked(config: NpuConfig, graph: Graph, nodes: tuple[Node, ...]) -> tuple[WrittenModel, VelaRun]:
    written = write_with(WRITERS, piece_graph(graph, piece_of(graph, config.word, nodes)), FILE)
    return written, run_vela(written.data, config, named(nodes))


def _failed(run: VelaRun, config: NpuConfig, graph: Graph, nodes: tuple[Node, ...]) -> ToolError:
    """Returns the error for a crash of Vela, with the fewest nodes that cause it, found by bisection."""
    while len(nodes) > 1:
        halves = nodes[: len(nodes) // 2], nodes[len(nodes) // 2 :]
        runs = ((half, _asked(config, graph, half)[1]) for half in halves)
        worse = next(((h, r) for h, r in runs if COMPILED not in r.files and not r.gave_up), None)
        if worse is None:
            break
        nodes, run = worse
    return failure(run, f"ethos-u: Vela failed on {named(nodes)}", config)


def _node_of(written: WrittenModel, tensor: str) -> str:
    """Returns the node of a tensor. Vela appends suffixes to the names of tensors that it creates."""
    near = [name for name in written.nodes if tensor.startswith(name)]
    return written.nodes[max(near, key=len)] if near else ""
