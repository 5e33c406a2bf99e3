"""Views: values that share another tensor's memory but have other rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from aot.ir.graph import Graph, Node
from aot.ir.types import TensorType
from aot.ops.reshape import Reshape
from codegen.formats import ElementOrder, RowFormat, RowRequest, dense_format, geometry

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
