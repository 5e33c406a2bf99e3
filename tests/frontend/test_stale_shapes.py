"""Shapes round SPACE_TO_BATCH_ND that the file declares wrongly are computed, as LiteRT computes them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tflite
from litert_oracle import random_inputs, run_litert
from tflite_builder import ModelBuilder

from aot.errors import ModelError
from aot.frontend.tflite.read import read_tflite
from aot.frontend.tflite.write_file import FileTensor
from aot.interpret import run_graph
from aot.ir.verify import verify

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
def test_results_are_those_of_litert(layer: str, dtype: str, require_package: Callable[..., None]) -> None:
    require_package("ai_edge_litert")
    data = dilated(layer, dtype)
    graph = read_tflite(data, "net.tflite", "litert-ref")
    verify(graph)
    inputs = random_inputs(data, 3, seed=4).astype(dtype)
    for x, wanted in zip(inputs, run_litert(data, inputs), strict=True):
        (made,) = run_graph(graph, {"x": x}).values()
        assert made.shape == wanted.shape != STALE
        assert made.tolist() == wanted.tolist()


def test_behind_another_operator_it_is_reported() -> None:
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
def test_lists_of_boxes_are_as_long_as_litert_makes_them(
    sizes: tuple[int, ...], require_package: Callable[..., None]
) -> None:
    require_package("ai_edge_litert")
    # An optional package, imported only where a test asks for it.
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    data, rng = boxes(sizes), np.random.default_rng(3)
    graph = read_tflite(data, "net.tflite", "litert-ref")
    verify(graph)
    interpreter = Interpreter(model_content=data, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    arrays = {name: rng.standard_normal(graph.types[name].shape).astype(np.float32) for name in graph.inputs}
    for source, array in zip(interpreter.get_input_details(), arrays.values(), strict=True):
        interpreter.set_tensor(source["index"], array)
    interpreter.invoke()
    wanted = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    (made,) = run_graph(graph, arrays).values()
    assert made.shape == wanted.shape == (1, sizes[1], 120 // sizes[1])
    assert float(np.abs(made - wanted).max()) < 1e-6


def test_a_shape_that_does_not_hold_the_elements_is_reported() -> None:
    with pytest.raises(ModelError, match="the number of elements must stay the same"):
        read_tflite(boxes((-1, 5)), "net.tflite")


def test_crops_that_leave_nothing_are_reported() -> None:
    with pytest.raises(ModelError) as caught:
        read_tflite(dilated("", crop=10), "net.tflite")
    assert caught.value.what == "crops [0, 1, 10, 0] do not fit [1, 8, 10, 2]"


@pytest.mark.parametrize("number", [1, 2])
def test_bounds_that_are_not_integers_are_reported(number: int) -> None:
    build = ModelBuilder()
    x = build.input("x", (4,), dtype="float32")
    bounds = [np.array([0], np.int32), np.array([2], np.int32)]
    bounds[number - 1] = np.array([np.nan], np.float32)
    reads = (x, *(build.constant(f"bound{n}", each) for n, each in enumerate(bounds)))
    made = [FileTensor("y", (2,), "float32")]
    with pytest.raises(ModelError, match="must be integers, not f32"):
        read_tflite(build.finish(build.operator("SLICE", 1, reads, made)), "net.tflite")


def test_blocks_that_are_not_integers_are_reported() -> None:
    build = ModelBuilder()
    x = build.input("x", (1, 4, 4, 1), dtype="float32")
    blocks = build.constant("blocks", np.array([np.nan, 2], np.float32))
    pads = build.constant("pads", np.zeros((2, 2), np.int32))
    made = [FileTensor("y", (4, 2, 2, 1), "float32")]
    data = build.finish(build.operator("SPACE_TO_BATCH_ND", 1, (x, blocks, pads), made))
    with pytest.raises(ModelError, match="must be integers, not f32"):
        read_tflite(data, "net.tflite")
