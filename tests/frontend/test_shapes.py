"""Shapes that files compute, declare wrongly, shrink or leave to the run: worked out, or refused."""

from collections.abc import Sequence

import numpy as np
import pytest
import tflite
from error_facts import refused
from litert_oracle import random_inputs, run_litert, run_litert_once
from tflite_builder import ModelBuilder

from aot.errors import ModelError
from aot.frontend.load import parse_model
from aot.frontend.tflite.read import read_tflite
from aot.frontend.tflite.write_file import FileTensor
from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ir.verify import verify


def read(model: ModelBuilder, *outputs: str) -> Graph:
    graph = read_tflite(model.finish(*outputs), "net.tflite", "tflm")
    verify(graph)
    return graph


def flattened() -> Graph:
    """What Keras makes of a Reshape layer where the batch is open: [SHAPE(x)[0], 12]."""
    model = ModelBuilder()
    x = model.input("x", (1, 2, 2, 3), 0.5, 3)
    whole = model.operator("SHAPE", 1, (x,), [FileTensor("whole", (4,), "int32")])
    ends = [
        model.constant(name, np.array([n], np.int32)) for name, n in (("begin", 0), ("end", 1), ("step", 1))
    ]
    batch = model.operator(
        "STRIDED_SLICE",
        1,
        (whole, *ends),
        [FileTensor("batch", (), "int32")],
        "StridedSliceOptions",
        ShrinkAxisMask=1,
    )
    size = model.constant("size", np.array(12, np.int32))
    shape = model.operator(
        "PACK", 1, (batch, size), [FileTensor("shape", (2,), "int32")], "PackOptions", ValuesCount=2
    )
    y = model.operator("RESHAPE", 1, (x, shape), [FileTensor("y", (1, 12), "int8", (0.5,), (3,))])
    return read(model, y)


def test_a_shape_made_by_operators_is_as_good_as_a_constant():
    assert [(node.op.name, node.outputs) for node in flattened().nodes] == [("reshape", ("y",))]


def test_an_output_delivered_twice_has_two_names():
    model = ModelBuilder()
    x = model.input("x", (1, 4), 0.5, 3)
    y = model.operator("RELU", 1, (x,), [FileTensor("y", (1, 4), "int8", (0.5,), (3,))])
    assert read(model, y, y).outputs == ("y", "y#2")


QUANT = ((0.5,), (3,))
STALE = (1, 6, 6, 2)


def dilated(layer: str, dtype: str = "int8", crop: int = 0) -> bytes:
    """Blocks of a padded image, a layer on them, and back; all that is made is declared as the input is."""
    build = ModelBuilder()
    x = build.input("x", (1, 6, 6, 2), 0.5, 3, dtype)
    blocks = build.constant("blocks", np.array([2, 2], np.int32))
    pads = build.constant("pads", np.array([[1, 1], [2, 2]], np.int32))
    crops = build.constant("crops", np.array([[0, 1], [crop, 0]], np.int32))
    apart = [FileTensor("apart", STALE, dtype, *QUANT)]
    y = build.operator("SPACE_TO_BATCH_ND", 2, (x, blocks, pads), apart)
    inner = [FileTensor("inner", STALE, dtype, *QUANT)]
    window = {"Padding": tflite.Padding.VALID, "StrideH": 1, "StrideW": 1}
    if layer == "CONV_2D":
        weights = np.random.default_rng(2).integers(-127, 128, (2, 2, 3, 2)).astype(np.int8)
        w = build.constant("w", weights, (0.01,) * 2)
        b = build.constant("b", np.array([40, -70], np.int32), (0.005,) * 2)
        y = build.operator(layer, 3, (y, w, b), inner, "Conv2DOptions", **window)
    elif layer == "MAX_POOL_2D":
        size = {"FilterHeight": 2, "FilterWidth": 2}
        y = build.operator(layer, 2, (y,), inner, "Pool2DOptions", **window, **size)
    elif layer == "RELU":
        y = build.operator(layer, 2, (y,), inner)
    elif layer == "L2_NORMALIZATION":
        made = [FileTensor("inner", STALE, dtype, (1 / 128,), (0,))]
        y = build.operator(layer, 2, (y,), made, "L2NormOptions")
    made = [FileTensor("y", STALE, dtype, *QUANT)]
    return build.finish(build.operator("BATCH_TO_SPACE_ND", 2, (y, blocks, crops), made))


@pytest.mark.parametrize(
    ("layer", "dtype"),
    [("", "int8"), ("", "uint8"), ("RELU", "int8"), ("MAX_POOL_2D", "int8"), ("CONV_2D", "int8")],
)
def test_results_are_those_of_litert(layer, dtype):
    data = dilated(layer, dtype)
    graph = read_tflite(data, "net.tflite", "litert-ref")
    verify(graph)
    inputs = random_inputs(data, 3, seed=4).astype(dtype)
    for x, wanted in zip(inputs, run_litert(data, inputs), strict=True):
        (made,) = run_graph(graph, {"x": x}).values()
        assert made.shape == wanted.shape != STALE
        assert made.tolist() == wanted.tolist()


