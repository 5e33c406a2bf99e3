"""quantize and dequantize: a table between 8-bit types, a C function from and to floats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aot.ir.types import DType
from aot.ops.quantize import Quantize
from aot.ops.requant import quant_of
from codegen.formats import RowFormat
from codegen.isa.plain.f32 import f32_of, quantise_f32
from codegen.isa.plain.scalar import requantise
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.lookup import lookup_kernel, site_table
from codegen.kernels.row_nests import applied, requests_anything
from codegen.kernels.strategy import OpKernel, Strategy


def _quantize(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    table, (out,), op = site_table(site), site.outputs, site.op_as(Quantize)
    if table is not None:
        return lookup_kernel(site, table, inputs[0], output)
    function = quantise_f32(quant_of(out), out.dtype, op.halves_to_even)
    if site.input(0).dtype is not DType.F32:
        function = requantise(quant_of(site.input(0)), quant_of(out), out.dtype)
    return applied(site, function, inputs[0], output, "quantised")


def _dequantize(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    return applied(site, f32_of(quant_of(site.input(0))), inputs[0], output, "as floats")


_DTYPES = frozenset({DType.I8, DType.U8, DType.I16, DType.I32, DType.F32})
KERNELS: Mapping[str, OpKernel] = {
    "dequantize": OpKernel((Strategy("plain", requests_anything, _dequantize),), _DTYPES),
    "quantize": OpKernel((Strategy("plain", requests_anything, _quantize),), _DTYPES),
}
