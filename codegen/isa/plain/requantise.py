"""Requantization as scalar functions: converts a sum to a stored integer, exactly, in few instructions.

The reference rounds twice: v = round(sum * mult / 2**31), half up, then v / 2**right, half away from zero,
then adds the zero point and clamps. Four facts make it cheap and bit-exact:

- if |sum| < 2**30, the first rounding is one SMMULR of the doubled sum, and SMMLAR adds to it;
- half away from zero is (v + half - (v < 0)) >> right for right >= 1; if the clamp cuts off everything
  below the zero point, the sign does not matter;
- the sum's sign can replace that of v: they differ only if v is 0, and then half - 1 also gives 0;
- the zero point can be added before the shift, as zero_point << right, in the same constant as half.

Halves to even cannot be fitted: the sums at which results grow alternate. If the multiplier is a power of
two, which is the reason to round so, no product is needed: the lowest bit of the quotient is added first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from aot.ir.types import DType
from aot.ops.requant import multiply_by_quantized_multiplier
from aot.ops.rounding import PARITY, RequantRounding
from codegen.isa.names import in_name
from codegen.isa.plain.scalar_math import CLAMP, PORTABLE, ScalarMath, expression_function, parenthesised
from codegen.loops.ir import ScalarFunction

_IN_LANES = (RequantRounding.DOUBLE, RequantRounding.SINGLE)
_MOST_RIGHT = 21  # with it, a zero point, a half and a sum of 30 bits fit into 32 bits


@dataclass(frozen=True, slots=True)
class Requant:
    """Facts about a layer's requantization that are known at compile time."""

    zero_point: int
    low: int
    high: int
    rounding: RequantRounding
    rights: tuple[int, int]  # least and greatest right shift of the channels; negative: left shifts
    sum_fits_30_bits: bool
    dtype: DType = DType.I8  # of the stored result
    sum_dtype: DType = DType.I32
    math: ScalarMath = PORTABLE
    scaled_fits_16_bits: bool = False  # so does the result plus the zero point, before clamping
    are_powers: bool = False  # whether all multipliers are powers of two

    @property
    def is_plain(self) -> bool:
        """Returns True if all shifts are right shifts and the zero point fits into 32 bits before them."""
        return self.rights[0] >= 1 and self.rights[1] <= 22 and self.sum_fits_30_bits

    @property
    def fits_lanes(self) -> bool:
        """Returns True if products, shifts and sums of 32 bits give the result."""
        return (self.rounding in _IN_LANES or self.parity is not None) and self.sum_dtype is DType.I32

    @property
    def parity(self) -> int | None:
        """Returns 0 if a shift without a product, with halves to even, gives the result; 1 if to odd."""
        return PARITY.get(self.rounding) if self.are_powers and self.rights[0] >= 0 else None

    @property
    def halves_are_even(self) -> bool:
        """Returns True if one shift of 32 bits, with halves to even, gives the result."""
        return self.parity == 0 and self.sum_dtype is DType.I32

    @property
    def is_rounded_once(self) -> bool:
        return self.rounding is RequantRounding.SINGLE

    @property
    def sign_matters(self) -> bool:
        """Returns True if results below the zero point are kept, whose halves rounding twice moves down."""
        return self.rounding is RequantRounding.DOUBLE and self.low < self.zero_point

    @property
    def said(self) -> str:
        """Describes the stored result in a comment."""
        facts = {
            f"zero point {self.zero_point}": True,
            f"{self.low} .. {self.high}": (self.low, self.high) != self.dtype.limits,
            "before that in 16 bits": self.scaled_fits_16_bits,
            "some shifted left": self.rights[0] < 1,
            "rounded once": self.is_rounded_once,
            "rounded once, halves to even": self.rounding is RequantRounding.EVEN,
            "rounded once, halves to odd": self.rounding is RequantRounding.ODD,
        }
        return ", ".join(fact for fact, is_so in facts.items() if is_so)


@dataclass(frozen=True, slots=True)
class ShiftedRight:
    """The parts of a store that computes in registers: (SMMLAR [+ sign]) >> right, clamped.

    If scales are fitted, the sum is not doubled for the product, and `clamped` includes the shift.
    """

    adds_sign: bool
    clamped: str  # C code for {v}
    calls: tuple[ScalarFunction, ...]
    is_fitted: bool = False


