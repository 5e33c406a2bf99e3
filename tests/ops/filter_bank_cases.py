"""Filter banks: more channels than share a loop, one, weights beyond 16 bits and below 0, floats."""

import numpy as np
from drawing import Draw
from op_case import OpCase, constant_of, float32, op_case, plain

from aot.ir.types import DType
from aot.ops.filter_bank import FilterBank


def _case(
    name: str, energies: int, channels: int, width: int, largest: int, rows: tuple[int, ...] = ()
) -> OpCase:
    rng = np.random.default_rng(3)
    first = np.sort(rng.integers(0, energies - width + 1, channels)).astype(np.int32)
    weights = rng.integers(-largest, largest + 1, (channels, width)).astype(np.int32)
    weights[: channels // 2, width // 2 :] = 0
    constants = [constant_of(first), constant_of(weights)]
    return op_case(name, FilterBank(), [plain(DType.U32, *rows, energies)], plain(DType.U64), constants)


def _real(name: str, shape: tuple[int, ...], channels: int, width: int) -> OpCase:
    rng = np.random.default_rng(4)
    first = np.sort(rng.integers(0, shape[-1] - width + 1, channels)).astype(np.int32)
    weights = rng.uniform(0, 1, (channels, width)).astype(np.float32)
    return op_case(
        name, FilterBank(), [float32(*shape)], float32(), [constant_of(first), constant_of(weights)]
    )


CASES = (
    _case("filter_bank_many", 60, 19, 11, 4096),
    _case("filter_bank_one", 5, 1, 5, 4096),
    _case("filter_bank_wide", 12, 3, 1, 2**31 - 1),
    _case("filter_bank_rows", 17, 9, 4, 4096, (1, 3, 1)),
    _real("filter_bank_float32", (2, 30), 9, 5),
    _real("filter_bank_float32_image", (1, 3, 1, 20), 10, 6),
)


def _filter_bank(draw: Draw) -> OpCase:
    width, channels = draw.upto(6), draw.upto(20)
    energies = draw.upto(30, width)
    first = np.sort(draw.rng.integers(0, energies - width + 1, channels)).astype(np.int32)
    weights = draw.rng.integers(-4096, 4097, (channels, width)).astype(np.int32)
    constants = [constant_of(first), constant_of(weights)]
    return op_case("filter_bank", FilterBank(), [plain(DType.U32, energies)], plain(DType.U64), constants)


SHAPES = {"filter_bank": _filter_bank}
