"""select: one of two elements, chosen by a third."""

from __future__ import annotations

from collections.abc import Sequence

from aot.ir.types import DType
from codegen.formats import RowFormat
from codegen.kernels.elements import element_kernel, element_requests
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.ir import Choose, Expr, Load


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    return element_kernel(site, inputs, output, _chosen, "a selection")


def _chosen(values: Sequence[Load]) -> Expr:
    condition, yes, no = values
    return Choose(condition, yes, no)


KERNEL = OpKernel((Strategy("plain", element_requests, _lower),), frozenset(DType))
