"""The element width of the rows that SMLAD kernels read."""

from __future__ import annotations

from aot.ir.types import DType
from codegen.kernels.kernel import Site


def row_bytes(site: Site, makes_factors: bool) -> int:
    """Returns the bytes: 2 if memory permits, since SMLAD needs no widening then. Factors need int8 rows."""
    if makes_factors:
        return 1
    return 2 if site.allow_widened_rows or site.input(0).dtype is DType.I16 else 1
