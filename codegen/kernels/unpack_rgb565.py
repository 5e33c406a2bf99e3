"""unpack_rgb565: three shifts and masks of two bytes."""

from __future__ import annotations

from collections.abc import Sequence

from aot.ir.types import DType
from aot.ops.unpack_rgb565 import UnpackRgb565
from codegen.formats import RowFormat
from codegen.isa.plain.scalar_math import expression_function
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.row_nests import AxisVector, last_axis_kernel, last_axis_requests
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.ir import Apply, Stmt, Store

_U8 = DType.U8
_RED = expression_function(
    "red_of", _U8, (_U8,), "(uint8_t)((a & 0xf8u) | (a >> 5))", lambda a: (a & 0xF8) | (a >> 5)
)
_GREEN = expression_function(
    "green_of",
    _U8,
    (_U8, _U8),
    "(uint8_t)((a & 7u) << 5 | (b & 0xe0u) >> 3 | (a & 7u) >> 1)",
    lambda a, b: (a & 7) << 5 | (b & 0xE0) >> 3 | (a & 7) >> 1,
    "The six bits lie in both bytes, and the upper two are repeated.",
)
_BLUE = expression_function(
    "blue_of",
    _U8,
    (_U8,),
    "(uint8_t)((a & 31u) << 3 | (a & 31u) >> 2)",
    lambda a: (a & 31) << 3 | (a & 31) >> 2,
)


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    op = site.op_as(UnpackRgb565)

    def body(x: AxisVector, y: AxisVector) -> Sequence[Stmt]:
        low, high = (x.load(1), x.load(0)) if op.high_first else (x.load(0), x.load(1))
        parts = Apply(_RED, (high,)), Apply(_GREEN, (high, low)), Apply(_BLUE, (low,))
        return [Store(y.at(channel), part) for channel, part in enumerate(parts)]

    return last_axis_kernel(site, inputs, output, body, "the colors")


KERNEL = OpKernel((Strategy("plain", last_axis_requests, _lower),), frozenset({_U8}))
