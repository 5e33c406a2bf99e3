"""What is equal is there once: functions of layers of one shape, constants of one content."""

import re

import numpy as np
import pytest
from graphs import GRAPHS, Draft
from hypothesis import given
from hypothesis import strategies as st
from model_checks import DSP, OPTIONS, PLAIN, compiled

from aot.ir.graph import Graph
from aot.ops.activation import Activation
from aot.ops.average_pool2d import AveragePool2d
from codegen.c.order import ordered_parts


def kernels_in(source: str) -> list[str]:
    return re.findall(r"^static KERNEL void (\w+)\(", source, re.MULTILINE)


def calls_in(source: str) -> list[str]:
    return [name for name in re.findall(r"^    (\w+)\(", source, re.MULTILINE) if name in kernels_in(source)]


@pytest.mark.parametrize("target", [PLAIN, DSP], ids=["plain", "dsp"])
def test_layers_of_one_shape_share_a_function(target):
    source = compiled(GRAPHS["residual"](), target, OPTIONS["speed"], "k").sources["k.c"]
    convolutions = [name for name in calls_in(source) if name.startswith("conv2d")]
    into_margins, dense = convolutions[:2]
    # A sum made in the store has integers of its own, which depend on its three scales.
    last = f"{dense}_2" if dense.endswith("_added") else dense
    assert convolutions == [into_margins, dense, into_margins, last]
    assert len(kernels_in(source)) == len(set(kernels_in(source)))


# For SMLAD the last of the four writes 16-bit rows, and the others do not.
@pytest.mark.slow
@pytest.mark.parametrize(("target", "functions"), [(PLAIN, 1), (DSP, 2)], ids=["plain", "dsp"])
def test_for_size_layers_that_differ_in_extents_share_a_function(target, functions):
    sources = [
        compiled(GRAPHS["layers_alike"](), target, OPTIONS[o], "k").sources["k.c"] for o in ("speed", "size")
    ]
    of_speed, of_size = ([k for k in kernels_in(s) if k.startswith("conv2d_1x1")] for s in sources)
    assert (len(of_speed), len(of_size)) == (4, functions)
    assert sources[1].count("struct conv2d_1x1_shape shape = {") == 5 - functions


def test_layers_that_differ_in_their_scales_alone_do_not():
    source = compiled(GRAPHS["alike_but_for_scales"](), PLAIN, OPTIONS["speed"], "k").sources["k.c"]
    softmaxes = [name for name in calls_in(source) if name.startswith("softmax")]
    of_04, of_005, of_04_too, of_02 = softmaxes
    assert of_04_too == of_04
    assert len({of_04, of_005, of_02}) == 3


def test_equal_constants_are_stored_once():
    d = Draft()
    x = d.input("x", 1, 5, 5, 4)
    first = d.conv("first", x, 4, seed=5)
    model = compiled(d.graph(first, d.conv("second", first, 4, seed=5)), PLAIN, OPTIONS["speed"], "k")
    contents = [(a.dtype, a.tobytes()) for a in model.constants.arrays.values()]
    assert len(set(contents)) == len(contents)
    weights = [name for name in model.constants.arrays if name.endswith("_w")]
    assert len(weights) == 1
    assert model.constants.bytes == sum(a.nbytes for a in model.constants.arrays.values())


def test_every_constant_is_in_the_weights_file_with_its_values():
    model = compiled(GRAPHS["classifier"](), PLAIN, OPTIONS["speed"], "k")
    text = model.sources["k_weights.c"]
    for name, array in model.constants.arrays.items():
        found = re.search(rf"\b{name}\[{array.size}\] = {{([^}}]*)}}", text)
        assert found is not None
        assert np.array_equal([int(v) for v in found[1].replace(",", " ").split()], array.reshape(-1))


@pytest.mark.parametrize(
    ("order", "parts"),
    [
        ((), []),
        ((0,), [(0,)]),
        ((0, 0, 1, 1), [(0, 0), (1, 1)]),
        ((0, 1, 0, 1), [(0, 1, 0, 1)]),
        ((0, 0, 1, 2, 1, 3), [(0, 0), (1, 2, 1), (3,)]),
        ((0, 1, 2, 0, 3), [(0, 1, 2, 0), (3,)]),
    ],
)
def test_the_order_is_cut_where_all_that_began_has_ended(order, parts):
    assert ordered_parts(order) == parts


@given(st.lists(st.integers(0, 5), max_size=20))
def test_parts_are_the_order_again_and_share_no_layer(order):
    parts = ordered_parts(order)
    assert [stage for part in parts for stage in part] == order
    assert sum(len(set(part)) for part in parts) == len(set(order))


def small_after_large(outputs: int) -> Graph:
    """A classifier: nearly all multiplications are in its convolution."""
    d = Draft()
    x = d.conv("c", d.input("x", 1, 24, 24, 8), 24, activation=Activation.RELU)
    x = d.reshape("r", d.pool("p", x, AveragePool2d((24, 24), (24, 24))), 1, 24)
    return d.graph(d.softmax("y", d.dense("f", x, outputs)))


@pytest.mark.parametrize(("outputs", "kernel"), [(20, "plain"), (24, "smlad")])
def test_a_layer_that_hardly_counts_has_short_code(outputs, kernel):
    """995,328 multiplications in a convolution: at most 498 more are computed by plain loops."""
    model = compiled(small_after_large(outputs), DSP, OPTIONS["speed"], "k")
    (dense,) = (layer for layer in model.layers if layer.op == "dense")
    assert dense.kernel == kernel
    reason = "smlad: the layer multiplies only 480 times in a run, too little for more code"
    assert (reason in dense.passed_over) == (kernel == "plain")