@dataclass(frozen=True, slots=True)
class StoreQuantised:
    """Converts sums to stored integers: `prepare(right)` runs once per channel, `store` once per sum.

    `store` gets (sum, mult, right) and the result of `prepare`; if scales are fitted, (sum, mult, addend).
    """

    prepare: ScalarFunction | None
    store: ScalarFunction
    sum_dtype: DType = DType.I32
    parts: ShiftedRight | None = None  # of `store`, if it has this form
    is_fitted: bool = False
    addends: DType = DType.I16  # type of the channels' addends if scales are fitted
    is_prepared: bool = False  # the result of `prepare` is in a table, including the zero point


def store_quantised(requant: Requant) -> StoreQuantised:
    """Returns the shortest functions that are exact given the known facts."""
    if requant.is_rounded_once:
        return StoreQuantised(None, _rounding_once(requant), requant.sum_dtype)
    if requant.rounding is RequantRounding.REDUCED:
        return StoreQuantised(None, _reduced(requant), requant.sum_dtype)
    if requant.rounding in PARITY:
        is_short = requant.are_powers and requant.sum_fits_30_bits
        is_short = is_short and requant.rights[0] >= 0 and requant.rights[1] <= _MOST_RIGHT
        made = _halves_of_sum(requant) if is_short else _halves_of_product(requant)
        return StoreQuantised(None, made, requant.sum_dtype)
    if requant.is_plain:
        return StoreQuantised(_rounding_term(requant), _right_shift_only(requant), parts=_parts(requant))
    return StoreQuantised(None, _any_shift(requant))


def exact_store(requant: Requant) -> StoreQuantised:
    """Returns the reference's arithmetic as one function of (sum, mult, right), for use in vector code."""
    return store_quantised(replace(requant, sum_fits_30_bits=False, math=PORTABLE))


def _rounding_term(r: Requant) -> ScalarFunction:
    """Returns half a step plus the zero point in steps of 2^right: (1 + 2 * zero point) * 2^right / 2."""
    twice = 1 + 2 * r.zero_point
    name = f"rounding_zero_{in_name(r.zero_point)}"
    return expression_function(
        name,
        DType.I32,
        {"right": DType.I32},
        f"{parenthesised(twice)} * (INT32_C(1) << right) >> 1",
        lambda right: twice * (1 << right) >> 1,
        comment=f"Half a step and the zero point {r.zero_point}, at the scale before the last shift; "
        "right >= 1.",
    )


def _right_shift_only(r: Requant) -> ScalarFunction:
    parts = _parts(r)
    name = f"to_{type_name(r)}{clamp_suffix(r)}" + ("" if parts.adds_sign else "_nonnegative")
    rounded = "(v + (sum >> 31))" if parts.adds_sign else "v"
    definition = f"""\
/* sum * mult / 2^31 / 2^right, rounded after each division as the reference does; {r.low} .. {r.high}. */
static inline int32_t {name}(int32_t sum, int32_t mult, int32_t right, int32_t rounding)
{{
    const int32_t v = doubling_high_mul_add(sum, mult, rounding);
    return {parts.clamped.format(v=f"{rounded} >> right")};
}}
"""
    return ScalarFunction(
        name, DType.I32, definition, _prepared_meaning(r), (), (r.math.high_mul_add, *parts.calls)
    )


def _parts(r: Requant) -> ShiftedRight:
    adds_sign = r.low < r.zero_point
    return ShiftedRight(adds_sign, r.math.clamped("{v}", r.low, r.high), (r.math.clamp(r.low, r.high),))


def _any_shift(r: Requant) -> ScalarFunction:
    name = f"to_{type_name(r)}{_suffix(r)}_any_shift"
    definition = f"""\
/* sum * 2^left * mult / 2^31 / 2^right, each rounded as the reference does, {_describe(r)};
   left is -right where right < 0. */
static inline {r.dtype.c_name} {name}(int32_t sum, int32_t mult, int32_t right)
{{
    const int32_t left = right < 0 ? -right : 0;
    const int32_t shift = right < 0 ? 0 : right;
    const int32_t v = doubling_high_mul_wide((int32_t)((uint32_t)sum << left), mult);
    const uint32_t mask = (UINT32_C(1) << shift) - 1u;
    const int32_t half = (int32_t)(mask >> 1) + (v < 0);
    const int32_t rounded = (v >> shift) + ((int32_t)((uint32_t)v & mask) > half);
    return ({r.dtype.c_name}){_clamp_any("rounded", r)};
}}
"""
    return ScalarFunction(name, r.dtype, definition, _meaning(r), (), (_WIDE, CLAMP))