def test_behind_another_operator_it_is_reported():
    with pytest.raises(ModelError, match="L2_NORMALIZATION"):
        read_tflite(dilated("L2_NORMALIZATION"), "net.tflite")


def boxes(sizes: tuple[int, ...]) -> bytes:
    """Two images become lists of boxes, whose number the converter did not know: it declares 1."""
    build = ModelBuilder()
    unknown = (1, 1, 2)
    lists = []
    for name, size in (("near", 4), ("far", 2)):
        x = build.input(name, (1, size, size, 6), dtype="float32")
        shape = build.operator(
            "SHAPE",
            1,
            (x,),
            [FileTensor(f"{name}_shape", (4,), "int32")],
            "ShapeOptions",
            OutType=tflite.TensorType.INT32,
        )
        bounds = [build.constant(f"{name}_{at}", np.array([at], np.int32)) for at in (0, 1)]
        one = build.constant(f"{name}_step", np.array([1], np.int32))
        batch = build.operator(
            "STRIDED_SLICE", 1, (shape, *bounds, one), [FileTensor(f"{name}_batch", (), "int32")],
            "StridedSliceOptions", ShrinkAxisMask=1,
        )  # fmt: skip
        rest = [build.constant(f"{name}_size{k}", np.array(n, np.int32)) for k, n in enumerate(sizes)]
        packed = [FileTensor(f"{name}_sizes", (3,), "int32")]
        new = build.operator("PACK", 1, (batch, *rest), packed, "PackOptions", ValuesCount=3, Axis=0)
        lists.append(build.operator("RESHAPE", 1, (x, new), [FileTensor(f"{name}_list", unknown, "float32")]))
    joined = [FileTensor("all", unknown, "float32")]
    y = build.operator("CONCATENATION", 1, lists, joined, "ConcatenationOptions", Axis=1)
    y = build.operator(
        "SOFTMAX", 1, (y,), [FileTensor("scores", unknown, "float32")], "SoftmaxOptions", Beta=1.0
    )
    order = build.constant("order", np.array([0, 2, 1], np.int32))
    return build.finish(build.operator("TRANSPOSE", 1, (y, order), [FileTensor("y", (1, 2, 1), "float32")]))


