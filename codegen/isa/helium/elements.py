"""Helium: elements of two rows: the sum or difference of int8 rows in different scales; arithmetic of floats.

A difference to the zero point can be shifted left by four in sixteen bits; VSHLL shifts by the other sixteen.
An operand whose multiplier is a power of two, like that of the one with the larger scale, is only shifted.
If halves go to even or odd, all multipliers are powers of two, and a sum is rounded as in `requantise.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from aot.ir.types import DType
from aot.ops.activation import Activation
from aot.ops.binary_rescale import AddParameters
from aot.ops.rounding import PARITY, RequantRounding
from codegen.isa.helium import INCLUDES, NEEDS
from codegen.isa.helium.f32 import FLOAT_NEEDS, FOURS, clamped, clamps, limits_declared, loaded
from codegen.isa.helium.requantise import NARROW_HALVES, NARROW_WORDS, narrowed
from codegen.isa.plain.arithmetic import Multiplier, StoredResult, line_of
from codegen.isa.plain.f32 import clamp_f32
from codegen.isa.plain.requantise import Requant
from codegen.isa.plain.scalar_math import SumLine
from codegen.loops.affine import variable
from codegen.loops.ir import (
    Apply,
    Binary,
    Buffer,
    Expr,
    For,
    Instruction,
    Role,
    ScalarFunction,
    Store,
    at,
    load,
)

LANES = 8
_WIDENED = 16  # bits that VSHLL shifts
_WORD_BITS = 32
_HALF = 1 << 30  # the multiplier of a power of two
_OPERATION = {"+": "vaddq_s32", "-": "vsubq_s32"}


def fits_row(p: AddParameters, rounding: RequantRounding) -> bool:
    """Returns True if `sum_row` rounds so: twice, or to even or odd if it needs shifts alone."""
    if rounding is RequantRounding.DOUBLE:
        return True
    are_exact = all(_exact_shift(m, p.left_shift) is not None for m in (p.first, p.second))
    (mult, shift) = p.out
    return rounding in PARITY and are_exact and mult == _HALF and 1 <= 1 - shift <= _WORD_BITS


def _exact_shift(multiplier: Multiplier, left_shift: int) -> int | None:
    """Returns the bits by which an operand is shifted left, if that is exact."""
    bits = left_shift - 1 + multiplier[1]
    return bits if multiplier[0] == _HALF and bits >= 1 else None


def sum_row(
    sign: str,
    count: int,
    p: AddParameters,
    zero_points: tuple[int, int],
    result: StoredResult,
    scalar: ScalarFunction,
    rounding: RequantRounding = RequantRounding.DOUBLE,
) -> Instruction:
    """y[i] = scalar(a[i], b[i]), which is a + b or a - b with these parameters."""
    a, b = (Buffer(n, DType.I8, 0, Role.INPUT) for n in "ab")
    y = Buffer("y", DType.I8, 0, Role.OUTPUT)
    i = variable("i")
    name = f"{scalar.name}_row_of_{count}"
    return Instruction(
        name=name,
        params=(y, a, b),
        body=(For("i", count, (Store(at(y, i), Apply(scalar, (load(a, i), load(b, i)))),)),),
        call=f"{name}({{y}}, {{a}}, {{b}});",
        definition=_definition(name, sign, count, p, zero_points, result, rounding),
        includes=INCLUDES,
        needs=NEEDS,
        calls=(NARROW_WORDS, NARROW_HALVES),
    )


def _definition(
    name: str,
    sign: str,
    count: int,
    p: AddParameters,
    zero_points: tuple[int, int],
    result: StoredResult,
    rounding: RequantRounding,
) -> str:
    said = {"+": "sums", "-": "differences"}[sign]
    whole, rest = divmod(count, LANES)
    lines = [
        f"/* The {said} of two rows of {count}, as the reference rounds them, eight at a time:",
        f"   zero points {zero_points[0]} and {zero_points[1]}, of the result {result.zero_point}. */",
        f"static inline void {name}(int8_t *y, const int8_t *a, const int8_t *b)",
        "{",
    ]
    if whole:
        lines += [
            f"    for (int32_t i = 0; i < {whole}; ++i) {{",
            *_eight(sign, p, zero_points, result, rounding, masked=False),
            *(f"        {pointer} += {LANES};" for pointer in "aby"),
            "    }",
        ]
    if rest:
        valid = f"        const mve_pred16_t valid = vctp16q({rest});"
        lines += ["    {", valid, *_eight(sign, p, zero_points, result, rounding, masked=True), "    }"]
    return "\n".join([*lines, "}"]) + "\n"


def _eight(
    sign: str,
    p: AddParameters,
    zero_points: tuple[int, int],
    result: StoredResult,
    rounding: RequantRounding,
    masked: bool,
) -> list[str]:
    clamp = Requant(
        result.zero_point, result.low, result.high, RequantRounding.DOUBLE, (1, 1), sum_fits_30_bits=True
    )
    store = "vstrbq_p_s16(y, vreinterpretq_s16_s8(bytes), valid)"
    line = line_of(sign, p, zero_points, result) if rounding is RequantRounding.DOUBLE else None
    if line is None:
        sums = _in_steps(sign, p, zero_points, rounding, masked)
    else:
        clamp = replace(clamp, zero_point=0)  # the line includes it
        sums = _on_line(line, masked)
    return [
        *sums,
        "        int16x8_t halves = narrow_words(even);",
        "        halves = vqmovntq_s32(halves, odd);",
        *(f"    {text}" for text in narrowed(clamp, "halves")),
        f"        {store if masked else 'vstrbq_s16(y, vreinterpretq_s16_s8(bytes))'};",
    ]


def _stored_values(name: str, masked: bool) -> str:
    return f"vldrbq_z_s16({name}, valid)" if masked else f"vldrbq_s16({name})"


def _on_line(line: SumLine, masked: bool) -> list[str]:
    """Computes `even` and `odd` results with the line."""
    lines = [f"        const int16x8_t {name}_wide = {_stored_values(name, masked)};" for name in "ab"]
    for half, letter in (("even", "b"), ("odd", "t")):
        a, b = (f"vmovl{letter}q_s16({name}_wide)" for name in "ab")
        lines += [
            f"        int32x4_t {half} = vmlasq_n_s32({a}, vdupq_n_s32({line.first}), {line.start});",
            f"        {half} = vshrq_n_s32(vmlaq_n_s32({half}, {b}, {line.second}), {line.shift});",
        ]
    return lines


def _in_steps(
    sign: str, p: AddParameters, zero_points: tuple[int, int], rounding: RequantRounding, masked: bool
) -> list[str]:
    """Computes `even` and `odd` results, rounded as often as in the reference."""
    return [
        *_scaled("a", zero_points[0], p.first, p.left_shift, masked),
        *_scaled("b", zero_points[1], p.second, p.left_shift, masked),
        *_result("even", sign, p.out, rounding),
        *_result("odd", sign, p.out, rounding),
    ]


def _scaled(name: str, zero_point: int, multiplier: Multiplier, left_shift: int, masked: bool) -> list[str]:
    """Computes `name`_even and `name`_odd: the operand's stored values at the scale of the sum."""
    exact = _exact_shift(multiplier, left_shift)
    shift = left_shift if exact is None else exact
    widened = min(shift, _WIDENED)
    factor = 1 << shift - widened
    offset = -zero_point * factor
    stored = _stored_values(name, masked)
    lines = [
        f"        const int16x8_t {name}_wide = vmlasq_n_s16({stored}, vdupq_n_s16({factor}), {offset});"
    ]
    for half, letter in (("even", "b"), ("odd", "t")):
        lines.append(f"        int32x4_t {name}_{half} = vshll{letter}q_n_s16({name}_wide, {widened});")
        if exact is None:
            lines += _times(f"{name}_{half}", multiplier)
    return lines


def _result(half: str, sign: str, multiplier: Multiplier, rounding: RequantRounding) -> list[str]:
    both = f"        int32x4_t {half} = {_OPERATION[sign]}(a_{half}, b_{half});"
    if rounding is RequantRounding.DOUBLE:
        return [both, *_times(half, multiplier)]
    shift, moved = 1 - multiplier[1], "vandq_s32" if PARITY[rounding] else "vbicq_s32"
    moved = f"{moved}(vdupq_n_s32(1), vshrq_n_s32({half}, {shift}))"
    return [both, f"        {half} = vrshrq_n_s32(vsubq_s32({half}, {moved}), {shift});"]


def _times(value: str, multiplier: Multiplier) -> list[str]:
    """Multiplies by the multiplier, and rounds after each division, as the reference does."""
    mult, shift = multiplier
    lines = [f"        {value} = vqrdmulhq_n_s32({value}, {mult});"]
    if shift:
        lines += [
            f"        {value} = vaddq_s32({value}, vshrq_n_s32({value}, 31));",
            f"        {value} = vrshlq_n_s32({value}, {shift});",
        ]
    return lines


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
