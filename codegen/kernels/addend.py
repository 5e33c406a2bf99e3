"""Adds a row to a convolution's results as they are stored, so that the results need no memory.

This pays if the tile's sums are in core registers, as with SMLAD: a quarter of the saved pass. On Helium, a
separate pass over both rows needs no more instructions than the addition in a tile. On every core, the
convolution's rows and the addend's rows must then be live together, which needs more memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from aot.ops.activation import integer_clamp
from aot.ops.binary_rescale import add_parameters
from aot.ops.conv2d_add import Conv2dAdd
from aot.ops.requant import quant_of
from codegen.formats import RowFormat, storage_dtype
from codegen.isa.plain.arithmetic import StoredResult, sum_int8
from codegen.kernels.kernel import Site
from codegen.loops.affine import Affine
from codegen.loops.ir import Apply, Buffer, Expr, Role, ScalarFunction, load


@dataclass(frozen=True, slots=True)
class Addend:
    """A row whose elements are added to the results that a kernel stores."""

    row: Buffer
    first: int  # element of pixel 0, channel 0
    pixel_step: int
    channel_step: int
    added: ScalarFunction  # (result, element of the row) -> stored value

    def sum(self, stored: Expr, column: Affine, channel: Affine) -> Expr:
        element = column * self.pixel_step + channel * self.channel_step + self.first
        return Apply(self.added, (stored, load(self.row, element)))


def addend(site: Site, fmt: RowFormat, begin: int) -> Addend | None:
    """Returns the addend, whose row starts at pixel `begin`; None if the op adds nothing."""
    op, out = site.node.op, site.outputs[0]
    if not isinstance(op, Conv2dAdd):
        return None
    made, other = op.made(out), site.input(3)
    zero_points = (quant_of(made).zero_point, quant_of(other).zero_point)
    result = StoredResult(quant_of(out).zero_point, *integer_clamp(op.add.activation, out), site.math)
    return Addend(
        row=Buffer("b", storage_dtype(other, fmt), fmt.row_elements, Role.ROWS),
        first=(fmt.left + begin) * fmt.x_step,
        pixel_step=fmt.x_step,
        channel_step=fmt.c_step,
        added=sum_int8("+", add_parameters(made, other, out), zero_points, result),
    )
