"""Scalar functions of audio front ends: bit counts, roots, logarithms; complex numbers.

Parts of complex numbers are 16-bit or 32-bit fractions that wrap, or float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops.fixed_point import (
    BITS,
    CORRECTIONS,
    LN_2,
    SEGMENT_BITS,
    fixed_log,
    inverse_root_multipliers,
    whole_root,
)
from aot.ops.op import Op
from aot.ops.requant import multiply_by_quantized_multiplier
from aot.ops.signal import NoiseEstimate, Window, WithoutNoise, free_bits, louder, louder_but_lowest
from codegen.isa.plain.scalar_math import TIMES, expression_function, wrapped
from codegen.loops.ir import ScalarFunction

_NUMBERS_PER_LINE = 12

LOUDER = ScalarFunction(
    "louder",
    DType.I16,
    """\
/* The larger of a and |b|, in 16 bits, where -32768 is its own negative. */
static inline int16_t louder(int16_t a, int16_t b)
{
    if (b > a) {
        return b;
    }
    return -(int32_t)b > a ? (int16_t)-(int32_t)b : a;
}
""",
    louder,
)

LOUDER_BUT_LOWEST = ScalarFunction(
    "louder_but_lowest",
    DType.I16,
    """\
/* The larger of a and |b|, where b is not -32768. */
static inline int16_t louder_but_lowest(int16_t a, int16_t b)
{
    const int32_t size = b < 0 ? -(int32_t)b : b;
    return size > a && size <= INT16_MAX ? (int16_t)size : a;
}
""",
    louder_but_lowest,
)

BIT_LENGTH = ScalarFunction(
    "bit_length",
    DType.I32,
    """\
/* How many bits a number has from its first 1 on. */
static inline int32_t bit_length(uint32_t a)
{
    int32_t bits = 0;
    for (int32_t step = 16; step > 0; step >>= 1) {
        if (a >> step) {
            a >>= step;
            bits += step;
        }
    }
    return bits + (int32_t)a;
}
""",
    lambda a: int(a).bit_length(),
)

FREE_BITS = expression_function(
    "free_bits",
    DType.I32,
    (DType.I16,),
    "a > 0 ? 15 - bit_length((uint32_t)a) : 0",
    free_bits,
    calls=(BIT_LENGTH,),
)

SHIFTED_UP = expression_function(
    "shifted_up",
    DType.I16,
    (DType.I16, DType.I32),
    "(int16_t)((uint32_t)a << (b & 15))",
    lambda a, b: wrapped(int(a) << (int(b) & 15), DType.I16),
)

ROOT = ScalarFunction(
    "whole_root",
    DType.U32,
    """\
