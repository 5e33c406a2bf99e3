"""Ops of an audio front end, bit for bit as in TFLite Micro's signal library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from aot.ir.types import Array, DType, TensorType
from aot.ops import constraints as limits
from aot.ops.elementwise import SHAPES_FIT, Elementwise
from aot.ops.fixed_point import fixed_log, whole_root
from aot.ops.op import Arrays, Constraint, Cost, Op, Types, required

_HALF_RANGE = -(2**15)


def types_are(*wanted: DType) -> Constraint:
    def violation(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
        found = tuple(required(x).dtype for x in inputs)
        return None if found == wanted else ", ".join(d.value for d in found)

    return Constraint(f"inputs must be {', '.join(d.value for d in wanted)}", violation)


def numbers_within(least: int, most: int, *names: str) -> Constraint:
    """Limits attributes that are shifts or counts."""

    def violation(op: Op, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
        bad = [f"{name} is {getattr(op, name)}" for name in names if not least <= getattr(op, name) <= most]
        return ", ".join(bad) or None

    return Constraint(f"{' and '.join(names)} must be {least} to {most}", violation)


@dataclass(frozen=True, slots=True)
class Window(Elementwise):
    """Inputs: x, w. Computes x * w / 2^shift, rounded down and saturated."""

    name: ClassVar[str] = "window"
    elementwise: ClassVar[tuple[int, ...]] = (0, 1)
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(2, 2),
        types_are(DType.I16, DType.I16),
        SHAPES_FIT,
        numbers_within(0, 31, "shift"),
    )
    shift: int = 12

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, w = (required(a).astype(np.int64) for a in arrays)
        return (np.clip((x * w) >> self.shift, *DType.I16.limits).astype(np.int16),)


def _rows(op: Headroom, inputs: Types, outputs: Sequence[TensorType]) -> str | None:
    return "it is a scalar" if op.each_row and not required(inputs[0]).rank else None


@dataclass(frozen=True, slots=True)
class Headroom(Op):
    """Input: x. Counts the bits by which all of x, or with each_row each vector, may be shifted up, as i32.

    As in the reference, a -32768, which has no positive counterpart, restarts the search for the largest
    magnitude with the elements after it. With each_row it is ignored.
    """

    name: ClassVar[str] = "headroom"
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(1, 1),
        types_are(DType.I16),
        Constraint("each row of x needs a row of the second input", _rows),
    )
    each_row: bool = False

    def infer(self, inputs: Types) -> tuple[tuple[str, tuple[int, ...]], ...]:
        return ((DType.I32.value, (*required(inputs[0]).shape[:-1], 1) if self.each_row else ()),)

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        if self.each_row:
            sizes = np.abs(required(arrays[0]).astype(np.int32))
            most = np.where(sizes > DType.I16.limits[1], 0, sizes).max(axis=-1, keepdims=True, initial=0)
            return (np.vectorize(free_bits, otypes=[np.int32])(most),)
        largest = 0
        for value in required(arrays[0]).reshape(-1).tolist():
            largest = louder(largest, value)
        return (np.array(free_bits(largest), np.int32),)

    def cost(self, inputs: Types, outputs: Sequence[TensorType]) -> Cost:
        return Cost(elementwise=required(inputs[0]).elements)


def louder(largest: int, value: int) -> int:
    """Returns the larger magnitude in 16 bits; -32768 counts as its own negative."""
    if value > largest:
        return value
    if -value > largest:
        return _HALF_RANGE if value == _HALF_RANGE else -value
    return largest


def louder_but_lowest(largest: int, value: int) -> int:
    """Returns the larger magnitude; -32768 is ignored."""
    size = abs(value)
    return size if largest < size < -_HALF_RANGE else largest


def free_bits(largest: int) -> int:
    """Returns the number of redundant sign bits in 16 bits; 0 for an empty input."""
    return 15 - int(largest).bit_length() if largest > 0 else 0


@dataclass(frozen=True, slots=True)
class ShiftUp(Elementwise):
    """Inputs: x, bits. Computes x * 2^bits, in 16 bits."""

    name: ClassVar[str] = "shift_up"
    elementwise: ClassVar[tuple[int, ...]] = (0,)
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(2, 2),
        types_are(DType.I16, DType.I32),
        SHAPES_FIT,
    )

    def result_dtype(self, inputs: Types) -> DType:
        return DType.I16

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, bits = (required(a).astype(np.int64) for a in arrays)
        return ((x << (bits & 15)).astype(np.int16),)


@dataclass(frozen=True, slots=True)
class WholeRoot(Elementwise):
    """Inputs: x, bits. Returns the rounded square root of x, shifted down by `bits`."""

    name: ClassVar[str] = "whole_root"
    elementwise: ClassVar[tuple[int, ...]] = (0,)
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(2, 2),
        types_are(DType.U64, DType.I32),
        SHAPES_FIT,
    )

    def result_dtype(self, inputs: Types) -> DType:
        return DType.U32

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, bits = np.broadcast_arrays(*(required(a) for a in arrays))
        roots = [whole_root(int(value)) >> (int(n) & 31) for value, n in zip(x.flat, bits.flat, strict=True)]
        return (np.array(roots, np.uint32).reshape(x.shape),)


@dataclass(frozen=True, slots=True)
class NoiseEstimate(Elementwise):
    """Inputs: x, noise, a, b. Updates the noise estimate: (2^up * x * a + noise * b) / 2^down.

    With `limited`, the result is at most 2^up * x.
    """

    name: ClassVar[str] = "noise_estimate"
    elementwise: ClassVar[tuple[int, ...]] = (0, 1, 2, 3)
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(4, 4),
        types_are(*(DType.U32,) * 4),
        SHAPES_FIT,
        numbers_within(0, 31, "up", "down"),
    )
    up: int = 10
    down: int = 14
    limited: bool = False

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, noise, a, b = (required(array).astype(np.uint64) for array in arrays)
        scaled = (x << np.uint64(self.up)) & np.uint64(DType.U32.limits[1])
        found = ((scaled * a + noise * b) >> np.uint64(self.down)).astype(np.uint32)
        return (np.minimum(found, scaled.astype(np.uint32)) if self.limited else found,)


@dataclass(frozen=True, slots=True)
class WithoutNoise(Elementwise):
    """Inputs: x, noise. Subtracts noise: x - noise / 2^up, but at least x * least / 2^down."""

    name: ClassVar[str] = "without_noise"
    elementwise: ClassVar[tuple[int, ...]] = (0, 1)
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(2, 2),
        types_are(DType.U32, DType.U32),
        SHAPES_FIT,
        numbers_within(0, 31, "up", "down"),
        numbers_within(0, 2**31 - 1, "least"),
    )
    up: int = 10
    down: int = 14
    least: int = 819

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x, noise = (required(array).astype(np.uint64) for array in arrays)
        scaled = (x << np.uint64(self.up)) & np.uint64(DType.U32.limits[1])
        left = (scaled - np.minimum(noise, scaled)) >> np.uint64(self.up)
        least = ((x * np.uint64(self.least)) >> np.uint64(self.down)).astype(np.uint32)
        return (np.maximum(left.astype(np.uint32), least),)


@dataclass(frozen=True, slots=True)
class FixedLog(Elementwise):
    """Input: x. Returns the natural logarithm of 2^up * x, times scale, at most 32767; 0 for 0 and 1."""

    name: ClassVar[str] = "fixed_log"
    elementwise: ClassVar[tuple[int, ...]] = (0,)
    constraints: ClassVar[tuple[Constraint, ...]] = (
        limits.input_count(1, 1),
        types_are(DType.U32),
        numbers_within(0, 31, "up"),
        numbers_within(0, 2**31 - 1, "scale"),
    )
    up: int = 3
    scale: int = 64

    def result_dtype(self, inputs: Types) -> DType:
        return DType.I16

    def reference(self, arrays: Arrays, inputs: Types, outputs: Sequence[TensorType]) -> tuple[Array, ...]:
        x = required(arrays[0])
        found = [fixed_log(int(value) << self.up, self.scale) for value in x.flat]
        return (np.array(found, np.int16).reshape(x.shape),)
