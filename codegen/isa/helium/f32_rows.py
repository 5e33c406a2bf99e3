"""Helium: sums, differences and products of two rows of floats, four elements at a time."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from aot.ir.types import DType
from aot.ops.activation import Activation
from codegen.isa.helium.f32 import FLOAT_NEEDS, FOURS, clamped, clamps, limits_declared, loaded
from codegen.isa.helium.needs import INCLUDES
from codegen.isa.plain.f32 import clamp_f32
from codegen.loops.affine import variable
from codegen.loops.ir import Apply, Binary, Buffer, Expr, For, Instruction, Role, Store, at, load

# Op -> the operator of a nest, the intrinsic, and a name.
OPERATIONS: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        "add": ("+", "vaddq_f32", "sums"),
        "sub": ("-", "vsubq_f32", "differences"),
        "mul": ("*", "vmulq_f32", "products"),
    }
)


def float_row(op: str, count: int, activation: Activation) -> Instruction:
    """y[i] = clamped(a[i] op b[i])."""
    operator, intrinsic, what = OPERATIONS[op]
    a, b = (Buffer(n, DType.F32, 0, Role.INPUT) for n in "ab")
    y, i = Buffer("y", DType.F32, 0, Role.OUTPUT), variable("i")
    made: Expr = Binary(operator, load(a, i), load(b, i))
    made = made if activation is Activation.NONE else Apply(clamp_f32(activation), (made,))
    name = f"real_{what}_of_{count}_{activation.value}"
    whole, rest = divmod(count, FOURS)

    def one(lanes: int) -> list[str]:
        masked, mask = ("", "") if lanes == FOURS else ("_p", f", vctp32q({lanes})")
        value = clamped(f"{intrinsic}({loaded('a', lanes)}, {loaded('b', lanes)})", activation)
        return [f"vstrwq{masked}_f32(y, {value}{mask});"]

    loop = [
        f"for (int32_t i = 0; i < {whole}; ++i) {{",
        *(f"    {line}" for line in (*one(FOURS), *(f"{p} += {FOURS};" for p in "aby"))),
        "}",
    ]
    body = [*limits_declared(activation), *(loop if whole else []), *(one(rest) if rest else [])]
    lines = [
        f"/* The {what} of two rows of {count}, four at a time. */",
        f"static inline void {name}(float *y, const float *a, const float *b)",
        "{",
        *(f"    {line}" for line in body),
        "}",
    ]
    return Instruction(
        name=name,
        params=(y, a, b),
        body=(For("i", count, (Store(at(y, i), made),)),),
        call=f"{name}({{y}}, {{a}}, {{b}});",
        definition="\n".join(lines) + "\n",
        includes=INCLUDES,
        calls=clamps(activation),
        needs=FLOAT_NEEDS,
    )
