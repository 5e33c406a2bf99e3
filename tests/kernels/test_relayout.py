"""A layer that copies rows says what its readers need that the rows do not have."""

import pytest
from model_checks import DSP, OPTIONS, PLAIN, compiled
from op_case import int8
from shown import SHOWN

from codegen.formats import ElementOrder, RowRequest, dense_format, requested_format, whole
from codegen.kernels.relayout import lacking

IMAGE = int8(1, 4, 6, 3, zero_point=7)
DENSE, PLANES = RowRequest(), RowRequest(order=ElementOrder.PLANES)
PADDED = RowRequest(left=1, right=1, top=1, bottom=1)
REASONS = {
    "16-bit pixels": (DENSE, RowRequest(dtype_bytes=2)),
    "8-bit planes": (DENSE, PLANES),
    "8-bit planes with padding": (DENSE, RowRequest(order=ElementOrder.PLANES, left=1, right=1)),
    "16-bit pixels with padding": (DENSE, RowRequest(dtype_bytes=2, right=1)),
    "padding": (DENSE, PADDED),
    "padding ": (DENSE, RowRequest(right=1)),
    "padding  ": (DENSE, RowRequest(bottom=1)),
    "space after each row ": (DENSE, RowRequest(slack=2)),
    "padding   ": (PADDED, RowRequest(left=1, right=1, top=1, bottom=1, fill=0)),
    "space after each row": (DENSE, RowRequest(slack=4)),
    "rows without gaps": (RowRequest(slack=4), whole(IMAGE)),
    "16-bit pixels ": (PADDED, RowRequest(dtype_bytes=2, left=1, right=1, top=1, bottom=1)),
    "a copy": (PADDED, PADDED),
}


@pytest.mark.parametrize("wanted", REASONS)
def test_the_reason_is_what_differs(wanted):
    has, request = REASONS[wanted]
    source = dense_format(IMAGE) if has is DENSE else requested_format(IMAGE, has)
    assert lacking(IMAGE, source, request) == wanted.rstrip()


def test_the_comment_above_a_copy_is_true():
    text = compiled(SHOWN["planes_of_a_vector"](), PLAIN, OPTIONS["speed"], "k").sources["k.c"]
    assert "copy: its readers need padding" in text
    text = compiled(SHOWN["input_shown"](), DSP, OPTIONS["ram"], "k").sources["k.c"]
    assert "copy: it is an output that the caller owns" in text
