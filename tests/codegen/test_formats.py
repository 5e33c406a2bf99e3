"""Row formats: what a want gets, when rows serve another reader too, when two wants have one format."""

from __future__ import annotations

from dataclasses import replace

import pytest
from op_case import int8

from aot.ir.types import DType, TensorType
from codegen.formats import (
    Geometry,
    Order,
    Want,
    dense_format,
    geometry,
    join_wants,
    serves,
    wanted_format,
)

IMAGE = int8(1, 4, 6, 3, zero_point=-9)
MARGINS = Want(left=1, right=2, top=1, bottom=1)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((1, 4, 6, 3), Geometry(4, 6, 3)),
        ((2, 4, 6, 3), Geometry(48, 1, 3)),
        ((5, 7), Geometry(5, 1, 7)),
        ((2, 3, 4), Geometry(6, 1, 4)),
        ((7,), Geometry(1, 1, 7)),
        ((), Geometry(1, 1, 1)),
    ],
)
def test_a_tensor_is_rows_of_pixels_of_channels(shape: tuple[int, ...], expected: Geometry) -> None:
    assert geometry(int8(*shape)) == expected


def test_a_dense_format_has_no_gap() -> None:
    dense = dense_format(IMAGE)
    assert (dense.c_step, dense.x_step, dense.row_elements) == (1, IMAGE.shape[-1], 18)
    assert (dense.left, dense.top, dense.bottom, dense.row_bytes) == (0, 0, 0, 18)


@pytest.mark.parametrize(
    "want", [MARGINS, replace(MARGINS, order=Order.PLANES, slack=1), Want(dtype_bytes=2)]
)
def test_what_is_wanted_is_served(want: Want) -> None:
    assert serves(wanted_format(IMAGE, want), want, IMAGE)


def test_rows_begin_at_multiples_of_four_bytes() -> None:
    assert [wanted_format(IMAGE, Want(slack=n)).row_bytes for n in range(4)] == [20, 20, 20, 24]


# What rows were made for -> what another reader wants of them, and whether they will do.
SERVICE = {
    "fewer margins": (MARGINS, Want(left=1, right=1), True),
    "no margins, another fill": (MARGINS, Want(fill=0), True),
    "margins that hold another value": (MARGINS, replace(MARGINS, fill=0), False),
    "margins that hold the same value": (MARGINS, replace(MARGINS, fill=-9), True),
    "rows below that are not there": (Want(top=1), Want(bottom=1), False),
    "rows above that are not there": (Want(bottom=1), Want(top=1), False),
    "a wider left margin": (Want(left=1), Want(left=2), False),
    "a wider right margin": (Want(right=2), Want(right=3), False),
    "the rounding up is margin enough for slack": (Want(), Want(slack=2), True),
    "more slack": (Want(), Want(slack=3), False),
    "wider elements": (Want(), Want(dtype_bytes=2), False),
    "another order": (Want(), Want(Order.PLANES), False),
    "pixels of planes": (Want(Order.PLANES), Want(), False),
    "planes further apart": (Want(Order.PLANES), Want(Order.PLANES, right=1), False),
    "planes nearer": (Want(Order.PLANES, right=1), Want(Order.PLANES), True),
    "slack after the last plane": (Want(Order.PLANES), Want(Order.PLANES, slack=8), False),
}


@pytest.mark.parametrize(("made_for", "want", "will_do"), SERVICE.values(), ids=SERVICE)
def test_rows_serve_another_reader(made_for: Want, want: Want, will_do: bool) -> None:
    assert serves(wanted_format(IMAGE, made_for), want, IMAGE) is will_do


def test_wants_of_one_order_join_to_the_larger_margins() -> None:
    joined = join_wants([Want(left=1, bottom=2), Want(left=2, top=1), Want(slack=3)])
    assert joined == Want(left=2, top=1, bottom=2, slack=3)


@pytest.mark.parametrize("other", [Want(Order.PLANES), Want(dtype_bytes=2), Want(fill=0)])
def test_wants_that_differ_in_kind_do_not_join(other: Want) -> None:
    assert join_wants([Want(), other]) is None


def test_an_unquantised_tensor_has_margins_of_zero() -> None:
    assert wanted_format(TensorType(DType.F32, (1, 2, 2, 1)), Want(left=1, dtype_bytes=4)).fill == 0
