"""The last step of resizing: rounds a sum of four weighted pixels, in steps of 2^-(2 * FRACTION_BITS)."""

from __future__ import annotations

from aot.ir.types import DType
from aot.ops.resize import FRACTION_BITS
from codegen.isa.plain.plain import expression_function
from codegen.loops.ir import ScalarFunction


def rounded_share(wide: DType) -> ScalarFunction:
    """f(sum) -> the element, rounded half away from zero, in integers of that type."""
    half = 1 << (2 * FRACTION_BITS - 1)
    text = f"(a + {half} + (a >> {8 * wide.bytes - 1})) >> {2 * FRACTION_BITS}"
    says = f"a / {2 * half}, half away from zero: a sign is -1."
    return expression_function(f"rounded_share_{wide.value}", wide, (wide,), text, rounded, says)


def rounded(total: int) -> int:
    """Returns the value that the functions compute."""
    magnitude = (abs(total) + (1 << (2 * FRACTION_BITS - 1))) >> (2 * FRACTION_BITS)
    return magnitude if total > 0 else -magnitude
