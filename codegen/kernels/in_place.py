"""Results that may be written where an operand lies: each element is read where it is written, and before.

Images die row by row: one row is all that this could save there. It is for what is one row or one piece.
"""

from __future__ import annotations

from dataclasses import replace

from codegen.formats import RowFormat, geometry
from codegen.kernels.kernel import Site


def row_fits(site: Site, position: int, x: RowFormat, y: RowFormat) -> bool:
    """True where the only row of the result may replace the operand's."""
    source, out = site.input(position), site.outputs[0]
    is_vector = geometry(source).rows == geometry(out).rows == 1
    return is_vector and source.dtype is out.dtype and replace(x, fill=y.fill) == y


def piece_fits(site: Site, position: int) -> bool:
    """True where the whole result may replace the whole operand."""
    source, out = site.input(position), site.outputs[0]
    return source.dtype is out.dtype and source.shape == out.shape