@pytest.mark.parametrize("sizes", [(-1, 2), (-1, 6)])
def test_lists_of_boxes_are_as_long_as_litert_makes_them(sizes):
    data, rng = boxes(sizes), np.random.default_rng(3)
    graph = read_tflite(data, "net.tflite", "litert-ref")
    verify(graph)
    arrays = {name: rng.standard_normal(graph.types[name].shape).astype(np.float32) for name in graph.inputs}
    wanted = run_litert_once(data, *arrays.values())
    (made,) = run_graph(graph, arrays).values()
    assert made.shape == wanted.shape == (1, sizes[1], 120 // sizes[1])
    np.testing.assert_allclose(made, wanted, rtol=0, atol=1e-6)  # type: ignore[arg-type]


def test_a_shape_that_does_not_hold_the_elements_is_reported():
    with pytest.raises(ModelError, match="the number of elements must stay the same"):
        read_tflite(boxes((-1, 5)), "net.tflite")


def test_crops_that_leave_nothing_are_reported():
    with pytest.raises(ModelError) as caught:
        read_tflite(dilated("", crop=10), "net.tflite")
    assert caught.value.what == "crops [0, 1, 10, 0] do not fit [1, 8, 10, 2]"


@pytest.mark.parametrize("number", [1, 2])
def test_bounds_that_are_not_integers_are_reported(number):
    build = ModelBuilder()
    x = build.input("x", (4,), dtype="float32")
    bounds = [np.array([0], np.int32), np.array([2], np.int32)]
    bounds[number - 1] = np.array([np.nan], np.float32)
    reads = (x, *(build.constant(f"bound{n}", each) for n, each in enumerate(bounds)))
    made = [FileTensor("y", (2,), "float32")]
    with pytest.raises(ModelError, match="must be integers, not f32"):
        read_tflite(build.finish(build.operator("SLICE", 1, reads, made)), "net.tflite")


def test_blocks_that_are_not_integers_are_reported():
    build = ModelBuilder()
    x = build.input("x", (1, 4, 4, 1), dtype="float32")
    blocks = build.constant("blocks", np.array([np.nan, 2], np.float32))
    pads = build.constant("pads", np.zeros((2, 2), np.int32))
    made = [FileTensor("y", (4, 2, 2, 1), "float32")]
    data = build.finish(build.operator("SPACE_TO_BATCH_ND", 1, (x, blocks, pads), made))
    with pytest.raises(ModelError, match="must be integers, not f32"):
        read_tflite(data, "net.tflite")


ARRAY = np.arange(12, dtype=np.int8).reshape(4, 3)


def shrunk(begin: int, step: int = 1, begin_mask: int = 0) -> bytes:
    build = ModelBuilder()
    x = build.input("x", ARRAY.shape)
    bounds = [
        build.constant(name, np.array(v, np.int32))
        for name, v in (("b", [begin, 0]), ("e", [begin + 1, 3]), ("s", [step, 1]))
    ]
    out = FileTensor("y", (3,), "int8", (0.05,), (0,))
    masks = {"BeginMask": begin_mask, "ShrinkAxisMask": 1}
    return build.finish(
        build.operator("STRIDED_SLICE", 2, (x, *bounds), [out], "StridedSliceOptions", **masks)
    )


@pytest.mark.parametrize(
    ("begin", "begin_mask", "place"), [(2, 0, 2), (2, 1, 0), (-1, 0, 3), (-1, 1, 0), (9, 1, 0)]
)
def test_it_is_where_the_slice_begins_or_the_first_of_an_open_one(begin, begin_mask, place):
    data = shrunk(begin, begin_mask=begin_mask)
    made = next(iter(run_graph(parse_model(data, "model.tflite", "tflm"), {"x": ARRAY}).values()))
    np.testing.assert_array_equal(made, ARRAY[place])
    np.testing.assert_array_equal(made, run_litert_once(data, ARRAY, kernels="AUTO"))


@pytest.mark.parametrize(("begin", "step"), [(4, 1), (-5, 1), (2, -1)])
def test_an_element_that_is_not_there_is_refused(begin, step):
    refused(
        lambda: parse_model(shrunk(begin, step), "model.tflite", "tflm"),
        f'4 {begin} {step} dimension shrunk element STRIDED_SLICE #0 "y" model.tflite looks corrupted',
        ModelError,
    )


DATA = np.array([0, 3, 0, 1, 3], np.int32)
OUTPUTS = {
    "WHERE": [FileTensor("places", (3, 1), "int64")],
    "UNIQUE": [FileTensor("kinds", (3,), "int32"), FileTensor("numbers", (5,), "int32")],
}
WANTED = {"WHERE": [[1], [3], [4]], "UNIQUE": [0, 3, 1]}


def model(code: str, outputs: Sequence[FileTensor], is_known: bool = True) -> bytes:
    """The first result of the operator, added to an input."""
    build = ModelBuilder(code)
    data = build.constant("data", DATA) if is_known else build.input("data", DATA.shape, dtype="int32")
    build.operator(code, 1, (data,), outputs, f"{code.title()}Options")
    first = outputs[0]
    build.tensors["x"] = FileTensor("x", first.shape, first.dtype)
    build.inputs.append("x")
    return build.finish(
        build.operator("MAXIMUM", 1, (first.name, "x"), [FileTensor("y", first.shape, first.dtype)])
    )


@pytest.mark.parametrize("code", OUTPUTS)
def test_results_of_known_data_are_constants(code):
    graph = parse_model(model(code, OUTPUTS[code]), "known.tflite", "tflm")
    zeros = np.zeros(OUTPUTS[code][0].shape, OUTPUTS[code][0].dtype)
    assert run_graph(graph, {"x": zeros})[graph.outputs[0]].tolist() == WANTED[code]


@pytest.mark.parametrize("code", OUTPUTS)
def test_results_of_a_size_that_the_input_decides_are_refused(code):
    with pytest.raises(ModelError, match="the size of its result, and it depends on the input") as caught:
        parse_model(model(code, OUTPUTS[code], is_known=False), "open.tflite", "tflm")
    assert code in caught.value.where
    assert caught.value.hint


def test_a_declared_size_that_is_not_that_of_the_data_is_refused():
    with pytest.raises(ModelError, match=r"makes shape \[3, 1\], the file declares \[1, 1\]"):
        parse_model(model("WHERE", [FileTensor("places", (1, 1), "int64")]), "declared.tflite", "tflm")


def test_updates_that_may_have_the_same_place_are_limited():
    build = ModelBuilder("scatter")
    for name, shape, dtype in (("places", (70, 1), "int32"), ("updates", (70,), "float32")):
        build.tensors[name] = FileTensor(name, shape, dtype)
        build.inputs.append(name)
    sizes = build.constant("sizes", np.array([8], np.int32))
    result = FileTensor("y", (8,), "float32")
    data = build.finish(
        build.operator("SCATTER_ND", 1, ("places", "updates", sizes), [result], "ScatterNdOptions")
    )
    with pytest.raises(
        ModelError, match="70 parts that may have the same place are not supported, at most 64"
    ):
        parse_model(data, "scatter.tflite", "tflm")
