"""Tensors joined by rows: a part without other readers is written directly into the joined tensor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from aot.ir.graph import Graph, Node
from aot.ir.types import TensorType
from aot.ops.concat import Concat, behind
from codegen.formats import RowFormat, dense_format, geometry
from codegen.lower.stages import LoweredTensor, Result

_WORD_BYTES = 4


@dataclass(frozen=True)
class JoinedPart:
    """An input of a join."""

    value: str  # as the join reads it
    maker: Node | None  # its stage may write in place; None: other readers exist, or no node computes it
    result: Result


def is_join(node: Node, graph: Graph) -> bool:
    return isinstance(node.op, Concat) and behind(node.op.axis, graph.types[node.outputs[0]].shape)


def is_dense(tensor: LoweredTensor) -> bool:
    return replace(tensor.format, top=0, bottom=0, fill=0) == dense_format(tensor.type)


def row_elements(tensor: TensorType) -> int:
    g = geometry(tensor)
    return g.width * g.channels


def units_of(node: Node, graph: Graph, views: Mapping[str, str], tensor: LoweredTensor) -> list[str]:
    """Returns the values whose rows inputs are written in: the inputs, or the values that they view."""
    units = []
    for value in node.reads:
        root = views.get(value, value)
        is_longer = row_elements(graph.types[root]) % row_elements(tensor.type) == 0
        units.append(root if is_dense(tensor) and is_longer else value)
    return units


def parts_of(node: Node, graph: Graph, views: Mapping[str, str], tensor: LoweredTensor) -> list[JoinedPart]:
    """Returns the parts of a join into that tensor."""
    parts, row = [], 0
    units = units_of(node, graph, views, tensor)
    for number, (value, unit) in enumerate(zip(node.reads, units, strict=True)):
        kind, is_last = graph.types[unit], number == len(units) - 1
        fmt = _format(kind, tensor, number == 0, is_last)
        first = row + tensor.format.top if row else 0
        each = row_elements(kind) // row_elements(tensor.type)
        result = Result(tensor.name, unit, kind, fmt, first, each)
        maker = _maker(unit, node, graph, views)
        parts.append(JoinedPart(value, maker, result))
        row += geometry(graph.types[value]).rows
    return parts


def begins_at_a_word(result: Result, tensor: LoweredTensor) -> bool:
    return result.first * tensor.format.row_bytes % _WORD_BYTES == 0


def _format(kind: TensorType, tensor: LoweredTensor, is_first: bool, is_last: bool) -> RowFormat:
    """Returns the format of a part: the tensor's; only the first and last part have padding rows."""
    own = tensor.format
    if row_elements(kind) != row_elements(tensor.type) or geometry(kind).width != own.width:
        return dense_format(kind)
    return replace(own, top=own.top if is_first else 0, bottom=own.bottom if is_last else 0)


def _maker(unit: str, join: Node, graph: Graph, views: Mapping[str, str]) -> Node | None:
    """Returns the node that computes the part, if the join is its only reader."""
    seen = [unit, *(view for view, root in views.items() if root == unit)]
    if unit in views or unit in graph.given or unit not in graph.producers:
        return None
    readers = [reader for value in seen for reader in graph.readers[value] if reader.outputs[0] not in views]
    reads_once = sum(value in seen for value in join.reads) == 1
    is_alone = all(reader is join for reader in readers) and not any(value in graph.kept for value in seen)
    maker = graph.producers[unit]
    return maker if is_alone and reads_once and not is_join(maker, graph) else None
