"""Mosaics of all four orders: sides of odd and even lengths, the least picture, a row of few pixels."""

from drawing import Draw
from op_case import OpCase, op_case, plain

from aot.ir.types import DType
from aot.ops.demosaic import Demosaic, Mosaic


def case(name: str, mosaic: Mosaic, height: int, width: int) -> OpCase:
    return op_case(
        f"demosaic_{name}", Demosaic(mosaic), [plain(DType.U8, 1, height, width, 1)], plain(DType.U8)
    )


CASES = (
    case("even", Mosaic.RGGB, 6, 8),
    case("odd", Mosaic.BGGR, 5, 7),
    case("least", Mosaic.GRBG, 3, 3),
    case("narrow", Mosaic.GBRG, 7, 4),
)


def _demosaic(draw: Draw) -> OpCase:
    return case("any", draw.one_of(*Mosaic), 2 + draw.upto(5), 2 + draw.upto(8))


SHAPES = {"demosaic": _demosaic}