/* The nearest square root; of 16 bits where the number has 32. */
static inline uint32_t whole_root(uint64_t number)
{
    const uint32_t most = number >> 32 ? UINT32_MAX : UINT16_MAX;
    uint64_t root = 0;
    for (uint64_t bit = number >> 32 ? UINT64_C(1) << 62 : UINT64_C(1) << 30; bit > 0; bit >>= 2) {
        if (number >= root + bit) {
            number -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
    }
    return (uint32_t)root + (number > root && root != most ? 1u : 0u);
}
""",
    whole_root,
)

SHIFTED_ROOT = expression_function(
    "shifted_root",
    DType.U32,
    (DType.U64, DType.I32),
    "whole_root(a) >> (b & 31)",
    lambda a, b: whole_root(a) >> (int(b) & 31),
    calls=(ROOT,),
)


def windowed(shift: int) -> ScalarFunction:
    name, types = f"windowed_{shift}", (DType.I16, DType.I16)
    definition = f"""\
/* a * b / 2^{shift}, saturated. */
static inline int16_t {name}(int16_t a, int16_t b)
{{
    const int32_t scaled = ((int32_t)a * b) >> {shift};
    return (int16_t)(scaled < INT16_MIN ? INT16_MIN : scaled > INT16_MAX ? INT16_MAX : scaled);
}}
"""
    return ScalarFunction(name, DType.I16, definition, _meaning(Window(shift), types, DType.I16))


def noise_estimate(up: int, down: int, limited: bool) -> ScalarFunction:
    """f(level, noise, weight of the level, weight of the noise) -> the new noise estimate."""
    name, types = f"noise_{up}_{down}{'_limited' if limited else ''}", (DType.U32,) * 4
    result = "made < scaled ? made : scaled" if limited else "made"
    definition = f"""\
/* What is always there: a little of the level, much of what was there before. */
static inline uint32_t {name}(uint32_t level, uint32_t noise, uint32_t a, uint32_t b)
{{
    const uint32_t scaled = level << {up};
    const uint32_t made = (uint32_t)(((uint64_t)scaled * a + (uint64_t)noise * b) >> {down});
    return {result};
}}
"""
    return ScalarFunction(
        name, DType.U32, definition, _meaning(NoiseEstimate(up, down, limited), types, DType.U32)
    )


def without_noise(up: int, down: int, least: int) -> ScalarFunction:
    """f(level, noise) -> the level after noise reduction."""
    name, types = f"without_noise_{up}_{down}_{least}", (DType.U32, DType.U32)
    definition = f"""\
/* The level less the noise, but a share of it at least. */
static inline uint32_t {name}(uint32_t level, uint32_t noise)
{{
    const uint32_t scaled = level << {up};
    const uint32_t rest = noise < scaled ? (scaled - noise) >> {up} : 0;
    const uint32_t least = (uint32_t)(((uint64_t)level * {least}u) >> {down});
    return rest > least ? rest : least;
}}
"""
    return ScalarFunction(
        name, DType.U32, definition, _meaning(WithoutNoise(up, down, least), types, DType.U32)
    )


def fixed_log_function(up: int, scale: int) -> ScalarFunction:
    name, half = f"fixed_log_{up}_{scale}", 1 << (BITS - 1)
    definition = f"""\
/* log2(1 + f) - f at {len(CORRECTIONS)} places, in steps of 2^-{BITS}. */
static const uint16_t log_corrections[{len(CORRECTIONS)}] = {{
{_lines(CORRECTIONS)}
}};

/* ln(2^{up} * a) * {scale}, by lines between the corrections. */
static inline int16_t {name}(uint32_t a)
{{
    const uint32_t number = a << {up};
    if (number <= 1) {{
        return 0;
    }}
    const int32_t whole = bit_length(number) - 1;
    const uint32_t rest = number - (UINT32_C(1) << whole);
    const uint32_t fraction = whole < {BITS} ? rest << ({BITS} - whole) : rest >> (whole - {BITS});
    const uint32_t segment = fraction >> {BITS - SEGMENT_BITS};
    const int32_t here = log_corrections[segment], there = log_corrections[segment + 1];
    const int32_t beyond = (int32_t)(fraction & {(1 << (BITS - SEGMENT_BITS)) - 1}u);
    const int32_t line = (int32_t)fraction + here + (((there - here) * beyond) >> {BITS});
    const uint32_t log2 = ((uint32_t)whole << {BITS}) + (uint32_t)line;
    const uint32_t natural = (uint32_t)(((uint64_t)log2 * {LN_2}u + {half}u) >> {BITS});
    const uint32_t scaled = (natural * {scale}u + {half}u) >> {BITS};
    return (int16_t)(scaled < INT16_MAX ? scaled : INT16_MAX);
}}
"""
    return ScalarFunction(
        name, DType.I16, definition, lambda a: fixed_log(int(a) << up, scale), calls=(BIT_LENGTH,)
    )


def _lines(numbers: Sequence[int]) -> str:
    rows = [numbers[n : n + _NUMBERS_PER_LINE] for n in range(0, len(numbers), _NUMBERS_PER_LINE)]
    return ",\n".join("    " + ", ".join(map(str, row)) for row in rows)


def _meaning(op: Op, types: Sequence[DType], made: DType) -> Callable[..., int]:
    """Returns a function that computes one element with the op's reference."""
    inputs, outputs = [TensorType(t, (1,)) for t in types], [TensorType(made, (1,))]

    def compute(*values: int) -> int:
        arrays: list[Array] = [np.array([v], t.numpy) for v, t in zip(values, types, strict=True)]
        return int(op.reference(arrays, inputs, outputs)[0][0])

    return compute


# 1 / sqrt(x) of an integer in C, with twenty fraction bits.

_SHIFT = 20
_SHIFT_TEXT = """\
/* The power of 2 by which 1 / sqrt(x), as inverse_root_mult gives it, is to be shifted; x >= 1. */
static inline int32_t inverse_root_shift(int32_t x)
{
    int32_t shift = -11;
    if (x <= 1) {
        return 0;
    }
    for (; x >= (INT32_C(1) << 29); x /= 4) {
        --shift;
    }
    for (; x < (INT32_C(1) << 27); x *= 4) {
        ++shift;
    }
    return shift;
}
"""
_MULT_TEXT = """\
/* round(a * b / 2^31), half up. */
static inline int64_t fraction_times(int64_t a, int64_t b)
{
    return (a * b + (INT32_C(1) << 30)) >> 31;
}

/* 1 / sqrt(x) as a fraction of 2^31, to be shifted by inverse_root_shift: Newton-Raphson steps with three
   integer bits. */
static inline int32_t inverse_root_mult(int32_t x)
{
    if (x <= 1) {
        return INT32_MAX;
    }
    while (x >= (INT32_C(1) << 29)) {
        x /= 4;
    }
    while (x < (INT32_C(1) << 27)) {
        x *= 4;
    }
    const int64_t half = ((int64_t)(x >> 1) + 1) >> 1;
    int64_t root = INT32_C(1) << 28;
    for (int32_t step = 0; step < 5; ++step) {
        const int64_t cube = fraction_times(fraction_times(root, root), root) * 64;
        const int64_t one_and_a_half = (INT32_C(1) << 28) + (INT32_C(1) << 27);
        root = (fraction_times(one_and_a_half, root) - fraction_times(half, cube)) * 8;
    }
    return (int32_t)fraction_times(root, 1518500250);
}
"""


def _multiplier(x: int) -> tuple[int, int]:
    mult, shift = inverse_root_multipliers(np.asarray([x], np.int64))
    return int(mult[0]), int(shift[0])


ROOT_MULT = ScalarFunction("inverse_root_mult", DType.I32, _MULT_TEXT, lambda x: _multiplier(x)[0])
ROOT_SHIFT = ScalarFunction("inverse_root_shift", DType.I32, _SHIFT_TEXT, lambda x: _multiplier(x)[1])


def _shifted(x: int) -> tuple[int, int]:
    mult, shift = _multiplier(x)
    return mult, shift + _SHIFT


INVERSE_ROOT = expression_function(
    "inverse_root",
    DType.I32,
    {"x": DType.I32},
    f"times(1, inverse_root_mult(x), inverse_root_shift(x) + {_SHIFT})",
    lambda x: int(multiply_by_quantized_multiplier(np.int64(1), *_shifted(x))),
    comment=f"2^{_SHIFT} / sqrt(x), x >= 1.",
    calls=(TIMES, ROOT_MULT, ROOT_SHIFT),
)


Compute = Callable[..., float]


@dataclass(frozen=True)
class ComplexFunctions:
    """Scalar functions for parts of one type."""

    dtype: DType

    @property
    def _is_f32(self) -> bool:
        return self.dtype is DType.F32

    @property
    def _wide(self) -> str:
        """Returns the C type that holds a sum of two products."""
        return "int32_t" if self.dtype is DType.I16 else "int64_t"

    @property
    def _bits(self) -> int:
        return 8 * self.dtype.bytes - 1

    @property
    def sum(self) -> ScalarFunction:
        return self._of_two("pair_sum", "+", lambda a, b: a + b)

    @property
    def difference(self) -> ScalarFunction:
        return self._of_two("pair_difference", "-", lambda a, b: a - b)

    def _of_two(self, name: str, sign: str, compute: Compute) -> ScalarFunction:
        text = f"a {sign} b" if self._is_f32 else f"({self.dtype.c_name})((uint32_t)a {sign} (uint32_t)b)"
        return self._function(name, 2, text, lambda a, b: self._kept(compute(a, b)))

    @property
    def half_sum(self) -> ScalarFunction:
        return self._half("half_sum", "+", lambda a, b: a + b)

    @property
    def half_difference(self) -> ScalarFunction:
        return self._half("half_difference", "-", lambda a, b: a - b)

    def _half(self, name: str, sign: str, compute: Compute) -> ScalarFunction:
        """Returns half of a sum or difference, which needs one more bit before halving."""
        text = f"({self.dtype.c_name})((({self._wide})a {sign} b) >> 1)"
        if self._is_f32:
            return self._function(name, 2, f"(a {sign} b) * 0.5f", lambda a, b: compute(a, b) / 2)
        return self._function(name, 2, text, lambda a, b: self._kept(int(compute(a, b)) >> 1))

    @property
    def negative(self) -> ScalarFunction:
        text = "-a" if self._is_f32 else f"({self.dtype.c_name})(0u - (uint32_t)a)"
        return self._function("pair_negative", 1, text, lambda a: self._kept(-a))

    def divided(self, by: int) -> ScalarFunction:
        if self._is_f32:
            return self._function("pair_as_it_is", 1, "a", lambda a: a)
        share = self.dtype.limits[1] // by
        return self._function(
            f"divided_by_{by}",
            1,
            self._rounded(f"({self._wide})a * {share}"),
            lambda a: self._round(a * share),
        )

    @property
    def real(self) -> ScalarFunction:
        """f(z.real, z.imaginary, w.real, w.imaginary) -> a part of the product."""
        return self._product(
            "turned_re", f"{self._cast}a * c - {self._cast}b * d", lambda a, b, c, d: a * c - b * d
        )

    @property
    def imaginary(self) -> ScalarFunction:
        return self._product(
            "turned_im", f"{self._cast}a * d + {self._cast}b * c", lambda a, b, c, d: a * d + b * c
        )

    @property
    def _cast(self) -> str:
        return "" if self._is_f32 else f"({self._wide})"

    def _product(self, name: str, terms: str, compute: Compute) -> ScalarFunction:
        text = terms if self._is_f32 else self._rounded(terms)
        return self._function(name, 4, text, lambda *values: self._round(compute(*values)))

    def _rounded(self, terms: str) -> str:
        half = 1 << (self._bits - 1)
        return f"({self.dtype.c_name})(({terms} + {half}) >> {self._bits})"

    def _round(self, value: float) -> float:
        if self._is_f32:
            return value
        return self._kept((int(value) + (1 << (self._bits - 1))) >> self._bits)

    def _kept(self, value: float) -> float:
        return value if self._is_f32 else wrapped(int(value), self.dtype)

    def _function(self, name: str, count: int, text: str, compute: Compute) -> ScalarFunction:
        return expression_function(
            f"{name}_{self.dtype.value}", self.dtype, (self.dtype,) * count, text, compute
        )