_WIDE = expression_function(
    "doubling_high_mul_wide",
    DType.I32,
    (DType.I32, DType.I32),
    "(int32_t)(((int64_t)a * b + (INT32_C(1) << 30)) >> 31)",
    lambda a, b: (a * b + (1 << 30)) >> 31,
    comment="round(a * b / 2^31), half up, for any a and b > 0.",
)


_PRODUCT = "    const int64_t v = ((int64_t)sum * mult + ((int64_t)1 << (30 + right))) >> (31 + right);"
# In two halves, so that the product of a wide sum and a 31-bit multiplier fits into 64 bits.
_PRODUCT_OF_WIDE = """\
    const int64_t low = (sum & 0xFFFF) * mult + ((int64_t)1 << (30 + right));
    const int64_t v = ((sum >> 16) * mult + (low >> 16)) >> (15 + right);"""


def _rounding_once(r: Requant) -> ScalarFunction:
    is_wide = r.sum_dtype is DType.I64
    name = f"to_{type_name(r)}{_suffix(r)}_once{'_wide' if is_wide else ''}"
    far = 1 << (8 * r.dtype.bytes)  # beyond any clamp
    definition = f"""\
/* sum * mult / 2^(31 + right), rounded once, half up, {_describe(r)}. */
static inline {r.dtype.c_name} {name}({r.sum_dtype.c_name} sum, int32_t mult, int32_t right)
{{
{_PRODUCT_OF_WIDE if is_wide else _PRODUCT}
    const int32_t near = v < -{far} ? -{far} : v > {far} ? {far} : (int32_t)v;
    return ({r.dtype.c_name}){_clamp_any("near", r)};
}}
"""
    return ScalarFunction(name, r.dtype, definition, _meaning(r), (), (CLAMP,))


def before_shift(value: str, shift: str, half: str, rounding: RequantRounding) -> str:
    """Returns C code that `>> shift` rounds to the nearest, with exact halves to even or odd."""
    bit = f"(({value} >> {shift}) & 1)"
    return f"{value} - {bit} + {half}" if PARITY[rounding] else f"{value} + {bit} + {half} - 1"


def rounded_product(product: str, shift: int, rounding: RequantRounding, name: str = "v") -> str:
    """Returns C code for v, or that name: a product of 64 bits / 2^shift, rounded once."""
    half = f"(INT64_C(1) << {shift - 1})"
    if rounding not in PARITY:
        return f"    const int32_t {name} = (int32_t)(({product} + {half}) >> {shift});"
    exact = before_shift("whole", str(shift), half, rounding)
    whole = f"    const int64_t whole = {product};"
    return f"{whole}\n    const int32_t {name} = (int32_t)(({exact}) >> {shift});"


def _halves_of_sum(r: Requant) -> ScalarFunction:
    """Returns the function for multipliers of 1/2: a shift by one more than `right`, without a product."""
    least, most = r.rights
    name = f"to_{type_name(r)}{_suffix(r)}_halves_to_{r.rounding.value}"
    if least == most:
        name, shift, half = f"{name}_shift_{least + 1}", str(least + 1), str((1 + 2 * r.zero_point) << least)
        stored, clamp = r.math.clamped_shift("v", least + 1, r.low, r.high)
        lines = ["    (void)right;"]
    else:
        shift, half = "shift", f"{parenthesised(1 + 2 * r.zero_point)} * (INT32_C(1) << right)"
        stored, clamp = r.math.clamped("v >> shift", r.low, r.high), r.math.clamp(r.low, r.high)
        lines = ["    const int32_t shift = right + 1;"]
    lines += [f"    const int32_t v = {before_shift('sum', shift, half, r.rounding)};"]
    definition = f"""\
/* sum / 2^(right + 1), rounded once, halves to {r.rounding.value}, {_describe(r)}. */
static inline int32_t {name}(int32_t sum, int32_t mult, int32_t right)
{{
    (void)mult;
{chr(10).join(lines)}
    return {stored};
}}
"""
    return ScalarFunction(name, DType.I32, definition, _meaning(r), (), (clamp,))


