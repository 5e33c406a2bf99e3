"""Layers of language models: a vector and several, both kinds of pairs, heads that share a cache."""

import numpy as np
from drawing import Draw
from op_case import OpCase, constant_of, float32, float32_weights, op_case, plain

from aot.ir.types import DType
from aot.ops.transformer import CachedAttention, RmsNorm, Rotary


def _attention(
    name: str, heads: int, shared: int, positions: int, head: int, known: int, dtype: DType = DType.F32
) -> OpCase:
    caches = [plain(dtype, 1, shared, positions, head)] * 2
    length = constant_of(np.array([known], np.int64))
    spread = np.linspace(0.01, 0.02, shared * positions, dtype=np.float32).reshape(1, shared, positions, 1)
    scales = [constant_of(spread), constant_of(spread[:, :, ::-1].copy())] if dtype is DType.I8 else []
    return op_case(
        f"cached_attention_{name}",
        CachedAttention(head**-0.5),
        [float32(1, heads, 1, head), *caches],
        float32(),
        [length, *scales],
    )


CASES = (
    op_case("rms_norm_vector", RmsNorm(), [float32(1, 24)], float32(), [float32_weights(24)]),
    op_case("rms_norm_rows", RmsNorm(1e-6), [float32(1, 3, 2, 5)], float32(), [float32_weights(5)]),
    op_case("rms_norm_one", RmsNorm(), [float32(1, 1)], float32(), [float32_weights(1)]),
    op_case("rotary_halves", Rotary(), [float32(1, 3, 1, 8), float32(1, 4), float32(1, 4)], float32()),
    op_case("rotary_neighbors", Rotary(True), [float32(2, 3, 6), float32(3, 3), float32(3, 3)], float32()),
    op_case("rotary_pair", Rotary(), [float32(1, 2), float32(1, 1), float32(1, 1)], float32()),
    _attention("all", 4, 2, 9, 8, 9),
    _attention("some", 6, 2, 16, 12, 5),
    _attention("one_head", 1, 1, 3, 2, 2),
    _attention("too_many", 2, 1, 5, 4, 99),
    _attention("none_yet", 2, 2, 5, 4, -1),
    _attention("four_together", 8, 2, 9, 6, 7),
    _attention("five_one_by_one", 5, 1, 6, 3, 6),
    _attention("bytes", 6, 2, 16, 12, 13, DType.I8),
    _attention("all_bytes", 2, 1, 9, 8, 9, DType.I8),
    _attention("bytes_of_four_together", 4, 1, 5, 10, 5, DType.I8),
    _attention("one_byte", 1, 1, 1, 1, 1, DType.I8),
    _attention("bytes_of_none_yet", 2, 2, 5, 4, 0, DType.I8),
)


def _normalized(draw: Draw) -> OpCase:
    shape = draw.shape(draw.upto(4))
    op = RmsNorm(draw.one_of(1e-6, 1e-5))
    return op_case("rms_norm", op, [float32(*shape)], float32(), [float32_weights(shape[-1])])


def _rotated(draw: Draw) -> OpCase:
    rows, half = draw.upto(4), draw.upto(4)
    x, table = float32(*draw.shape(draw.upto(2)), rows, 2 * half), float32(rows, half)
    return op_case("rotary", Rotary(draw.one_of(True, False)), [x, table, table], float32())


def _attended(draw: Draw) -> OpCase:
    shared, positions = draw.upto(3), draw.upto(6)
    known = int(draw.rng.integers(-1, positions + 2))
    dtype = draw.one_of(DType.F32, DType.I8)
    return _attention("drawn", shared * draw.upto(3), shared, positions, draw.upto(6), known, dtype)


SHAPES = {"cached_attention": _attended, "rms_norm": _normalized, "rotary": _rotated}
