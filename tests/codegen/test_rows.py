"""Rows in memory: formats that readers request, bytes of a row, margins, and rows that a kernel reads."""

import zlib
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from graphs import Draft
from model_checks import DSP, OPTIONS, PLAIN, compiled
from op_case import float32, int8

from aot.errors import FitError
from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ir.types import DType, TensorType
from aot.ops.max_pool2d import MaxPool2d
from aot.target import Target
from artifact.row_packing import pack_rows, rows_crc32
from codegen.compile import CompiledModel
from codegen.formats import (
    ElementOrder,
    Geometry,
    RowFormat,
    RowRequest,
    dense_format,
    geometry,
    merge_requests,
    requested_format,
    satisfies,
)
from codegen.kernels.kernel import RowAccess
from codegen.lower.tensors import ending_at_words
from codegen.model import LayerInfo
from platforms.poisoned import Poisoned
from platforms.shared_library import HostModel, build

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
def test_a_tensor_is_rows_of_pixels_of_channels(shape, expected):
    assert geometry(int8(*shape)) == expected


def test_a_dense_format_has_no_gap():
    dense = dense_format(IMAGE)
    assert (dense.c_step, dense.x_step, dense.row_elements) == (1, IMAGE.shape[-1], 18)
    assert (dense.left, dense.top, dense.bottom, dense.row_bytes) == (0, 0, 0, 18)


@pytest.mark.parametrize(
    "asked", [PADDED, replace(PADDED, order=ElementOrder.PLANES, slack=1), RowRequest(dtype_bytes=2)]
)
def test_a_request_is_satisfied_by_its_format(asked):
    assert satisfies(requested_format(IMAGE, asked), asked, IMAGE)


def test_rows_begin_at_multiples_of_four_bytes():
    assert [requested_format(IMAGE, RowRequest(slack=n)).row_bytes for n in range(4)] == [20, 20, 20, 24]


def test_rows_of_narrow_elements_end_at_words_where_they_are_read_by_fours():
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
def test_rows_serve_another_reader(made_for, asked, will_do):
    assert satisfies(requested_format(IMAGE, made_for), asked, IMAGE) is will_do


def test_wants_of_one_order_join_to_the_larger_margins():
    joined = merge_requests([RowRequest(left=1, bottom=2), RowRequest(left=2, top=1), RowRequest(slack=3)])
    assert joined == RowRequest(left=2, top=1, bottom=2, slack=3)


@pytest.mark.parametrize(
    "other", [RowRequest(ElementOrder.PLANES), RowRequest(dtype_bytes=2), RowRequest(fill=0)]
)
def test_wants_that_differ_in_kind_do_not_join(other):
    assert merge_requests([RowRequest(), other]) is None


def test_an_unquantised_tensor_has_margins_of_zero():
    assert requested_format(TensorType(DType.F32, (1, 2, 2, 1)), RowRequest(left=1, dtype_bytes=4)).fill == 0


VALUE = np.arange(1, 9, dtype=np.int8).reshape(1, 2, 2, 2)  # two rows of two pixels of two channels
DENSE = RowFormat(
    dtype_bytes=1, width=2, channels=2, x_step=2, c_step=1, left=0, row_elements=4, top=0, bottom=0, fill=0
)
PLANES = RowFormat(
    dtype_bytes=1, width=2, channels=2, x_step=1, c_step=4, left=1, row_elements=8, top=1, bottom=1, fill=-1
)
WIDE = RowFormat(
    dtype_bytes=2, width=2, channels=2, x_step=2, c_step=1, left=1, row_elements=7, top=0, bottom=0, fill=-128
)
CASES = {
    "dense": (DENSE, np.int8, [1, 2, 3, 4, 5, 6, 7, 8]),
    "planes": (PLANES, np.int8, [-1, 1, 3, -1, -1, 2, 4, -1, -1, 5, 7, -1, -1, 6, 8, -1]),
    "wide": (WIDE, np.int16, [-128, -128, 1, 2, 3, 4, -128, -128, -128, 5, 6, 7, 8, -128]),
}


def layer(fmt: RowFormat) -> LayerInfo:
    return LayerInfo(
        index=0,
        name="c",
        op="conv2d",
        origin="",
        shapes="",
        kernel="",
        why="",
        macs=0,
        weight_bytes=0,
        output="y",
        value="y",
        format=fmt,
        rows=2,
    )


@pytest.mark.parametrize(("fmt", "dtype", "elements"), CASES.values(), ids=CASES)
def test_pixels_lie_where_the_format_says(fmt, dtype, elements):
    packed = np.frombuffer(pack_rows(VALUE, fmt, 2), dtype)
    assert packed.tolist() == elements


def test_floats_keep_their_bits():
    fmt = RowFormat(
        dtype_bytes=4,
        width=1,
        channels=2,
        x_step=2,
        c_step=1,
        left=0,
        row_elements=2,
        top=0,
        bottom=0,
        fill=0,
    )
    value = np.array([[1.5, -0.0]], np.float32)
    assert pack_rows(value, fmt, 1) == value.tobytes()


def test_the_checksum_is_of_all_rows_in_order():
    expected = zlib.crc32(bytes(range(1, 9)))
    assert rows_crc32([VALUE], layer(DENSE)) == expected


