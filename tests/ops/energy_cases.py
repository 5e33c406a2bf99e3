"""Energies: a range within, all, none; several vectors, rows of an image, floats."""

from drawing import Draw
from op_case import OpCase, float32, op_case, plain

from aot.ir.types import DType
from aot.ops.energy import Energy

CASES = (
    op_case("energy_range", Energy(2, 7), [plain(DType.I16, 18)], plain(DType.U32)),
    op_case("energy_all", Energy(0, 5), [plain(DType.I16, 10)], plain(DType.U32)),
    op_case("energy_none", Energy(3, 3), [plain(DType.I16, 10)], plain(DType.U32)),
    op_case("energy_vectors", Energy(1, 3), [plain(DType.I16, 2, 3, 8)], plain(DType.U32)),
    op_case("energy_image", Energy(1, 5), [plain(DType.I16, 1, 3, 2, 12)], plain(DType.U32)),
    op_case("energy_float32", Energy(0, 4), [float32(2, 10)], float32()),
    op_case("energy_float32_image", Energy(0, 4), [float32(1, 5, 1, 8)], float32()),
)


def _energy(draw: Draw) -> OpCase:
    pairs = draw.upto(12)
    first = draw.upto(pairs, 0)
    dtype, result = draw.one_of((DType.I16, plain(DType.U32)), (DType.F32, float32()))
    shape = draw.one_of((2 * pairs,), (draw.upto(3), 2 * pairs), (1, draw.upto(3), draw.upto(2), 2 * pairs))
    return op_case("energy", Energy(first, draw.upto(pairs, first)), [plain(dtype, *shape)], result)


SHAPES = {"energy": _energy}
