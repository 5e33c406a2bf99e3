"""Rearrangements: slices by rows, columns and channels, steps, repetitions, transpositions, backwards."""

from op_case import OpCase, float32, int8, op_case

from aot.ir.types import DType, TensorType
from aot.ops.rearrange import Rearrange

IMAGE = (1, 6, 5, 4)  # strides 120, 20, 4, 1


def image(name: str, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> OpCase:
    op = Rearrange(shape, shape, strides, offset)
    return op_case(f"rearrange_{name}", op, [int8(*IMAGE)], int8())


def vector(
    name: str, x: TensorType, sizes: tuple[int, ...], strides: tuple[int, ...], offset: int = 0
) -> OpCase:
    length = 1
    for size in sizes:
        length *= size
    return op_case(f"rearrange_{name}", Rearrange((1, length), sizes, strides, offset), [x], x)


CASES = (
    image("rows", (1, 3, 5, 4), (120, 20, 4, 1), 40),
    image("every_other_row", (1, 3, 5, 4), (120, 40, 4, 1), 20),
    image("columns", (1, 6, 2, 4), (120, 20, 8, 1), 4),
    image("channels", (1, 6, 5, 2), (120, 20, 4, 1), 2),
    image("columns_become_channels", (1, 6, 4, 5), (120, 20, 1, 4)),
    image("columns_backwards", (1, 6, 5, 4), (120, 20, -4, 1), 16),
    image("one_row_again_and_again", (1, 7, 5, 4), (0, 0, 4, 1), 60),
    image("one_channel_repeated", (1, 6, 5, 3), (120, 20, 4, 0), 3),
    image("planes", (1, 2, 5, 3), (0, 20, 4, 40)),
    image("planes_turned", (1, 3, 5, 2), (0, 20, 2, 60), 1),
    image("a_part_of_planes", (1, 2, 3, 2), (0, 20, 1, 60), 22),
    vector("transposed", int8(1, 24), (2, 4, 3), (12, 1, 4)),
    vector("backwards", int8(1, 9), (9,), (-1,), 8),
    vector("one_element", int8(1, 9), (), (), 4),
    vector("float32", float32(1, 12), (4, 3), (1, 4)),
    vector("int32", TensorType(DType.I32, (1, 12)), (2, 2), (6, 2), 1),
    op_case("rearrange_flat", Rearrange((4, 2, 3), (4, 2, 3), (1, 12, 4)), [int8(2, 3, 4)], int8()),
    op_case("rearrange_tiled", Rearrange((6, 3), (2, 3, 3), (0, 3, 1)), [float32(3, 3)], float32()),
)
