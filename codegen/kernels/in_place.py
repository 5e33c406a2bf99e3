"""Results that may overwrite an operand: each element is read before its position is written.

This is for tensors of one row or one piece. In images, rows die one by one, so it would save only one row.
"""

from __future__ import annotations

from dataclasses import replace

from codegen.formats import RowFormat, geometry
from codegen.kernels.kernel import Site


def row_fits(site: Site, position: int, x: RowFormat, y: RowFormat) -> bool:
    """Returns True if the only row of the result may replace the operand's."""
    source, out = site.input(position), site.outputs[0]
    is_vector = geometry(source).rows == geometry(out).rows == 1
    return is_vector and source.dtype is out.dtype and replace(x, fill=y.fill) == y


def piece_fits(site: Site, position: int) -> bool:
    """Returns True if the whole result may replace the whole operand."""
    source, out = site.input(position), site.outputs[0]
    return source.dtype is out.dtype and source.shape == out.shape
