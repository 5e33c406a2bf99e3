"""Chooses the tensor of a value: its row format, and whether it must be contiguous.

Every value gets the format that its readers request. Values that the caller sees, or that views read with
other rows, are dense.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from aot.ir.graph import Graph, Node
from aot.plan.model import Kind
from codegen.formats import RowRequest, dense_format, geometry, merge_requests, requested_format, zero_point
from codegen.kernels.strategy import ChosenStrategy
from codegen.lower.stages import LoweredTensor
from codegen.lower.views import ending_at_words, is_view, parts_of_a_row, with_rows_around


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
