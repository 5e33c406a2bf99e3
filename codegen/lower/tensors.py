"""The tensor of each value: its memory, its row format, and whether it must be contiguous.

A reshaped value is a view of another tensor's memory. A part of a join by rows is written into the joined
tensor, and a value that an output aliases into the output. All others have the format that their readers
request, unless the caller sees them or views read them with other rows: then they are dense.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from aot.errors import ModelError
from aot.ir.graph import Graph, Node
from aot.ir.types import TensorType
from aot.ops.concat import Concat, behind
from aot.ops.reshape import Reshape
from aot.plan.model import Kind
from codegen.formats import (
    ElementOrder,
    RowFormat,
    RowRequest,
    dense_format,
    geometry,
    merge_requests,
    requested_format,
    zero_point,
)
from codegen.kernels.strategy import ChosenStrategy
from codegen.lower.stages import Lowered, LoweredStage, LoweredTensor, Reading, Result

_WORD_BYTES = 4


def is_view(node: Node) -> bool:
    """Returns whether the node needs no stage because its result is the memory of its input."""
    return isinstance(node.op, Reshape)


def view_roots(graph: Graph, updates: Mapping[str, str]) -> dict[str, str]:
    """Maps each value without memory of its own to the owner: those of reshapes, and updated states."""
    roots = dict(updates)
    for node in graph.nodes:
        if is_view(node):
            source = node.reads[0]
            roots[node.outputs[0]] = roots.get(source, source)
    return roots


def parts_of_a_row(view: TensorType, own: TensorType) -> int:
    """Counts the view's rows in one row of the tensor; 0 if they cross its rows."""
    seen, held = geometry(view), geometry(own)
    parts, rest = divmod(held.width * held.channels, seen.width * seen.channels)
    return 0 if rest else parts


