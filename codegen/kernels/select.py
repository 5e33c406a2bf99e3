"""select: one of two elements, as a third one says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aot.ir.types import DType
from codegen.kernels.elements import element_kernel, element_wants
from codegen.kernels.kernel import Kernel, OpKernel, Site
from codegen.loops.ir import Choose, Expr, Load
from codegen.model import RowFormat


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    return element_kernel(site, inputs, output, _chosen, "a selection")


def _chosen(values: Sequence[Load]) -> Expr:
    condition, yes, no = values
    return Choose(condition, yes, no)


KERNELS: Mapping[str, OpKernel] = {
    "select": OpKernel(wants=element_wants, lower=_lower, dtypes=frozenset(DType))
}
