"""Converts floats to integers with the FPU's saturating instruction."""

from __future__ import annotations

from collections.abc import Sequence

from aot.ir.types import DType
from aot.ops.convert import Convert
from codegen.formats import RowFormat
from codegen.isa.fpu.needs import NEEDS
from codegen.isa.fpu.vfp import truncation
from codegen.kernels.convert import conversion, convert_kernel
from codegen.kernels.elements import element_requests
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.strategy import Condition, Strategy


def _is_truncation(site: Site) -> bool:
    op = site.op_as(Convert)
    return (site.input(0).dtype, op.to, op.of_bits) == (DType.F32, DType.I32, False)


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    function = conversion(site)
    return convert_kernel(site, inputs, output, truncation(function.name, function.compute))


STRATEGY = Strategy(
    "fpu", element_requests, _lower, NEEDS, (Condition("floats to 32-bit integers", _is_truncation),)
)
