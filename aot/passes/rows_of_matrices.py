"""Products of matrices computed line by line, and what follows them, so that attention needs but lines.

A product of [pairs, M, K] and [pairs, K, N] is an image of `pairs` rows, each a matrix. The same lines, a few
to a row, are an image of many rows: one row is computed, passes through scales, masks and the softmax, and
goes into the next product before the next is. The scores of attention never exist whole.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from aot.ir.graph import Array, Graph, Node
from aot.ir.types import DType, TensorType
from aot.ops.batch_matmul import BatchMatmul
from aot.ops.gather import Gather
from aot.ops.log_softmax import LogSoftmax
from aot.ops.reshape import Reshape
from aot.ops.softmax import Softmax
from aot.passes.matrix_lines import Lines, Seen, seen_in_rows
from aot.passes.names import fresh_name

_LEAST_MACS = 1024  # of a row: to begin one takes about as long as ten of them
_MOST_ROWS = 4096  # with more the planner takes long
_ROWS = 1  # the axis


def rows_of_matrices(graph: Graph) -> Graph:
    """The result is the same graph where no product gains rows."""
    rewriting = _Rewriting(graph)
    rewriting.run()
    if not rewriting.rows:
        return graph
    return graph.with_nodes(rewriting.nodes, rewriting.types, rewriting.constants)


class _Rewriting:
    """Holds what is made on the way; run() once."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes: list[Node] = []
        self.types: dict[str, TensorType] = {}
        self.constants: dict[str, Array] = {}
        self.rows: dict[str, tuple[str, Lines]] = {}  # a value -> what holds its rows

    def run(self) -> None:
        for node in self.graph.nodes:
            rows = self._rows_of(node)
            if rows is None:
                self.nodes.append(node)
                self._look(node)
            else:
                self._replace(node, *rows)

    def _rows_of(self, node: Node) -> tuple[Lines, tuple[str, ...]] | None:
        """The rows that the node can make, and the operands it makes them of."""
        if isinstance(node.op, BatchMatmul):
            return self._product(node, node.op)
        lines = next((self.rows[v][1] for v in node.reads if v in self.rows), None)
        return None if lines is None else self._line_by_line(node, lines)

    def _product(self, node: Node, op: BatchMatmul) -> tuple[Lines, tuple[str, ...]] | None:
        (x, y), graph = node.reads, self.graph
        (pairs, height, depth) = op.sizes(graph.types[x])
        (matrices, _, width) = op.sizes_of_second(graph.types[y])
        is_shared = matrices == 1 or (matrices == pairs and y not in graph.constants)
        if op.x_transposed or x in graph.constants or not is_shared:
            return None
        before = self.rows.get(x)
        if before is not None and height % before[1].per_row == 0:
            return before[1], (before[0], y)
        fitting = (Lines(pairs * height, n) for n in range(1, height) if height % n == 0)
        worth = (n for n in fitting if n.per_row * depth * width >= _LEAST_MACS and n.rows <= _MOST_ROWS)
        lines = next(worth, None)
        return None if lines is None else (lines, (self._seen(x, lines.of(graph.types[x])), y))

    def _line_by_line(self, node: Node, lines: Lines) -> tuple[Lines, tuple[str, ...]] | None:
        """Where each line of the result needs one line of each operand."""
        (out,) = self.graph.output_types(node)
        positions = (0,) if isinstance(node.op, Softmax | LogSoftmax) else node.op.elementwise
        if positions != tuple(range(len(node.inputs))) or prod(out.shape[:-1]) != lines.count:
            return None
        seen = [seen_in_rows(self.graph.types[v].shape, out.shape, lines) for v in node.reads]
        operands = [(v, s) for v, s in zip(node.reads, seen, strict=True) if s is not None]
        if len(operands) < len(seen):
            return None
        return lines, tuple(self._operand(v, s, lines) for v, s in operands)

    def _operand(self, value: str, seen: Seen, lines: Lines) -> str:
        if value in self.rows and self.rows[value][1] == lines and seen.picks is None:
            return self.rows[value][0]
        if value in self.graph.constants:
            return self._constant(value, seen)
        view = self._seen(value, replace(self.graph.types[value], shape=seen.shape))
        if seen.picks is None:
            return view
        picks = self._named(f"{value}/picks", TensorType(DType.I32, seen.picks.shape))
        self.constants[picks] = seen.picks
        _, _, width, channels = seen.shape
        kind = replace(self.types[view], shape=(1, lines.rows, width, channels))
        name = self._named(f"{value}/repeated", kind)
        self.nodes.append(Node(name, Gather(axis=_ROWS), (view, picks), (name,)))
        return name

    def _seen(self, value: str, kind: TensorType) -> str:
        """The value in another shape."""
        name = self._named(f"{value}/seen", kind)
        self.nodes.append(Node(name, Reshape(kind.shape), (value,), (name,)))
        return name

    def _constant(self, value: str, seen: Seen) -> str:
        """All of its rows; a kernel stores those that come again once."""
        array = self.graph.constants[value].reshape(seen.shape)
        array = array if seen.picks is None else array.take(seen.picks, _ROWS)
        name = self._named(f"{value}/seen", replace(self.graph.types[value], shape=array.shape))
        self.constants[name] = array
        return name

    def _replace(self, node: Node, lines: Lines, inputs: tuple[str, ...]) -> None:
        """The node on rows; its result is there as it was, too, for whom that concerns."""
        (value,) = node.outputs
        kind = self.graph.types[value]
        made = self._named(f"{value}/rows", lines.of(kind))
        self.nodes.append(replace(node, inputs=inputs, outputs=(made,)))
        self.nodes.append(Node(f"{node.name}/whole", Reshape(kind.shape), (made,), (value,), node.origin))
        self.rows[value] = made, lines

    def _look(self, node: Node) -> None:
        """The same lines in another shape are there in rows, too."""
        if isinstance(node.op, Reshape) and node.reads[0] in self.rows:
            (x,), (y,) = node.reads, node.outputs
            if self.graph.types[x].shape[-1:] == self.graph.types[y].shape[-1:]:
                self.rows[y] = self.rows[x]

    def _named(self, wish: str, kind: TensorType) -> str:
        name = fresh_name(wish, self.graph.types, self.types)
        self.types[name] = kind
        return name