def narrow() -> Graph:
    """Rows of five pixels of many channels, as keyword spotting has them."""
    d = Draft()
    x = d.input("x", 1, 12, 5, 4)
    for block in "abc":
        x = d.depthwise(f"{block}1", d.conv(f"{block}0", x, 32, size=1))
    return d.graph(d.conv("y", x, 4))


def two_fills() -> Graph:
    """What lies beyond an image is its zero point for one reader and the least value for the other."""
    d = Draft()
    x = d.conv("x0", d.input("x", 1, 9, 6, 8), 8, size=1)
    pooled = d.node(
        "pooled", MaxPool2d((3, 3), (1, 1), ((1, 1), (1, 1))), x, quant=int8(scale=0.04, zero_point=-9)
    )
    return d.graph(d.add("y", d.conv("c", x, 8), pooled))


NARROW = narrow()  # one graph for all: its plans within budgets are searched once for a target


@cache
def model(options: str, target: Target = DSP, **limits: object) -> CompiledModel:
    return compiled(NARROW, target, replace(OPTIONS[options], **limits), "narrow")  # type: ignore[arg-type]


def is_bare(made: CompiledModel) -> bool:
    return not any(layer.format.left for layer in made.layers)


@pytest.mark.slow
@pytest.mark.parametrize("target", [PLAIN, DSP], ids=lambda target: target.core)
def test_no_row_of_zero_points_is_in_memory_where_memory_is_the_goal(target):
    assert not any(layer.format.top or layer.format.bottom for layer in model("ram", target).layers)


@pytest.mark.slow
def test_narrow_rows_lose_their_padding_where_memory_is_the_goal():
    ram, speed = model("ram"), model("speed")
    assert is_bare(ram)
    assert not is_bare(speed)
    rows = sum(3 * layer.format.channels for layer in speed.layers if layer.format.left)
    assert ram.plan.arena_bytes < speed.plan.arena_bytes - rows


@pytest.mark.slow
def test_a_budget_that_rows_with_margins_do_not_meet_is_met_without():
    least = model("ram").plan.arena_bytes
    assert model("speed", ram=least).plan.arena_bytes <= least
    assert not is_bare(model("speed", ram=2 * least))
    with pytest.raises(FitError, match=r"\d+ bytes"):
        model("speed", ram=least // 2)


@pytest.mark.slow
def test_the_weights_of_an_edge_are_those_of_the_whole_window():
    """The layers between them store weights with the numbers of their scales."""
    kept = ("narrow_a0_w", "narrow_y_w")
    ram, speed = (sum(model(o).constants.arrays[name].nbytes for name in kept) for o in ("ram", "speed"))
    assert ram == speed


def test_where_constants_have_pointers_of_their_own_rows_beyond_are_in_memory():
    avr = Target("avr", constant_space="__flash")
    assert not any("row_of_" in name for name in model("ram", avr).constants.arrays)


@pytest.mark.cc
@pytest.mark.parametrize("graph", [narrow, two_fills], ids=lambda graph: graph.__name__)
def test_garbage_in_free_memory_changes_nothing(graph, tmp_path):
    made = compiled(graph(), PLAIN, OPTIONS["ram"], "m")
    assert any("row_of_" in name for name in made.constants.arrays)
    assert same(made, graph(), Poisoned(made, tmp_path))


@pytest.mark.cc
def test_a_streamed_input_is_read_without_margins(tmp_path):
    made = compiled(narrow(), PLAIN, replace(OPTIONS["ram"], stream=True), "m")
    assert any("row_of_" in name for name in made.constants.arrays)
    assert same(made, narrow(), build(made.sources, tmp_path))


def same(made: CompiledModel, graph: Graph, host: Poisoned | HostModel) -> bool:
    x = np.random.default_rng(3).integers(-128, 128, made.inputs[0].type.shape, np.int8)
    return np.array_equal(host.run({"x": x})["y"], run_graph(graph, {"x": x})["y"])


def test_a_ring_of_its_own_memory_is_filled_once_and_another_row_by_row():
    """Rows overwrite their pixels only, so padding stays where nobody else writes it."""
    text = model("speed").sources["narrow.c"]
    assert text.count("{ /* above the image and around all rows */") >= 3
    for fill in text.split("{ /* above the image and around all rows */")[1:]:
        assert fill.split("}")[0].count("fill_") == 1
    assert "first use of this memory" not in text


def extent_of(access: RowAccess, y: int, begin: int, stop: int) -> tuple[int, int] | None:
    inside = [row for row in access.rows(y) if begin <= row < stop]
    return (min(inside), max(inside)) if inside else None


def test_the_extent_is_that_of_the_rows():
    strides, firsts, counts, steps = (0, 1, 2), (-5, -1, 0, 3), (1, 2, 5), (1, 2, 3)
    accesses = [RowAccess(*numbers) for numbers in product(strides, firsts, counts, steps)]
    for access, y, (begin, stop) in product(accesses, (0, 1, 4), ((0, 1), (0, 6), (2, 5), (9, 9))):
        wanted = extent_of(access, y, begin, stop)
        assert access.extent_inside(y, begin, stop) == wanted, (access, y, begin, stop)


def test_the_extent_of_given_rows_is_theirs():
    access = RowAccess(0, 0, 2, given=((0, 1), (3, 1), (7, 8)))
    assert [access.extent_inside(y, 1, 8) for y in range(3)] == [(1, 1), (1, 3), (7, 7)]
    assert access.extent_inside(2, 0, 7) is None
