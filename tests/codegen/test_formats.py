"""Row formats: what a request gets, when rows satisfy another reader too, when two requests are one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from op_case import float32, int8

from aot.ir.types import DType, TensorType
from codegen.formats import (
    ElementOrder,
    Geometry,
    RowRequest,
    dense_format,
    geometry,
    merge_requests,
    requested_format,
    satisfies,
)
from codegen.lower.views import ending_at_words

IMAGE = int8(1, 4, 6, 3, zero_point=-9)
PADDED = RowRequest(left=1, right=2, top=1, bottom=1)


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
    "asked", [PADDED, replace(PADDED, order=ElementOrder.PLANES, slack=1), RowRequest(dtype_bytes=2)]
)
def test_a_request_is_satisfied_by_its_format(asked: RowRequest) -> None:
    assert satisfies(requested_format(IMAGE, asked), asked, IMAGE)


def test_rows_begin_at_multiples_of_four_bytes() -> None:
    assert [requested_format(IMAGE, RowRequest(slack=n)).row_bytes for n in range(4)] == [20, 20, 20, 24]


def test_rows_of_narrow_elements_end_at_words_where_they_are_read_by_fours() -> None:
    assert ending_at_words(dense_format(int8(1, 2, 5, 3))).row_elements == 16
    words = dense_format(float32(1, 2, 5, 3))
    assert ending_at_words(words) == words


# What rows were made for -> what another reader requests of them, and whether they will do.
SERVICE = {
    "less padding": (PADDED, RowRequest(left=1, right=1), True),
    "no padding, another fill": (PADDED, RowRequest(fill=0), True),
    "padding that holds another value": (PADDED, replace(PADDED, fill=0), False),
    "padding that holds the same value": (PADDED, replace(PADDED, fill=-9), True),
    "rows below that are not there": (RowRequest(top=1), RowRequest(bottom=1), False),
    "rows above that are not there": (RowRequest(bottom=1), RowRequest(top=1), False),
    "wider padding on the left": (RowRequest(left=1), RowRequest(left=2), False),
    "wider padding on the right": (RowRequest(right=2), RowRequest(right=3), False),
    "the rounding up is padding enough for slack": (RowRequest(), RowRequest(slack=2), True),
    "more slack": (RowRequest(), RowRequest(slack=3), False),
    "wider elements": (RowRequest(), RowRequest(dtype_bytes=2), False),
    "another order": (RowRequest(), RowRequest(ElementOrder.PLANES), False),
    "pixels of planes": (RowRequest(ElementOrder.PLANES), RowRequest(), False),
    "planes further apart": (
        RowRequest(ElementOrder.PLANES),
        RowRequest(ElementOrder.PLANES, right=1),
        False,
    ),
    "planes nearer": (RowRequest(ElementOrder.PLANES, right=1), RowRequest(ElementOrder.PLANES), True),
    "slack after the last plane": (
        RowRequest(ElementOrder.PLANES),
        RowRequest(ElementOrder.PLANES, slack=8),
        False,
    ),
}


@pytest.mark.parametrize(("made_for", "asked", "will_do"), SERVICE.values(), ids=SERVICE)
def test_rows_serve_another_reader(made_for: RowRequest, asked: RowRequest, will_do: bool) -> None:
    assert satisfies(requested_format(IMAGE, made_for), asked, IMAGE) is will_do


def test_wants_of_one_order_join_to_the_larger_margins() -> None:
    joined = merge_requests([RowRequest(left=1, bottom=2), RowRequest(left=2, top=1), RowRequest(slack=3)])
    assert joined == RowRequest(left=2, top=1, bottom=2, slack=3)


@pytest.mark.parametrize(
    "other", [RowRequest(ElementOrder.PLANES), RowRequest(dtype_bytes=2), RowRequest(fill=0)]
)
def test_wants_that_differ_in_kind_do_not_join(other: RowRequest) -> None:
    assert merge_requests([RowRequest(), other]) is None


def test_an_unquantised_tensor_has_margins_of_zero() -> None:
    assert requested_format(TensorType(DType.F32, (1, 2, 2, 1)), RowRequest(left=1, dtype_bytes=4)).fill == 0
