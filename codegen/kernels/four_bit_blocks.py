"""Stores float weights that are few multiples of one step in each block in 4 bits, with the step.

Such are the weights of MatMulNBits, of other quantizers' files once they are floats, and of ternary networks.
Each is an integer times the step of its block, rounded once, and is computed so again in the loop that needs
it: the same products in the same order, hence the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from aot.ir.types import Array, DType
from aot.target import Optimize
from codegen.kernels.kernel import Site
from codegen.kernels.strategy import Condition
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import Apply, Buffer, Expr, Role, ScalarFunction, load

_SHORTEST = 16  # elements of a block
_LEAST = 256  # weights; fewer are not worth the code
_MOST = 15  # multiples of the step
_MIDDLE = 8  # the zero point if no block has another one
_KEPT = 64  # matrices whose blocks are remembered: sites are asked for each plan that is tried

FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True)
class FourBitBlocks:
    """A matrix of weights [outputs, depth] in blocks along the depth."""

    block: int  # elements
    nibbles: Array  # i8: two weights in a byte, the lower bits first
    steps: FloatArray  # of each block
    zeros: Array | None  # i8: the zero point of each block; None: the middle

    @property
    def tables(self) -> Mapping[str, Array]:
        zeros = {} if self.zeros is None else {"zeros": self.zeros}
        return {"w": self.nibbles, "block_steps": self.steps, **zeros}

    def params(self) -> tuple[Buffer, ...]:
        dtypes = {"w": DType.I8, "block_steps": DType.F32, "zeros": DType.I8}
        return tuple(Buffer(n, dtypes[n], a.size, Role.CONSTANT) for n, a in self.tables.items())

    def weights(self, row: Affine, depth: int) -> tuple[Expr, Expr]:
        """Returns two neighbors of a row, in loops kb over blocks and kk over pairs in a block."""
        stored, steps, *zeros = self.params()
        pair = row * (depth // 2) + variable("kb") * (self.block // 2) + variable("kk")
        block = row * (depth // self.block) + variable("kb")
        operands = (load(stored, pair), load(steps, block), *(load(each, block) for each in zeros))
        lower, upper = _AROUND_MIDDLE if self.zeros is None else _AROUND_ZEROS
        return Apply(lower, operands), Apply(upper, operands)


def _function(name: str, place: str, shift: int, has_zero: bool) -> ScalarFunction:
    zero, parameter = ("zero", ", int32_t zero") if has_zero else (str(_MIDDLE), "")
    bits = f"(byte >> {shift}) & 15" if shift else "byte & 15"
    definition = f"""\
/* The weight in the {place} bits of a byte: a multiple of its block's step. */
static inline float {name}(int32_t byte, float step{parameter})
{{
    return (float)(({bits}) - {zero}) * step;
}}
"""

    def compute(byte: Any, step: Any, zero: Any = _MIDDLE) -> float:
        return float(np.float32((int(byte) >> shift & 15) - int(zero)) * np.float32(step))

    return ScalarFunction(name, DType.F32, definition, compute, machine_instructions=4)


_AROUND_MIDDLE = (
    _function("lower_weight", "lower", 0, False),
    _function("upper_weight", "upper", 4, False),
)
_AROUND_ZEROS = (
    _function("lower_weight_of_zero", "lower", 0, True),
    _function("upper_weight_of_zero", "upper", 4, True),
)


def blocks_of(site: Site) -> FourBitBlocks | None:
    return _remembered(_Matrix(site.constants[1]))


def bytes_saved(site: Site) -> int:
    """Returns the flash that four bits save, or 0 if they cannot represent the weights."""
    if site.for_any_weights or site.input(1).dtype is not DType.F32:
        return 0
    blocks, weights = blocks_of(site), site.constants[1]
    return 0 if blocks is None else weights.nbytes - sum(each.nbytes for each in blocks.tables.values())


IN_FOUR_BITS = Condition[Site](
    f"weights that are at most {_MOST} multiples of a step in each block of {_SHORTEST} or more",
    lambda site: bytes_saved(site) > 0,
)
SAVES_FLASH = Condition[Site](
    "flash matters more than time: --optimize size, or too little flash for floats",
    lambda site: site.compact or site.optimize is Optimize.SIZE,
)


@dataclass(frozen=True)
class _Matrix:
    """An array with its identity as key, which stays alive as long as it is one."""

    array: Array

    def __hash__(self) -> int:
        return id(self.array)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Matrix) and other.array is self.array


@lru_cache(_KEPT)
def _remembered(matrix: _Matrix) -> FourBitBlocks | None:
    return four_bit_blocks(matrix.array)


def four_bit_blocks(weights: Array) -> FourBitBlocks | None:
    """Returns the longest blocks whose weights 4 bits and a step represent exactly, or None."""
    depth, block = weights.shape[-1], _SHORTEST
    if weights.dtype != np.float32 or weights.ndim != 2 or weights.size < _LEAST or depth % block:
        return None
    found = _multiples(weights, block) if np.isfinite(weights).all() else None
    if found is None:
        return None
    while depth % (2 * block) == 0 and (longer := _multiples(weights, 2 * block)) is not None:
        block, found = 2 * block, longer
    numbers, steps = found
    turned = (numbers.max(axis=1) == _MIDDLE) & (numbers.min(axis=1) > -_MIDDLE)  # the step was negative
    signs = np.where(turned, -1, 1)
    numbers, steps = numbers * signs[:, np.newaxis], (steps * signs).astype(np.float32)
    zeros = np.clip(-numbers.min(axis=1), 0, _MOST)
    if numbers.min() >= -_MIDDLE and numbers.max() <= _MOST - _MIDDLE:
        zeros = np.full(len(zeros), _MIDDLE)
    codes = (numbers + zeros[:, np.newaxis]).astype(np.uint8).reshape(-1, 2)
    nibbles = (codes[:, 0] | codes[:, 1] << 4).view(np.int8)
    return FourBitBlocks(block, nibbles, steps, None if (zeros == _MIDDLE).all() else zeros.astype(np.int8))


def _multiples(weights: Array, block: int) -> tuple[npt.NDArray[np.int64], FloatArray] | None:
    """Returns the integers of each block and its step; None if some block has no step."""
    if len(weights) > 1 and _multiples(weights[:1], block) is None:
        return None  # known at once for almost every matrix
    values = weights.reshape(-1, block).astype(np.float32)
    sizes = np.where(values == 0, np.inf, np.abs(values)).min(axis=1)
    least = np.where(np.isinf(sizes), 1, sizes).astype(np.float32)
    numbers, steps = np.zeros(values.shape, np.int64), np.ones(len(values), np.float32)
    left = np.arange(len(values))
    for multiple in range(1, _MOST + 1):
        near = least / np.float32(multiple)  # the step, if the least weight is that multiple: or next to it
        for step in (near, np.nextafter(near, np.float32(0)), np.nextafter(near, np.float32(np.inf))):
            fits, found = _as_multiples(values[left], step[left])
            numbers[left[fits]], steps[left[fits]] = found[fits], step[left[fits]]
            left = left[~fits]
            if not left.size:
                return numbers, steps
    return None


def _as_multiples(
    values: FloatArray, step: FloatArray
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
    """Returns which blocks are multiples of the steps, and these multiples."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        nearest = np.rint(values / step[:, np.newaxis])
        found = np.where(np.abs(nearest) <= _MOST, nearest, 0).astype(np.int64)
    exact = (found.astype(np.float32) * step[:, np.newaxis] == values).all(axis=1)
    return exact & (found.max(axis=1) - found.min(axis=1) <= _MOST), found
