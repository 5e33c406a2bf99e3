"""The width of the rows that kernels by SMLAD read."""

from __future__ import annotations

from aot.ir.types import DType
from codegen.kernels.kernel import Site


def row_bytes(site: Site, makes_factors: bool) -> int:
    """16 bits wide where memory allows: SMLAD reads them without widening. Factors are made of bytes."""
    if makes_factors:
        return 1
    return 2 if site.allow_widened_rows or site.input(0).dtype is DType.I16 else 1
