"""Fourier transforms of complex pairs, each stage scaled down: kissfft, bit for bit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.op import Arrays, Constraint, Cost, Op, Types, required

_TYPES = (DType.I16, DType.I32, DType.F32)
_MAX_PAIRS = 1 << 14
Numbers = npt.NDArray[Any]  # i64 or f64: wider than the stored type


def _pairs(op: Fft, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x = required(inputs[0])
    fits = x.rank > 0 and 2 <= op.pairs <= _MAX_PAIRS and op.pairs & (op.pairs - 1) == 0
    return None if fits and x.shape[-1] <= 2 * op.pairs else f"{op.pairs} of {limits.shape_text(x)}"


def _even(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x = required(inputs[0])
    return None if x.rank and x.shape[-1] % 2 == 0 else f"it has shape {limits.shape_text(x)}"


def factors(count: int) -> tuple[int, ...]:
    """Returns the radices, outermost stage first: fours, then perhaps a two."""
    found = []
    while count > 1:
        found.append(4 if count % 4 == 0 else 2)
        count //= found[-1]
    return tuple(found)


def twiddles(count: int, of: DType, shift: float = 0.0) -> npt.NDArray[np.float64]:
    """Returns [count, 2]: cosine and sine of -2 pi (n + shift) / count; integers use their full range."""
    angles = [-2 * math.pi * (n + shift) / count for n in range(count)]
    return np.array([[unit(math.cos(a), of), unit(math.sin(a), of)] for a in angles])


def unit(value: float, of: DType) -> float:
    """Returns a number from -1 to 1 as it is stored."""
    return float(np.float32(value)) if of is DType.F32 else math.floor(0.5 + of.limits[1] * value)


@dataclass(frozen=True)
class Arithmetic:
    """Arithmetic of a signal processor: integers wrap, products are fractions."""

    dtype: DType

    def kept(self, x: Numbers) -> Numbers:
        return x if self.dtype is DType.F32 else x.astype(self.dtype.numpy).astype(np.int64)

    def product(self, terms: Numbers) -> Numbers:
        """Returns a sum of products, rounded."""
        if self.dtype is DType.F32:
            return terms
        bits = 8 * self.dtype.bytes - 1
        return self.kept((terms.astype(np.int64) + (1 << (bits - 1))) >> bits)

    def divided(self, x: Numbers, by: int) -> Numbers:
        return x if self.dtype is DType.F32 else self.product(x * (self.dtype.limits[1] // by))

    def half(self, x: Numbers) -> Numbers:
        return x / 2 if self.dtype is DType.F32 else self.kept(x.astype(np.int64) >> 1)

    def rotated(self, z: Numbers, w: Numbers) -> Numbers:
        """Multiplies complex pairs in the last dimension."""
        real = self.product(z[..., 0] * w[..., 0] - z[..., 1] * w[..., 1])
        imaginary = self.product(z[..., 0] * w[..., 1] + z[..., 1] * w[..., 0])
        return np.stack([real, imaginary], axis=-1)


def _as_pairs(x: Array) -> Numbers:
    wide = np.float64 if x.dtype == np.float32 else np.int64
    return x.astype(wide).reshape(-1, x.shape[-1] // 2, 2)


@dataclass(frozen=True, slots=True)
class Fft(Op):
    """Input: x, complex pairs in its last dimension, zero-padded. Divides integers by 4 or 2 per stage."""

    name: ClassVar[str] = "fft"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(1, 1),
        limits.same_dtype_in(*_TYPES),
        Constraint(f"pairs must be a power of 2 up to {_MAX_PAIRS}, and at least as many as x has", _pairs),
    )
    pairs: int = 2

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        x = required(inputs[0])
        return ((x.dtype.value, (*x.shape[:-1], 2 * self.pairs)),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, out = required(arrays[0]), outputs[0]
        filled = np.zeros(out.shape, x.dtype)
        filled[..., : x.shape[-1]] = x
        z, numbers, count = _as_pairs(filled), Arithmetic(out.dtype), self.pairs
        w = twiddles(count, numbers.dtype).astype(z.dtype)
        radices = factors(count)
        # Reorders time samples so that the smallest transforms are consecutive.
        z = z.reshape(-1, *reversed(radices), 2)
        z = z.transpose(0, *range(len(radices), 0, -1), len(radices) + 1).reshape(-1, count, 2)
        done = 1
        for radix in reversed(radices):
            z = _stage(z.reshape(-1, radix, done, 2), w, count // (radix * done), numbers)
            done *= radix
        return (z.reshape(out.shape).astype(x.dtype),)

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        macs = 2 * outputs[0].elements * (self.pairs.bit_length() - 1)
        return Cost(macs=macs, elementwise=outputs[0].elements)


def _stage(z: Numbers, w: Numbers, step: int, numbers: Arithmetic) -> Numbers:
    """Combines transforms of `done` pairs each into one of radix * done: [..., radix, done, 2]."""
    radix, done = z.shape[1:3]
    z = numbers.divided(z, radix)
    first = z[:, 0]
    rotated = [numbers.rotated(z[:, q], w[np.arange(done) * step * q]) for q in range(1, radix)]
    if radix == 2:
        return np.stack([numbers.kept(first + rotated[0]), numbers.kept(first - rotated[0])], axis=1)
    one, two, three = rotated
    even, odd = numbers.kept(first + two), numbers.kept(first - two)
    both, between = numbers.kept(one + three), numbers.kept(one - three)
    side = np.stack([between[..., 1], -between[..., 0]], axis=-1)
    parts = (even + both, odd + side, even - both, odd - side)
    return np.stack([numbers.kept(part) for part in parts], axis=1)


@dataclass(frozen=True, slots=True)
class RealSpectrum(Op):
    """Input: x, the transform of pairs of neighboring samples. Output: the samples' spectrum, one pair more.

    Integers are halved before and after.
    """

    name: ClassVar[str] = "real_spectrum"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(1, 1),
        limits.same_dtype_in(*_TYPES),
        Constraint("the last dimension must hold pairs", _even),
    )

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        x = required(inputs[0])
        return ((x.dtype.value, (*x.shape[:-1], x.shape[-1] + 2)),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x = required(arrays[0])
        numbers = Arithmetic(outputs[0].dtype)
        stored = _as_pairs(x)
        count = stored.shape[1]
        mirror = numbers.kept(stored[:, -np.arange(1, count // 2 + 1)] * np.array([1, -1]))
        z, mirror = numbers.divided(stored, 2), numbers.divided(mirror, 2)
        here = z[:, 1 : count // 2 + 1]
        w = spectrum_twiddles(count, numbers.dtype).astype(z.dtype)
        total, rotated = numbers.kept(here + mirror), numbers.rotated(numbers.kept(here - mirror), w)
        y = np.zeros((z.shape[0], count + 1, 2), z.dtype)
        y[:, 1 : count // 2 + 1] = numbers.half(total + rotated)
        # The middle pair is written twice; this value remains.
        y[:, count - np.arange(1, count // 2 + 1), 0] = numbers.half(total - rotated)[..., 0]
        y[:, count - np.arange(1, count // 2 + 1), 1] = numbers.half(rotated - total)[..., 1]
        y[:, 0, 0] = numbers.kept(z[:, 0, 0] + z[:, 0, 1])
        y[:, count, 0] = numbers.kept(z[:, 0, 0] - z[:, 0, 1])
        return (y.reshape(outputs[0].shape).astype(x.dtype),)

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        return Cost(macs=2 * required(inputs[0]).elements, elementwise=outputs[0].elements)


def _spectrum_of_pairs(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x = required(inputs[0])
    fits = x.rank and x.shape[-1] % 2 == 0 and x.shape[-1] >= 4
    return None if fits else f"it has shape {limits.shape_text(x)}"


@dataclass(frozen=True, slots=True)
class RealSamples(Op):
    """Input: x, a spectrum as `real_spectrum` computes it: one pair more than pairs of samples.

    Output: the transform of pairs of neighboring samples, with first and second parts exchanged, so that a
    forward transform followed by another exchange gives the inverse. Integers are halved before.
    """

    name: ClassVar[str] = "real_samples"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(1, 1),
        limits.same_dtype_in(*_TYPES),
        Constraint("the last dimension must hold at least two pairs", _spectrum_of_pairs),
    )

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        x = required(inputs[0])
        return ((x.dtype.value, (*x.shape[:-1], x.shape[-1] - 2)),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x = required(arrays[0])
        numbers = Arithmetic(outputs[0].dtype)
        stored = _as_pairs(x)
        count = stored.shape[1] - 1
        ends = stored[:, 0, 0], stored[:, count, 0]
        places = np.arange(1, count // 2 + 1)
        here = numbers.divided(stored[:, places], 2)
        mirror = numbers.divided(numbers.kept(stored[:, count - places] * np.array([1, -1])), 2)
        w = spectrum_twiddles(count, numbers.dtype, backwards=True).astype(stored.dtype)
        total, rotated = numbers.kept(here + mirror), numbers.rotated(numbers.kept(here - mirror), w)
        y = np.zeros((stored.shape[0], count, 2), stored.dtype)
        y[:, 0] = numbers.divided(numbers.kept(np.stack([ends[0] + ends[1], ends[0] - ends[1]], axis=1)), 2)
        y[:, places] = numbers.kept(total + rotated)
        # The middle pair is written twice; this value remains.
        y[:, count - places] = numbers.kept(numbers.kept(total - rotated) * np.array([1, -1]))
        return (y[..., ::-1].reshape(outputs[0].shape).astype(x.dtype),)

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        return Cost(macs=2 * outputs[0].elements, elementwise=outputs[0].elements)


def spectrum_twiddles(count: int, of: DType, backwards: bool = False) -> npt.NDArray[np.float64]:
    """Returns [count / 2, 2]: cosine and sine of -pi (n / count + 1/2), negated if backwards, from n = 1."""
    sign = 1 if backwards else -1
    angles = [sign * math.pi * (n / count + 0.5) for n in range(1, count // 2 + 1)]
    return np.array([[unit(math.cos(a), of), unit(math.sin(a), of)] for a in angles]).reshape(-1, 2)
