"""Residual sums, made in the store of the convolution before them, so that its own result is nowhere.

This pays where the tile's sums are in core registers beside SMLAD: a quarter of the pass that it saves.
On Helium a pass over both rows takes as few instructions as the same in a tile, and everywhere the
convolution's rows must then be there together with those of the sum: memory for speed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aot.ir.graph import Graph, Node
from aot.ir.types import DType, TensorType
from aot.ops.activation import integer_clamp
from aot.ops.binary import Add
from aot.ops.conv2d import Conv2d
from aot.ops.pairs import add_parameters
from aot.ops.requant import quant_of
from codegen.formats import RowFormat, storage_dtype
from codegen.isa.plain.arithmetic import StoredResult, sum_int8
from codegen.kernels.kernel import Site
from codegen.loops.affine import Affine
from codegen.loops.ir import Apply, Buffer, Expr, Role, ScalarFunction, load


def sums_in_stores(graph: Graph) -> Mapping[str, Node]:
    """addition -> the convolution whose store can make it: the later one of those whose results it adds."""
    places = {node.name: place for place, node in enumerate(graph.nodes)}
    found = {}
    for node in graph.nodes:
        makers = [graph.producers[v] for v in node.reads if _is_only_added(graph, v, node)]
        if makers and _adds_images(graph, node):
            found[node.name] = max(makers, key=lambda maker: places[maker.name])
    return found


def _is_only_added(graph: Graph, value: str, addition: Node) -> bool:
    """Whether it comes from a convolution and goes nowhere but into the sum, once."""
    maker = graph.producers.get(value)
    is_read_once = graph.readers[value] == (addition,) and addition.reads.count(value) == 1
    return maker is not None and isinstance(maker.op, Conv2d) and is_read_once and value not in graph.kept


def _adds_images(graph: Graph, node: Node) -> bool:
    """Two images of one shape, both computed or given at run time."""
    (out,) = graph.output_types(node)
    types = (*graph.input_types(node), out)
    return (
        isinstance(node.op, Add)
        and all(t is not None and _is_image(t) and t.shape == out.shape for t in types)
        and all(v not in graph.constants for v in node.reads)
    )


def _is_image(tensor: TensorType) -> bool:
    is_quantised = tensor.dtype is DType.I8 and tensor.quant is not None
    return is_quantised and tensor.rank == 4 and tensor.shape[0] == 1


@dataclass(frozen=True, slots=True)
class Addend:
    """The row that is added to a convolution's results as they are stored."""

    row: Buffer
    first: int  # element of pixel 0, channel 0
    pixel_step: int
    channel_step: int
    added: ScalarFunction  # (result, element of the row) -> what is stored

    def sum(self, stored: Expr, column: Affine, channel: Affine) -> Expr:
        element = column * self.pixel_step + channel * self.channel_step + self.first
        return Apply(self.added, (stored, load(self.row, element)))


def addend(made: TensorType, addition: Site, position: int, fmt: RowFormat) -> Addend:
    """For a sum of what a kernel makes and its operand at `position`, whose rows have that format."""
    op, other, out = addition.node.op, addition.input(position), addition.outputs[0]
    assert isinstance(op, Add)
    parameters = add_parameters(made, other, out)
    zero_points = (quant_of(made).zero_point, quant_of(other).zero_point)
    result = StoredResult(quant_of(out).zero_point, *integer_clamp(op.activation, out), addition.math)
    return Addend(
        row=Buffer("b", storage_dtype(other, fmt), fmt.row_elements, Role.ROWS),
        first=fmt.left * fmt.x_step,
        pixel_step=fmt.x_step,
        channel_step=fmt.c_step,
        added=sum_int8("+", parameters, zero_points, result),
    )
