"""Sums of two tensors as tiles: multiplies by the unit matrix to widen both, then scales and adds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from extensions.gemm_npu.encoding import NpuCommand, micro
from extensions.gemm_npu.machine import LANES
from extensions.gemm_npu.program import (
    CONSTANTS,
    MOST_THREADS,
    X2,
    NpuTile,
    X,
    Y,
    alu,
    instruction,
    load,
    programmed,
)
from extensions.gemm_npu.tiles import room

SCALE_VECTORS = 6  # multiplier and shift of the first operand, of the second, and of the sum
MICRO_CODE = (micro(0, 0),)
SCALES_AT, UNIT_AT = 64, 64 + 64 * SCALE_VECTORS  # offsets of constants, in bytes; microcode comes first


@dataclass(frozen=True)
class SumLayer:
    """The parameters of a sum's instructions, without multipliers."""

    elements: int
    zero_points: tuple[int, int, int]  # of both operands and of the result
    left_shift: int
    least: int
    greatest: int


def instructions(total: SumLayer, threads: int) -> tuple[NpuCommand, ...]:
    scales = {"columns": SCALE_VECTORS, "column_stride": 64, "bytes": 64}
    preparation = (
        load("MICROCODE", CONSTANTS, 0, rows=1, columns=1, bytes=4),
        load("ACCUMULATOR", CONSTANTS, SCALES_AT, rows=1, **scales),
    )
    vectors = min(
        room("INPUT", threads) // 2,
        room("ACCUMULATOR", threads, SCALE_VECTORS) // 2,
        room("OUTPUT", threads),
        max(-(-total.elements // (LANES * MOST_THREADS)), 1),
    )
    size = vectors * LANES
    tiles = [
        _tile(total, begin, min(size, total.elements - begin), n % threads, threads)
        for n, begin in enumerate(range(0, total.elements, size))
    ]
    return programmed(preparation, tiles, threads)


def _tile(total: SumLayer, begin: int, count: int, thread: int, threads: int) -> NpuTile:
    vectors = -(-count // LANES)
    images = thread * room("INPUT", threads)
    first = SCALE_VECTORS + thread * room("ACCUMULATOR", threads, SCALE_VECTORS)
    second, results = first + vectors, thread * room("OUTPUT", threads)
    unit = load("WEIGHT", CONSTANTS, UNIT_AT, rows=1, columns=1, bytes=LANES, diagonal=1, index=thread)
    whole = {"rows": 1, "columns": 1, "bytes": count}
    loads = (
        unit,
        load("INPUT", X, begin, index=images, **whole),
        load("INPUT", X2, begin, index=images + vectors, **whole),
    )
    widened = {**_turns(first, 2 * vectors), "from_base": images, "from_outer": 1, "tile_base": thread}
    clip = {**_turns(results, vectors), "from_base": first, "from_outer": 1, "value": total.zero_points[2]}
    return NpuTile(
        loads,
        before=(
            _alu("MOVE", first, vectors, immediate=1, value=-total.zero_points[0]),
            _alu("MOVE", second, vectors, immediate=1, value=-total.zero_points[1]),
        ),
        products=(instruction("GEMM", widened),),
        scaled=(
            *_scaled(total, first, second, vectors),
            alu("CLIP", {**clip, "least": total.least, "greatest": total.greatest}),
        ),
        store=instruction("STORE", {"base": Y, "index": results, "offset": begin, **whole}),
    )


def _scaled(total: SumLayer, first: int, second: int, vectors: int) -> Iterator[NpuCommand]:
    yield _alu("SHIFT_LEFT", first, 2 * vectors, immediate=1, value=total.left_shift)
    yield _alu("SCALE", first, vectors, from_base=0)
    yield _alu("SCALE", second, vectors, from_base=2)
    yield _alu("ADD", first, vectors, from_base=second, from_outer=1)
    yield _alu("SCALE", first, vectors, from_base=4)


def _turns(to: int, vectors: int) -> dict[str, int]:
    return {"count": 1, "outer": vectors, "inner": 1, "to_outer": 1, "to_base": to}


def _alu(operation: str, to: int, vectors: int, **fields: int) -> NpuCommand:
    return alu(operation, {**_turns(to, vectors), **fields})
