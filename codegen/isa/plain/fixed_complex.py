"""Arithmetic on parts of complex numbers: 16-bit or 32-bit fractions that wrap, or float32."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aot.ir.types import DType
from codegen.isa.plain.plain import expression_function, wrapped
from codegen.loops.ir import ScalarFunction

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