_HALVES_OF_WIDE = """\
    const int64_t low = (sum & 0xFFFF) * mult;
    const int64_t high = (sum >> 16) * mult + (low >> 16);
    const int32_t shift = 15 + right;
    const int64_t half = (int64_t)1 << (shift - 1);
    const int64_t up = (high + half) >> shift;
    const int is_tie = (high & (2 * half - 1)) == half && (low & 0xFFFF) == 0;
    const int64_t v = up - (is_tie && (up & 1) == {stays});"""


def _halves_of_product(r: Requant) -> ScalarFunction:
    is_wide = r.sum_dtype is DType.I64
    name = f"to_{type_name(r)}{_suffix(r)}_to_{r.rounding.value}{'_wide' if is_wide else ''}"
    far = 1 << (8 * r.dtype.bytes)  # beyond any clamp
    exact = before_shift("product", "shift", "((int64_t)1 << (shift - 1))", r.rounding)
    lines = f"""\
    const int64_t product = (int64_t)sum * mult;
    const int32_t shift = 31 + right;
    const int64_t v = ({exact}) >> shift;"""
    definition = f"""\
/* sum * mult / 2^(31 + right), rounded once, halves to {r.rounding.value}, {_describe(r)}. */
static inline {r.dtype.c_name} {name}({r.sum_dtype.c_name} sum, int32_t mult, int32_t right)
{{
{_HALVES_OF_WIDE.format(stays=1 - PARITY[r.rounding]) if is_wide else lines}
    const int32_t near = v < -{far} ? -{far} : v > {far} ? {far} : (int32_t)v;
    return ({r.dtype.c_name}){_clamp_any("near", r)};
}}
"""
    return ScalarFunction(name, r.dtype, definition, _meaning(r), (), (CLAMP,))


def _reduced(r: Requant) -> ScalarFunction:
    wide = "_wide" if r.sum_dtype is DType.I64 else ""
    name = f"to_{type_name(r)}{_suffix(r)}_reduced{wide}"
    far = 1 << (8 * r.dtype.bytes)  # beyond any clamp
    definition = f"""\
/* sum * mult / 2^(15 + right), mult of 16 bits, rounded once, half up, {_describe(r)}. */
static inline {r.dtype.c_name} {name}({r.sum_dtype.c_name} sum, int32_t mult, int32_t right)
{{
    const int64_t v = ((int64_t)sum * mult + ((int64_t)1 << (14 + right))) >> (15 + right);
    const int32_t near = v < -{far} ? -{far} : v > {far} ? {far} : (int32_t)v;
    return ({r.dtype.c_name}){_clamp_any("near", r)};
}}
"""

    def compute(total: int, mult: int, right: int) -> int:
        scaled = (total * mult + (1 << (14 + right))) >> (15 + right)
        return min(max(scaled + r.zero_point, r.low), r.high)

    return ScalarFunction(name, r.dtype, definition, compute, (), (CLAMP,))


def _meaning(r: Requant) -> Callable[..., int]:
    def compute(total: int, mult: int, right: int) -> int:
        scaled = multiply_by_quantized_multiplier(np.int64(total), mult, -right, r.rounding)
        return int(np.clip(scaled + r.zero_point, r.low, r.high))

    return compute


def _prepared_meaning(r: Requant) -> Callable[..., int]:
    """Returns the meaning, computed in the steps of the C code, so that a wrong rounding term is detected."""
    sign = 1 if r.low < r.zero_point else 0

    def compute(total: int, mult: int, right: int, rounding: int) -> int:
        v = (total * mult + (1 << 30)) >> 31
        return min(max((v + rounding - sign * (total < 0)) >> right, r.low), r.high)

    return compute


def _clamp_any(value: str, r: Requant) -> str:
    """Clamps before adding the zero point, so that no 32-bit value overflows."""
    return (
        f"(clamp({value}, {r.low - r.zero_point}, {r.high - r.zero_point}) + {parenthesised(r.zero_point)})"
    )


def type_name(r: Requant) -> str:
    return f"int{8 * r.dtype.bytes}"


def _is_full_range(r: Requant) -> bool:
    return (r.low, r.high) == r.dtype.limits


def clamp_suffix(r: Requant) -> str:
    return "" if _is_full_range(r) else f"_{in_name(r.low)}_{in_name(r.high)}"


def _suffix(r: Requant) -> str:
    return f"_zero_{in_name(r.zero_point)}{clamp_suffix(r)}"


def _describe(r: Requant) -> str:
    return f"plus {r.zero_point}, within {r.low} .. {r.high}"
