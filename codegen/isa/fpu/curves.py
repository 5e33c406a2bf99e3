"""FPU: sigmoid and tanh of gates without jumps, so that the chains of several gates overlap.

e**v is 2**n * e**r, as in `approximate.py`. Here e**r - 1 is a polynomial, so that tanh, which is
(e**2v - 1) / (e**2v + 1), keeps its digits near 0. A gate times a tanh needs one division. Like Helium's,
sigmoids end at 4.5e-38 instead of 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from aot.ir.types import DType
from codegen.isa.fpu.needs import NEEDS
from codegen.isa.plain.f32 import FUSED, literal
from codegen.kernels.approximate import LN2, LN2_REST, PER_LN2, ROUNDS
from codegen.loops.ir import ScalarFunction

# Of a result: sigmoid, and sigmoid times tanh.
LARGEST_ERROR, LARGEST_PRODUCT_ERROR = 2e-7, 4e-7
# Minimax coefficients of (e**r - 1 - r) / r**2 for |r| <= ln 2 / 2, relative to e**r - 1.
_TERMS = (
    0.4999999814961841,
    0.1666654342427788,
    0.04166720071214711,
    0.008366547130451266,
    0.00138825164312602,
)
_MOST = 86.0  # of an argument of e**v: it and its reciprocal are floats
_FLAT = 20.0  # of 2 * v, where tanh is 1
_F = np.float32
_INLINE = "static inline __attribute__((always_inline))"

_WITHIN = ScalarFunction(
    "real_within",
    DType.F32,
    f"""\
/* v, or the nearest limit; NaN stays. A compiler would jump. */
{_INLINE} float real_within(float v, float low, float high)
{{
    __asm__("vcmpe.f32 %0, %1\\n\\t"
            "vmrs APSR_nzcv, FPSCR\\n\\t"
            "it mi\\n\\t"
            "vmovmi.f32 %0, %1\\n\\t"
            "vcmpe.f32 %0, %2\\n\\t"
            "vmrs APSR_nzcv, FPSCR\\n\\t"
            "it gt\\n\\t"
            "vmovgt.f32 %0, %2"
            : "+t"(v)
            : "t"(low), "t"(high)
            : "cc");
    return v;
}}
""",
    lambda v, low, high: low if v < low else high if v > high else v,
    needs=NEEDS,
)


@dataclass(frozen=True, slots=True)
class Curves:
    """The functions of gates, given how a product is added to a sum."""

    added: ScalarFunction

    @property
    def sigmoid(self) -> ScalarFunction:
        """f(v) -> 1 / (1 + e**-v)."""
        text = f"""\
/* The sigmoid of v, within {LARGEST_ERROR:g} of itself. */
{_INLINE} float {self._name("gate")}(float v)
{{
    return 1.0f / {self._above.name}(v);
}}
"""
        return self._function("gate", text, lambda v: _F(1) / self._below(v), self._above)

    @property
    def product(self) -> ScalarFunction:
        """f(a, b) -> the sigmoid of a times the tanh of b."""
        rest = self._added("rest", "scale", "scale {} 1.0f")
        text = f"""\
/* The sigmoid of a times the tanh of b, within {LARGEST_PRODUCT_ERROR:g} of itself. */
{_INLINE} float {self._name("gated_tanh")}(float a, float b)
{{
    float scale;
    const float rest = {self._power.name}(real_within(b + b, {literal(-_FLAT)}, {literal(_FLAT)}), &scale);
    return {rest.format("-")} / ({rest.format("+")} * {self._above.name}(a));
}}
"""

        def compute(a: float, b: float) -> Any:
            with np.errstate(over="ignore"):
                rest, scale = self._parts(_within(_F(b) + _F(b), _FLAT))
                below = self._sum(rest, scale, scale + _F(1)) * self._below(a)
                return self._sum(rest, scale, scale - _F(1)) / below

        return self._function("gated_tanh", text, compute, self._above)

    @property
    def _above(self) -> ScalarFunction:
        text = f"""\
/* 1 + e to the power of -v. */
{_INLINE} float {self._name("one_more")}(float v)
{{
    float scale;
    const float rest = {self._power.name}(real_within(-v, {literal(-_MOST)}, {literal(_MOST)}), &scale);
    return {self._added("rest", "scale", "scale")} + 1.0f;
}}
"""
        return self._function("one_more", text, self._below, self._power)

    @property
    def _power(self) -> ScalarFunction:
        polynomial = literal(_TERMS[-1])
        for term in reversed(_TERMS[:-1]):
            polynomial = self._added(polynomial, "r", literal(term))
        text = f"""\
/* e to the power of v is (1 + the result) * scale, a power of 2; v is from {-_MOST:g} to {_MOST:g}. */
{_INLINE} float {self._name("power")}(float v, float *scale)
{{
    const float sum = {self._added("v", literal(PER_LN2), literal(ROUNDS))};
    const float power = sum - {literal(ROUNDS)}; /* also in the last bits of the sum */
    const float near = {self._added("power", literal(-LN2), "v")};
    const float r = {self._added("power", literal(-LN2_REST), "near")};
    const float p = {polynomial};
    uint32_t bits;
    memcpy(&bits, &sum, sizeof bits);
    bits = (bits << 23) + 0x3f800000u;
    memcpy(scale, &bits, sizeof bits);
    return {self._added("p", "r * r", "r")};
}}
"""
        return self._function("power", text, self._parts, _WITHIN, self.added)

    def _name(self, name: str) -> str:
        return f"{'fused' if self.added == FUSED else 'real'}_{name}"

    def _added(self, a: str, b: str, total: str) -> str:
        return f"{self.added.name}({a}, {b}, {total})"

    def _function(
        self, name: str, text: str, compute: Callable[..., Any], *calls: ScalarFunction
    ) -> ScalarFunction:
        includes = ("stdint.h", "string.h")
        return ScalarFunction(self._name(name), DType.F32, text, compute, includes, calls, needs=NEEDS)

    def _parts(self, v: Any) -> tuple[Any, Any]:
        total, v = self._sum, _F(v)
        power = total(v, PER_LN2, ROUNDS) - _F(ROUNDS)
        r = total(power, -LN2_REST, total(power, -LN2, v))
        p = _F(_TERMS[-1])
        for term in reversed(_TERMS[:-1]):
            p = total(p, r, term)
        return total(p, r * r, r), _F(np.exp2(power))

    def _sum(self, a: Any, b: Any, total: Any) -> Any:
        return _F(self.added.meaning(*(float(_F(each)) for each in (a, b, total))))

    def _below(self, v: float) -> Any:
        rest, scale = self._parts(_within(-_F(v), _MOST))
        return self._sum(rest, scale, scale) + _F(1)


def _within(v: Any, most: float) -> Any:
    return v if np.isnan(v) else np.clip(v, _F(-most), _F(most))