def with_rows_around(fmt: RowFormat, requests: Iterable[tuple[RowRequest, int]], fill: int) -> RowFormat:
    """Returns the format with the padding rows that readers of parts of its rows request."""
    fitting = [(request, parts) for request, parts in requests if _fits_dense_rows(request, fmt)]
    top = max((-(-request.top // parts) for request, parts in fitting), default=0)
    bottom = max((-(-request.bottom // parts) for request, parts in fitting), default=0)
    return replace(fmt, top=top, bottom=bottom, fill=fill) if top or bottom else fmt


def _fits_dense_rows(request: RowRequest, fmt: RowFormat) -> bool:
    sides = request.left or request.right or request.slack or request.order is not ElementOrder.PIXELS
    return not sides and request.fill is None and request.dtype_bytes == fmt.dtype_bytes


def ending_at_words(fmt: RowFormat) -> RowFormat:
    """Returns the format with gaps after rows if groups of four narrow elements are read past their ends."""
    if fmt.dtype_bytes >= _WORD_BYTES:
        return fmt
    return replace(fmt, row_elements=-(-fmt.row_elements // 4) * 4)


def view_format(view: TensorType, own: TensorType, fmt: RowFormat) -> RowFormat | None:
    """Returns the rows of a view in a tensor of this format, or None if they are the tensor's rows."""
    if geometry(view) == geometry(own):
        return None
    parts = parts_of_a_row(view, own)
    return replace(
        dense_format(view),
        dtype_bytes=fmt.dtype_bytes,
        top=fmt.top * parts,
        bottom=fmt.bottom * parts,
        fill=fmt.fill,
    )


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


def made_at_outputs(graph: Graph, views: Mapping[str, str]) -> dict[str, str]:
    """Maps each computed value that a reshaped output aliases to that output.

    Skips values that are outputs themselves, and all but the first output of a value.
    """
    found: dict[str, str] = {}
    for output in graph.outputs:
        root = views.get(output)
        if root is not None and root in graph.producers and root not in (*graph.outputs, *graph.constants):
            found.setdefault(root, output)
    return found


def called_as_outputs(lowered: Lowered, outputs: Mapping[str, str]) -> Lowered:
    """Returns `lowered` with these tensors renamed to their outputs, the names that users know."""
    if not outputs:
        return lowered

    def name_of(tensor: str) -> str:
        return outputs.get(tensor, tensor)

    def read(reading: Reading) -> Reading:
        return replace(reading, tensor=name_of(reading.tensor))

    def made(result: Result) -> Result:
        return replace(result, tensor=name_of(result.tensor))

    def renamed(stage: LoweredStage) -> LoweredStage:
        reads, others = tuple(map(read, stage.reads)), tuple(map(made, stage.others))
        return replace(stage, reads=reads, result=made(stage.result), others=others)

    tensors = {name_of(t.name): replace(t, name=name_of(t.name)) for t in lowered.tensors.values()}
    return replace(lowered, tensors=tensors, stages=tuple(map(renamed, lowered.stages)))


@dataclass(frozen=True)
class TensorChoice:
    graph: Graph
    views: Mapping[str, str]  # value -> the value whose memory it is
    chosen: Mapping[str, ChosenStrategy]  # of all nodes but views
    at_outputs: Mapping[str, str]  # value -> the output that aliases it

    @cached_property
    def _requests(self) -> Mapping[str, Sequence[RowRequest | None]]:
        return {name: chosen.requests for name, chosen in self.chosen.items()}

    def as_requested(self, value: str) -> LoweredTensor:
        """Returns the tensor that a node writes: as its readers request, dense for views and the caller."""
        if value in self.graph.outputs or value in self.views.values():
            return self.dense(value, self.kind(value))
        value_type = self.graph.types[value]
        requests = [request for request in self._reader_requests(value) if request is not None]
        if not requests:
            return self.dense(value, Kind.INNER)
        chosen = merge_requests(requests) or requests[0]
        if any(request.whole for request in requests):
            return self.dense(value, Kind.INNER)
        return LoweredTensor(value, value_type, requested_format(value_type, chosen), Kind.INNER)

    def dense(self, value: str, kind: Kind, in_one_piece: bool = False) -> LoweredTensor:
        """Returns a dense tensor, with the padding rows and row ends that readers of its views request."""
        value_type = self.graph.types[value]
        requests = self._reader_requests(value)
        in_one_piece = in_one_piece or any(request is not None and request.whole for request in requests)
        whole = in_one_piece or self._is_looked_at_whole(value)
        fmt = dense_format(value_type)
        if kind is Kind.INNER and not whole:
            fmt = with_rows_around(fmt, self._requests_of_parts(value), zero_point(value_type))
            fmt = ending_at_words(fmt) if self._is_read_by_groups(value) else fmt
        return LoweredTensor(value, value_type, fmt, kind, whole)

    def kind(self, value: str) -> Kind:
        """Returns the kind. An output is the caller's unless its kernel demands memory: then it is copied."""
        maker = self.graph.producers.get(value)
        chosen = self.chosen.get(maker.name) if maker is not None else None
        is_planned = chosen is not None and chosen.demands_memory
        is_output = value in self.graph.outputs or value in self.at_outputs
        return Kind.OUTPUT if is_output and not is_planned else Kind.INNER

    def must_be_contiguous(self, node: Node) -> bool:
        """Returns whether the node's result must be contiguous."""
        if node.name in self.chosen and self.chosen[node.name].site.spreads:
            return True
        return any(request is not None and request.whole for request in self.requests(node))

    def requests(self, node: Node) -> Sequence[RowRequest | None]:
        """Returns the requests for the node's inputs at run time; empty for a view."""
        return self._requests.get(node.name, ())

    def reads(self, node: Node) -> list[tuple[str, RowRequest | None]]:
        """Returns the values that the node reads at run time, each with its request."""
        read = node.reads[1:] if self.chosen[node.name].site.in_place else node.reads
        values = [v for v in read if v not in self.graph.constants]
        return list(zip(values, self.requests(node), strict=True))

    def is_flattened(self, value: str) -> bool:
        """Returns whether the value is a vector of several rows of a computed image."""
        root = self.views.get(value)
        if root is None or root in self.graph.given:
            return False
        return geometry(self.graph.types[value]).rows == 1 < geometry(self.graph.types[root]).rows

    def takes_image_rows(self, vector: str) -> bool:
        """Returns whether readers of a vector can read its image's rows, which must then be padded."""
        readers = [node for node in self.graph.readers[vector] if not is_view(node)]
        if not all(self.chosen[node.name].reads_image_rows for node in readers):
            return False
        root = self.views[vector]
        kind = self.graph.types[root]
        ends_at_words = dense_format(kind).row_elements % 4 == 0 or kind.dtype.bytes == 4
        return ends_at_words or self._may_be_padded(root)

    def _reader_requests(self, value: str) -> list[RowRequest | None]:
        requests = []
        for node in self.graph.readers[value]:
            if is_view(node):
                continue
            requests += [request for v, request in self.reads(node) if v == value]
        return requests

    def _requests_of_parts(self, value: str) -> list[tuple[RowRequest, int]]:
        """Returns the requests of readers of views with short rows, and how many of these fill a row."""
        types = self.graph.types
        views = [(view, parts_of_a_row(types[view], types[value])) for view in self._views_of(value)]
        return [
            (request, parts)
            for view, parts in views
            if parts
            for request in self._reader_requests(view)
            if request
        ]

    def _views_of(self, value: str) -> list[str]:
        return [view for view, root in self.views.items() if root == value]

    def _is_looked_at_whole(self, value: str) -> bool:
        """Returns whether a view with other rows reads it: then its rows must be contiguous."""
        return any(view in self.graph.kept or not self._goes_by_rows(view) for view in self._views_of(value))

    def _goes_by_rows(self, view: str) -> bool:
        if parts_of_a_row(self.graph.types[view], self.graph.types[self.views[view]]):
            return not any(request is not None and request.whole for request in self._reader_requests(view))
        if not self.is_flattened(view):
            return not self._reader_requests(view)
        return self.takes_image_rows(view)

    def _is_read_by_groups(self, value: str) -> bool:
        """Returns whether dense layers read its rows in groups, and can."""
        vectors = [view for view in self._views_of(value) if self._reader_requests(view)]
        are_narrow = self.graph.types[value].dtype.bytes < 4
        return are_narrow and bool(vectors) and self._may_be_padded(value)

    def _may_be_padded(self, value: str) -> bool:
        """Returns whether gaps between rows are allowed: no reader needs one piece or parts of rows."""
        maker = self.graph.producers[value]
        views = [view for view in self._views_of(value) if self._reader_requests(view)]
        is_kept = any(v in self.graph.kept for v in (value, *self._views_of(value)))
        is_read_whole = any(request and request.whole for request in self._reader_requests(value))
        in_one_piece = is_read_whole or self.must_be_contiguous(maker)
        return not is_kept and not in_one_piece and all(self.is_flattened(view) for view in views)


def can_be_streamed(graph: Graph) -> bool:
    """Returns whether the only input is an image that layers read row by row."""
    if len(graph.inputs) != 1 or graph.inputs[0] in graph.outputs:
        return False
    is_seen = any(node.op.name == Reshape.name for node in graph.readers[graph.inputs[0]])
    return not is_seen and geometry(graph.types[graph.inputs[0]]).rows > 1


def streamed_input(graph: Graph) -> str:
    """Returns the one input whose rows can be pushed. Raises ModelError if the graph does not allow it."""
    if len(graph.inputs) != 1:
        raise ModelError(
            f"a model with {len(graph.inputs)} inputs cannot be streamed",
            "inputs: " + ", ".join(graph.inputs),
            "omit --stream to pass all inputs at once",
        )
    (value,) = graph.inputs
    if not can_be_streamed(graph):
        views = [node.name for node in graph.readers[value] if node.op.name == Reshape.name]
        shape = ", ".join(str(d) for d in graph.types[value].shape)
        raise ModelError(
            "the input cannot be streamed: it must be an image [1, rows, columns, channels] that layers read "
            "row by row",
            f'input "{value}" has shape [{shape}]' + (f", read by reshape {views[0]}" if views else ""),
            "omit --stream to pass the input at once",
        )
    return value
