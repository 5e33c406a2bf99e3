"""One kernel for int8 and another for real numbers, under one op's name."""

from __future__ import annotations

from collections.abc import Sequence

from aot.ir.types import DType
from codegen.formats import Want
from codegen.kernels.kernel import Kernel, OpKernel, Site
from codegen.model import RowFormat


def by_dtype(integers: OpKernel, reals: OpKernel) -> OpKernel:
    """The kernel that the op's data asks for."""

    def chosen(site: Site) -> OpKernel:
        return reals if site.input(0).dtype is DType.F32 else integers

    def wants(site: Site) -> tuple[Want | None, ...]:
        return chosen(site).wants(site)

    def lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
        return chosen(site).lower(site, inputs, output)

    assert integers.takes_rows == reals.takes_rows, "who looks at rows is decided by the op"

    def takes_rows_at(site: Site) -> bool:
        return chosen(site).takes_rows_at(site)

    return OpKernel(wants, lower, integers.takes_rows, takes_rows_at, integers.dtypes | reals.dtypes)
