"""Weights of four bits are unpacked, batches are taken apart, 16-bit inputs choose their rounding."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tflite
from litert_oracle import run_litert
from tflite_builder import ModelBuilder

from aot.errors import ModelError
from aot.frontend.tflite.read import read_tflite
from aot.frontend.tflite.write_file import FileTensor
from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ir.types import DType
from aot.ir.verify import verify
from aot.ops.dense import Dense
from aot.ops.rounding import RequantRounding


def read(data: bytes) -> Graph:
    graph = read_tflite(data, "net.tflite")
    verify(graph)
    return graph


def four_bits(data: list[int], elements: int) -> bytes:
    """A model whose constant claims to hold packed elements; the bytes are as given."""
    build = ModelBuilder()
    x = build.input("x", (1, elements))
    w = FileTensor("w", (1, elements), "int4", (0.1,), (0,), 0, np.array(data, np.uint8))
    build.tensors["w"] = w
    y = FileTensor("y", (1, 1), "int8", (0.5,), (0,))
    return build.finish(build.operator("FULLY_CONNECTED", 4, (x, "w", None), [y], "FullyConnectedOptions"))


def test_four_bits_are_unpacked_the_low_half_first() -> None:
    graph = read(four_bits([0xF1, 0x87, 0x0E], 5))
    (w,) = graph.constants.values()
    assert (w.dtype, w.tolist()) == (np.int8, [[1, -1, 7, -8, -2]])  # type: ignore[comparison-overlap]


def test_too_few_bytes_of_four_bit_values_are_reported() -> None:
    with pytest.raises(ModelError) as caught:
        read(four_bits([0xF1, 0x87], 5))
    assert caught.value.what == "its buffer has 2 bytes, 5 values of 4 bits need 3"


def test_four_bit_activations_are_refused() -> None:
    build = ModelBuilder()
    x = build.input("x", (1, 4), dtype="int4")
    y = FileTensor("y", (1, 4), "int4", (0.5,), (0,))
    with pytest.raises(ModelError) as caught:
        read(build.finish(build.operator("RELU", 1, (x,), [y])))
    assert caught.value.what == "4-bit values are supported for constants only"


@pytest.mark.parametrize(
    ("bias", "rounding"), [("int32", RequantRounding.DOUBLE), ("int64", RequantRounding.REDUCED)]
)
def test_the_bias_of_16_bit_inputs_says_how_wide_sums_are(bias: str, rounding: RequantRounding) -> None:
    build = ModelBuilder()
    x = build.input("x", (1, 4), dtype="int16")
    w = build.constant("w", np.ones((2, 4), np.int8), [0.1])
    b = build.constant("b", np.ones(2, np.dtype(bias)))
    y = FileTensor("y", (1, 2), "int16", (0.5,), (0,))
    build.operator("FULLY_CONNECTED", 4, (x, w, b), [y], "FullyConnectedOptions")
    (node,) = read(build.finish("y")).nodes
    assert node.op == Dense(rounding=rounding)


def test_a_batch_of_images_is_taken_one_by_one() -> None:
    rng = np.random.default_rng(4)
    x = rng.integers(-128, 128, (3, 5, 5, 2)).astype(np.int8)
    w = rng.integers(-128, 128, (4, 3, 3, 2)).astype(np.int8)

    def model(images: int) -> Graph:
        build = ModelBuilder()
        source = build.input("x", (images, 5, 5, 2), scale=0.1)
        weights = build.constant("w", w, [0.01])
        y = FileTensor("y", (images, 5, 5, 4), "int8", (0.2,), (3,))
        fields = {"Padding": tflite.Padding.SAME, "StrideH": 1, "StrideW": 1}
        fields |= {"DilationHFactor": 1, "DilationWFactor": 1}
        build.operator("CONV_2D", 3, (source, weights, None), [y], "Conv2DOptions", **fields)
        return read(build.finish("y"))

    alone = np.concatenate([run_graph(model(1), {"x": image[np.newaxis]})["y"] for image in x])
    assert np.array_equal(run_graph(model(3), {"x": x})["y"], alone)


def test_no_value_of_four_bits_is_left() -> None:
    assert {t.dtype for t in read(four_bits([0x11], 2)).types.values()} == {DType.I8}


def with_half_weights() -> bytes:
    """A dense layer as converters write it for weights of 16 bits: each constant is dequantised first."""
    chance, build = np.random.default_rng(3), ModelBuilder()
    x = build.input("x", (1, 6), dtype="float32")
    w = build.constant("w", chance.normal(0, 1, (3, 6)).astype(np.float16))
    b = build.constant("b", chance.normal(0, 1, 3).astype(np.float16))
    wide = [FileTensor(f"{name}32", shape, "float32") for name, shape in (("w", (3, 6)), ("b", (3,)))]
    w32 = build.operator("DEQUANTIZE", 1, (w,), [wide[0]])
    b32 = build.operator("DEQUANTIZE", 1, (b,), [wide[1]])
    y = FileTensor("y", (1, 3), "float32")
    return build.finish(build.operator("FULLY_CONNECTED", 4, (x, w32, b32), [y], "FullyConnectedOptions"))


def test_weights_of_16_bits_become_the_values_that_they_stand_for() -> None:
    graph = read(with_half_weights())
    (node,) = graph.nodes
    weights = graph.constants[node.inputs[1] or ""]
    wanted = np.random.default_rng(3).normal(0, 1, (3, 6)).astype(np.float16)
    assert (node.op.name, weights.dtype, weights.tolist()) == ("dense", np.float32, wanted.tolist())  # type: ignore[comparison-overlap]


def test_weights_of_16_bits_give_what_litert_gives(require_package: Callable[..., None]) -> None:
    require_package("ai_edge_litert")
    data, x = with_half_weights(), np.linspace(-2, 2, 6, dtype=np.float32).reshape(1, 6)
    (wanted,) = run_litert(data, x[None])
    (made,) = run_graph(read(data), {"x": x}).values()
    np.testing.assert_allclose(made, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())  # type: ignore[arg-type]


def test_too_few_bytes_of_16_bit_numbers_are_reported() -> None:
    build = ModelBuilder()
    x = build.input("x", (1, 2), dtype="float32")
    build.tensors["w"] = FileTensor("w", (1, 2), "float16", data=np.zeros(3, np.int8))
    wide = build.operator("DEQUANTIZE", 1, ("w",), [FileTensor("w32", (1, 2), "float32")])
    y = build.operator("ADD", 2, (x, wide), [FileTensor("y", (1, 2), "float32")], "AddOptions")
    with pytest.raises(ModelError) as caught:
        read(build.finish(y))
    assert caught.value.what == "its buffer 1 has 3 bytes, shape [1, 2] of f16 needs 4"


def test_activations_of_16_bit_floats_are_refused() -> None:
    build = ModelBuilder()
    x = build.input("x", (1, 4), dtype="float16")
    y = FileTensor("y", (1, 4), "float16")
    with pytest.raises(ModelError) as caught:
        read(build.finish(build.operator("RELU", 1, (x,), [y])))
    assert caught.value.what == "16-bit floats are supported for constants only"
    assert caught.value.hint == "convert with float32 activations"


def test_quantised_weights_that_are_dequantised_are_constants_too() -> None:
    build = ModelBuilder()
    x = build.input("x", (1, 3), dtype="float32")
    w = build.constant("w", np.array([[1, -2, 3]], np.int8), [0.5])
    wide = build.operator("DEQUANTIZE", 1, (w,), [FileTensor("w32", (1, 3), "float32")])
    y = FileTensor("y", (1, 1), "float32")
    graph = read(
        build.finish(build.operator("FULLY_CONNECTED", 4, (x, wide, None), [y], "FullyConnectedOptions"))
    )
    (node,) = graph.nodes
    assert graph.constants[node.inputs[1] or ""].tolist() == [[0.5, -1.0, 1.5]]
