"""Layers of language models: RMSNorm, rotary positions, and attention to a cache of keys and values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.op import Arrays, Constraint, Cost, Op, Types, required


def _gain_fits(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x, gain = required(inputs[0]), required(inputs[1])
    return None if x.shape and gain.shape == x.shape[-1:] else f"{limits.shape_text(gain)}"


@dataclass(frozen=True, slots=True)
class RmsNorm(Op):
    """Inputs: x, gain [channels]. Divides each vector along the last axis by the root of its mean square."""

    name: ClassVar[str] = "rms_norm"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(2, 2),
        limits.same_dtype_in(DType.F32),
        Constraint("there must be a gain for each element of the last axis", _gain_fits),
    )
    epsilon: float = 1e-5

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, gain = (required(array).astype(np.float64) for array in arrays)
        root = np.sqrt((x * x).mean(axis=-1, keepdims=True) + self.epsilon)
        return ((x / root * gain).astype(np.float32),)

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        return Cost(elementwise=2 * outputs[0].elements)


def _turns_fit(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    x, cosines, sines = (required(each) for each in inputs)
    fits = x.rank > 1 and x.shape[-1] % 2 == 0 and cosines.shape == (x.shape[-2], x.shape[-1] // 2)
    if fits and sines.shape == cosines.shape:
        return None
    return " and ".join(limits.shape_text(each) for each in (x, cosines, sines))


@dataclass(frozen=True, slots=True)
class Rotary(Op):
    """Inputs: x [..., positions, head], cosines and sines [positions, head / 2].

    Rotates pairs of elements: of the first and the second half, or neighbors if interleaved.
    """

    name: ClassVar[str] = "rotary"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(3, 3),
        limits.same_dtype_in(DType.F32),
        Constraint("each position needs a cosine and a sine for each pair of elements", _turns_fit),
    )
    is_interleaved: bool = False

    def pair(self, half: int) -> tuple[slice, slice]:
        """Returns the places of the first and of the second elements of all pairs."""
        return (
            (slice(0, None, 2), slice(1, None, 2))
            if self.is_interleaved
            else (
                slice(0, half),
                slice(half, None),
            )
        )

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, cosines, sines = (required(array).astype(np.float32) for array in arrays)
        one, two = self.pair(cosines.shape[-1])
        made = np.empty_like(x)
        made[..., one] = x[..., one] * cosines - x[..., two] * sines
        made[..., two] = x[..., two] * cosines + x[..., one] * sines
        return (made,)

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        return Cost(elementwise=2 * outputs[0].elements)


_FLOAT_INPUTS = 4  # of attention to caches of floats; others have scales


def _caches_fit(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    q, k, v, *_ = (required(each) for each in inputs)
    are_known = q.rank == k.rank == v.rank == 4 and q.shape[0] == k.shape[0] == q.shape[2] == 1
    if are_known and k.shape == v.shape and k.shape[3] == q.shape[3] and q.shape[1] % k.shape[1] == 0:
        return None
    return " and ".join(limits.shape_text(each) for each in (q, k, v))


def _one_length(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    length = required(inputs[3])
    if length.dtype in (DType.I32, DType.I64) and length.elements == 1:
        return None
    return f"{length.dtype.value} {limits.shape_text(length)}"


def _dtypes_fit(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    found = [required(inputs[place]).dtype for place in range(3)]
    cached = DType.F32 if len(inputs) == _FLOAT_INPUTS else DType.I8
    return None if found == [DType.F32, cached, cached] else ", ".join(each.value for each in found)


def _scales_fit(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    scales = [required(each) for each in inputs[_FLOAT_INPUTS:]]
    wanted = TensorType(DType.F32, (*required(inputs[1]).shape[:3], 1))
    if not scales or scales == [wanted, wanted]:
        return None
    return " and ".join(f"{each.dtype.value} {limits.shape_text(each)}" for each in scales)


@dataclass(frozen=True, slots=True)
class CachedAttention(Op):
    """Inputs: q [1, heads, 1, head], k and v [1, shared heads, positions, head], known positions.

    Neighboring heads share keys and values. The fourth input is a number: positions from it on are ignored.
    It is clamped so that at least one position is known, and at most those of the cache. Keys and values of
    int8 have a scale for each row, in two more inputs [1, shared heads, positions, 1].
    """

    name: ClassVar[str] = "cached_attention"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(4, 6),
        Constraint("a query's heads must be a multiple of the caches' heads of the same size", _caches_fit),
        Constraint("queries must be f32; keys and values f32, or i8 with scales", _dtypes_fit),
        Constraint("keys and values of i8 need an f32 scale for each row", _scales_fit),
        Constraint("the number of known positions must be one i32 or i64", _one_length),
    )
    scale: float = 1.0

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        q = required(inputs[0])
        return ((q.dtype.value, q.shape),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        q, k, v, length, *scales = (required(array) for array in arrays)
        count = min(max(int(length.reshape(-1)[0]), 1), k.shape[2])
        group = q.shape[1] // k.shape[1]
        known = [each[0, :, :count].astype(np.float32) for each in (k, v, *scales)]
        real = np.multiply(known[:2], known[2:] or 1).astype(np.float64)  # rounded as in the file
        keys, values = (np.repeat(each, group, 0) for each in real)
        scores = np.einsum("hd,htd->ht", q[0, :, 0].astype(np.float64), keys) * self.scale
        shares = np.exp(scores - scores.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        return (np.einsum("ht,htd->hd", shares, values).astype(np.float32).reshape(q.shape),)

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        q, k = required(inputs[0]), required(inputs[1])
        positions = k.shape[2]
        return Cost(macs=2 * positions * q.elements, elementwise=positions * q.shape[1] + q.elements)
