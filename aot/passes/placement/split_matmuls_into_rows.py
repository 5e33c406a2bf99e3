"""Matrix products, and the nodes that follow them, are computed a few lines at a time.

A product of [pairs, M, K] and [pairs, K, N] is an image of `pairs` rows, each a matrix. With a few lines per
row it is an image of many rows: one row is computed, passes through scales, masks and the softmax, and
enters the next product before the next row is computed. The scores of attention never exist whole.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from aot.ir.graph import Graph, Node
from aot.ir.types import DType, TensorType
from aot.ops.batch_matmul import BatchMatmul
from aot.ops.dense import Dense
from aot.ops.gather import Gather
from aot.ops.log_softmax import LogSoftmax
from aot.ops.rearrange import Rearrange
from aot.ops.reshape import Reshape
from aot.ops.softmax import Softmax
from aot.passes.goals import PlacementGoal
from aot.passes.outcome import Miss, Outcome, Rewritten, outcome
from aot.passes.rewrite import without_dead_code
from aot.passes.sequence_rows import MatrixRows, SeenInRows, seen_in_rows
from aot.passes.values import NewValues, behind_views

_MAX_ROWS = 4096  # planning is slow with more
_MAX_VECTORS = 4096  # of a dense layer: each of many layers may have that many rows
_MIN_ELEMENTS = 32  # of such a vector; with fewer, calling kernels for each costs noticeable time
_ROWS = 1  # the axis

_RowsMade = tuple[MatrixRows, tuple[str, ...]]  # how a result is split, and its operands


def split_matmuls_into_rows(graph: Graph, goal: PlacementGoal) -> Outcome:
    """Gives rows to matrix products and to the nodes that process their results line by line."""
    rewriting = _MatmulSplit(graph, goal.costs.min_macs_per_row)
    rewriting.run()
    if not rewriting.is_changed:
        return outcome(graph, graph, rewriting.left_alone, "no matrices are multiplied")
    made = graph.with_nodes(rewriting.nodes, rewriting.types, rewriting.constants)
    return Rewritten(without_dead_code(made), rewriting.left_alone)


class _MatmulSplit(NewValues):
    """The state of the rewriting; call run() once."""

    def __init__(self, graph: Graph, min_macs_per_row: int) -> None:
        super().__init__(graph)
        self.min_macs_per_row = min_macs_per_row
        self.nodes: list[Node] = []
        self.rows: dict[str, tuple[str, MatrixRows]] = {}  # a value -> the value that holds its rows
        self.left_alone: dict[str, str] = {}
        self.is_changed = False

    def run(self) -> None:
        for node in self.graph.nodes:
            rows = self._rows_of(node)
            if isinstance(rows, tuple):
                self._replace(node, *rows)
                continue
            self.nodes.append(node)
            self._look(node)
            if rows is not None:
                self.left_alone[node.name] = rows.because

    def _rows_of(self, node: Node) -> _RowsMade | Miss | None:
        """Returns the rows that the node can compute, and its operands; None if it reads none or has them."""
        if isinstance(node.op, BatchMatmul):
            return self._product(node, node.op)
        if isinstance(node.op, Rearrange):
            return self._parts_of_lines(node, node.op)
        rows = self._rows_read(node)
        if rows is None or isinstance(node.op, Reshape | Dense) or self._goes_by(rows, node):
            return None
        return self._line_by_line(node, rows)

    def _rows_read(self, node: Node) -> MatrixRows | None:
        return next((self.rows[v][1] for v in node.reads if v in self.rows), None)

    def _goes_by(self, rows: MatrixRows, node: Node) -> bool:
        """Returns whether the node computes an image of these rows as it is."""
        (kind, *_) = self.graph.output_types(node)
        return kind.rank == 4 and kind.shape == rows.of(kind).shape

    def _product(self, node: Node, op: BatchMatmul) -> _RowsMade | Miss:
        (x, y), graph = node.reads, self.graph
        (pairs, height, depth) = op.sizes(graph.types[x])
        (matrices, _, width) = op.sizes_of_second(graph.types[y])
        if op.x_transposed:
            return Miss(f'transposes its first factor "{x}", whose lines are not lines of the product')
        if x in graph.constants:
            return Miss(f'has a constant first factor "{x}"')
        if matrices != 1 and (matrices != pairs or y in graph.constants):
            return Miss(f'multiplies {pairs} matrices by {matrices} of "{y}"')
        before = self.rows.get(x)
        if before is not None and height % before[1].lines_per_row == 0:
            return before[1], (before[0], y)
        possible = (MatrixRows(pairs * height, n) for n in range(1, height) if height % n == 0)
        enough = (r for r in possible if r.lines_per_row * depth * width >= self.min_macs_per_row)
        rows = next((r for r in enough if r.count <= _MAX_ROWS), None)
        if rows is None:
            return Miss(
                f"has {height} lines of {depth * width:,} multiplications, which cannot form at most "
                f"{_MAX_ROWS:,} rows of at least {self.min_macs_per_row:,}"
            )
        return rows, (self._seen(x, rows.of(graph.types[x])), y)

    def _parts_of_lines(self, node: Node, op: Rearrange) -> _RowsMade | None:
        """Returns the rows of a rearrangement that takes the same columns of each line, if it is one."""
        (out,) = self.graph.output_types(node)
        source = behind_views(node.reads[0], self.graph)
        if source not in self.rows:
            return None
        seen, rows = self.rows[source]
        if self._goes_by(rows, node):
            return None
        width = self.graph.types[source].shape[-1]
        loops = op.loops.in_axes((rows.lines, out.elements // rows.lines))
        if out.elements % rows.lines or loops is None or loops.strides != (width, 1):
            return None
        if op.offset + loops.sizes[1] > width:
            return None
        return rows, (seen,)

    def _line_by_line(self, node: Node, rows: MatrixRows) -> _RowsMade | Miss:
        """Returns the rows of a node whose lines need one line of each operand."""
        (out, *_) = self.graph.output_types(node)
        positions = (0,) if isinstance(node.op, Softmax | LogSoftmax) else node.op.elementwise
        if positions != tuple(range(len(node.inputs))) or prod(out.shape[:-1]) != rows.lines:
            return Miss("does not read its rows line by line")
        seen = [seen_in_rows(self.graph.types[v].shape, out.shape, rows) for v in node.reads]
        operands = [(v, s) for v, s in zip(node.reads, seen, strict=True) if s is not None]
        if len(operands) < len(seen):
            return Miss("reads an operand whose lines repeat in an order that rows cannot have")
        return rows, tuple(self._operand(v, s, rows) for v, s in operands)

    def _operand(self, value: str, seen: SeenInRows, rows: MatrixRows) -> str:
        if value in self.rows and self.rows[value][1] == rows and seen.picks is None:
            return self.rows[value][0]
        if value in self.graph.constants:
            return self._constant(value, seen)
        view = self._seen(value, replace(self.graph.types[value], shape=seen.shape))
        if seen.picks is None:
            return view
        picks = self.constant(f"{value}/picks", TensorType(DType.I32, seen.picks.shape), seen.picks)
        _, _, width, channels = seen.shape
        kind = replace(self.types[view], shape=(1, rows.count, width, channels))
        name = self.value(f"{value}/repeated", kind)
        self.nodes.append(Node(name, Gather(axis=_ROWS), (view, picks), (name,)))
        return name

    def _seen(self, value: str, kind: TensorType) -> str:
        """Returns the value in another shape."""
        name = self.value(f"{value}/seen", kind)
        self.nodes.append(Node(name, Reshape(kind.shape), (value,), (name,)))
        return name

    def _constant(self, value: str, seen: SeenInRows) -> str:
        """Adds a constant operand with all of its rows; a kernel stores repeated rows once."""
        array = self.graph.constants[value].reshape(seen.shape)
        array = array if seen.picks is None else array.take(seen.picks, _ROWS)
        return self.constant(f"{value}/seen", replace(self.graph.types[value], shape=array.shape), array)

    def _replace(self, node: Node, rows: MatrixRows, inputs: tuple[str, ...]) -> None:
        """Replaces the node by one on rows; a reshape restores the shape for readers of whole values."""
        self.is_changed = True
        (value,) = node.outputs
        kind, op = self.graph.types[value], node.op
        shape = rows.of(kind)
        if isinstance(op, Rearrange):
            shape = rows.of(replace(kind, shape=(rows.lines, kind.elements // rows.lines)))
            width = self.type(inputs[0]).shape[-1]
            strides = (0, rows.lines_per_row * width, width, 1)
            op = Rearrange(shape.shape, shape.shape, strides, op.offset)
        made = self.value(f"{value}/rows", shape)
        self.nodes.append(replace(node, op=op, inputs=inputs, outputs=(made,)))
        self.nodes.append(Node(f"{node.name}/whole", Reshape(kind.shape), (made,), (value,), node.origin))
        self.rows[value] = made, rows

    def _look(self, node: Node) -> None:
        """Makes the vectors of a dense layer, and a reshape that keeps lines, available in rows, too."""
        if isinstance(node.op, Dense):
            (value,) = node.outputs
            kind = self.graph.types[value]
            rows = MatrixRows(kind.shape[0], 1)
            if 1 < rows.lines <= _MAX_VECTORS and kind.shape[1] >= _MIN_ELEMENTS:
                self.rows[value] = self._seen(value, rows.of(kind)), rows
        rows_read = self._rows_read(node)
        if rows_read is not None and self._goes_by(rows_read, node):
            self.rows[node.outputs[0]] = node.outputs[0], rows_read
        elif isinstance(node.op, Reshape) and node.reads[0] in self.rows:
            (x,), (y,) = node.reads, node.outputs
            if self.type(self.rows[x][0]).shape[-1:] == self.graph.types[y].shape[-1:]:
                self.rows[y] = self.rows[x]
