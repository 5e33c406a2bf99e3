"""Packed constants: the kernel finds the same values in the order in which it walks them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nests import dots, mean_the_same, random_rows, result

from aot.ir.types import DType
from codegen.loops.affine import variable
from codegen.loops.ir import Buffer, Proc, Role
from codegen.loops.pack import Packing, pack
from codegen.loops.schedule import ScheduleError, pad_reduction, privatize, reorder, split, unroll

EXTENTS = st.integers(1, 7)
SEED_OF_W = 6  # what nests.result fills the second parameter with


def weights(proc: Proc) -> np.ndarray:
    return random_rows(proc.param("w"), SEED_OF_W)[0]


@settings(max_examples=30, deadline=None)
@given(channels=EXTENTS, pixels=EXTENTS, length=EXTENTS, rows=st.integers(1, 2), tile=st.integers(1, 4))
def test_packing_keeps_the_meaning(channels, pixels, length, rows, tile):
    nest = dots(channels, pixels, length, rows)
    tiled = reorder(split(nest, "o", tile, "ob", "oi"), "oi", "p")
    tiled = unroll(privatize(tiled, ["sum"], "oi"), "oi")
    tiled = reorder(reorder(tiled, "oi", "r"), "oi", "k")
    order = ("ob", "ob_tail", "r", "k", "oi")
    packed, packing = pack(tiled, "w", order, valid=variable("k"), limit=length)
    assert mean_the_same(nest, packed, {"w": packing.apply(weights(nest))})
    assert sorted(packing.source) == list(range(channels * rows * length))


@settings(max_examples=30, deadline=None)
@given(channels=EXTENTS, length=EXTENTS, multiple=st.integers(1, 4))
def test_a_lengthened_reduction_finds_zeros_at_its_end(channels, length, multiple):
    nest = dots(channels, 2, length)
    slack = Buffer("x", DType.I8, 2 + length + multiple, Role.ROWS)
    roomy = Proc(nest.name, (slack, *nest.params[1:]), nest.body)
    lengthened = pad_reduction(roomy, "k", multiple, zeros="w")
    packed, packing = pack(lengthened, "w", ("o", "r", "k"), valid=variable("k"), limit=length)
    assert packed.param("w").elements == channels * -(-length // multiple) * multiple
    assert packing.source.count(-1) == packed.param("w").elements - channels * length
    made = result(packed, {"w": packing.apply(weights(nest))})
    assert np.array_equal(made["y"], result(roomy)["y"])


def test_a_place_outside_the_original_is_a_zero():
    assert Packing((2, -1, 0)).apply(np.array([[5, 6], [7, 8]], np.int8)).tolist() == [7, 0, 5]


def test_an_order_without_a_loop_that_the_index_needs_is_refused():
    with pytest.raises(ScheduleError) as refused:
        pack(dots(2, 2, 3), "w", ("o",), valid=variable("k"), limit=3)
    assert str(refused.value) == "packing w: its index depends on ['k', 'r'], which the order lacks"
