"""Gatherings: axes, batches, indices that are constant or come with the run, some of them outside."""

import numpy as np
from op_case import constant_of, float32, int8, op_case, plain

from aot.ir.types import DType
from aot.ops.gather import Gather, GatherNd

SOME, INDICES = constant_of(np.array([2, 0, 1, 1, 9], np.int32)), plain(DType.I32, 2, 3)
PLACES = constant_of(np.array([[[1, 0], [2, 3]], [[0, 0], [-1, 7]]], np.int32))
CASES = (
    op_case("gather_rows", Gather(0), [int8(4, 5)], int8(), [SOME]),
    op_case("gather_channels", Gather(3), [int8(1, 2, 3, 4)], int8(), [SOME]),
    op_case("gather_lines", Gather(1), [int8(1, 3, 4, 2)], int8(), [SOME]),
    op_case("gather_columns", Gather(2), [float32(1, 2, 3, 4)], float32(), [SOME]),
    op_case("gather_middle", Gather(1), [float32(2, 4, 3), INDICES], float32()),
    op_case("gather_batches", Gather(1, 1), [plain(DType.I64, 2, 4, 3), INDICES], plain(DType.I64)),
    op_case("gather_i64", Gather(0), [plain(DType.I32, 4), plain(DType.I64, 3)], plain(DType.I32)),
    op_case("gather_i64_rows", Gather(0), [float32(4, 5), plain(DType.I64, 3)], float32()),
    op_case("gather_nd_i64", GatherNd(), [float32(3, 4, 5), plain(DType.I64, 3, 2)], float32()),
    op_case("gather_nd_elements", GatherNd(), [int8(3, 4)], int8(), [PLACES]),
    op_case("gather_nd_vectors", GatherNd(), [float32(3, 4, 5)], float32(), [PLACES]),
    op_case("gather_nd_all", GatherNd(), [float32(2, 3), plain(DType.I32, 2, 1)], float32()),
)
