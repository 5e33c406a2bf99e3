"""Weights of four bits, sparse, in another file or computed in the run are read as they are meant."""

import hashlib
from dataclasses import replace
from pathlib import Path

import flatbuffers
import numpy as np
import onnx
import pytest
import tflite
from error_facts import refused
from further_layers import DEPTH, ROWS, UNITS, computed_weights
from litert_oracle import run_litert
from onnx import helper, numpy_helper
from tflite_builder import ModelBuilder

from aot.errors import ModelError
from aot.frontend.load import load_model, read_model
from aot.frontend.tflite.read import read_tflite
from aot.frontend.tflite.tensors import Sparsity, WalkLevel
from aot.frontend.tflite.write_file import FileTensor
from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ir.types import Array, DType
from aot.ir.verify import verify
from aot.ops.dense import Dense
from aot.ops.rounding import RequantRounding
from aot.target import Target
from codegen.compile import compile_job
from codegen.job import read_job
from codegen.options import CompileOptions


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


def test_four_bits_are_unpacked_the_low_half_first():
    graph = read(four_bits([0xF1, 0x87, 0x0E], 5))
    (w,) = graph.constants.values()
    assert (w.dtype, w.tolist()) == (np.int8, [[1, -1, 7, -8, -2]])  # type: ignore[comparison-overlap]


def test_too_few_bytes_of_four_bit_values_are_reported():
    with pytest.raises(ModelError) as caught:
        read(four_bits([0xF1, 0x87], 5))
    assert caught.value.what == "its buffer has 2 bytes, 5 values of 4 bits need 3"


def test_four_bit_activations_are_refused():
    build = ModelBuilder()
    x = build.input("x", (1, 4), dtype="int4")
    y = FileTensor("y", (1, 4), "int4", (0.5,), (0,))
    with pytest.raises(ModelError) as caught:
        read(build.finish(build.operator("RELU", 1, (x,), [y])))
    assert caught.value.what == "4-bit values are supported for constants only"


@pytest.mark.parametrize(
    ("bias", "rounding"), [("int32", RequantRounding.DOUBLE), ("int64", RequantRounding.REDUCED)]
)
def test_the_bias_of_16_bit_inputs_says_how_wide_sums_are(bias, rounding):
    build = ModelBuilder()
    x = build.input("x", (1, 4), dtype="int16")
    w = build.constant("w", np.ones((2, 4), np.int8), [0.1])
    b = build.constant("b", np.ones(2, np.dtype(bias)))
    y = FileTensor("y", (1, 2), "int16", (0.5,), (0,))
    build.operator("FULLY_CONNECTED", 4, (x, w, b), [y], "FullyConnectedOptions")
    (node,) = read(build.finish("y")).nodes
    assert node.op == Dense(rounding=rounding)


def test_a_batch_of_images_is_taken_one_by_one():
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


def test_no_value_of_four_bits_is_left():
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


def test_weights_of_16_bits_become_the_values_that_they_stand_for():
    graph = read(with_half_weights())
    (node,) = graph.nodes
    weights = graph.constants[node.inputs[1] or ""]
    wanted = np.random.default_rng(3).normal(0, 1, (3, 6)).astype(np.float16)
    assert (node.op.name, weights.dtype, weights.tolist()) == ("dense", np.float32, wanted.tolist())  # type: ignore[comparison-overlap]


def test_weights_of_16_bits_give_what_litert_gives():
    data, x = with_half_weights(), np.linspace(-2, 2, 6, dtype=np.float32).reshape(1, 6)
    (wanted,) = run_litert(data, x[None])
    (made,) = run_graph(read(data), {"x": x}).values()
    np.testing.assert_allclose(made, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())  # type: ignore[arg-type]


def test_too_few_bytes_of_16_bit_numbers_are_reported():
    build = ModelBuilder()
    x = build.input("x", (1, 2), dtype="float32")
    build.tensors["w"] = FileTensor("w", (1, 2), "float16", data=np.zeros(3, np.int8))
    wide = build.operator("DEQUANTIZE", 1, ("w",), [FileTensor("w32", (1, 2), "float32")])
    y = build.operator("ADD", 2, (x, wide), [FileTensor("y", (1, 2), "float32")], "AddOptions")
    with pytest.raises(ModelError) as caught:
        read(build.finish(y))
    assert caught.value.what == "its buffer 1 has 3 bytes, shape [1, 2] of f16 needs 4"


def test_activations_of_16_bit_floats_are_refused():
    build = ModelBuilder()
    x = build.input("x", (1, 4), dtype="float16")
    y = FileTensor("y", (1, 4), "float16")
    with pytest.raises(ModelError) as caught:
        read(build.finish(build.operator("RELU", 1, (x,), [y])))
    assert caught.value.what == "16-bit floats are supported for constants only"
    assert caught.value.hint == "convert with float32 activations"


def dequantised_weights(code: str, shape: tuple[int, ...], zeros: list[int]) -> bytes:
    """A layer whose integer weights, with a scale for each of three channels, are dequantised first."""
    build, axis = ModelBuilder(), 3 if code == "DEPTHWISE_CONV_2D" else 0
    dense = code == "FULLY_CONNECTED"
    x = build.input("x", (1, 6) if dense else (1, 5, 4, 6 if axis == 0 else 3), dtype="float32")
    b = build.constant("b", np.array([0.5, -2, 1], np.float32))
    stored = np.random.default_rng(5).integers(-128, 128, shape).astype(np.int8)
    w = build.constant("w", stored, [0.5, 0.01, 0.125], axis, zeros)
    wide = build.operator("DEQUANTIZE", 1, (w,), [FileTensor("wide", shape, "float32")])
    y = FileTensor("y", (1, 3) if dense else (1, 5, 4, 3), "float32")
    if dense:
        return build.finish(build.operator(code, 4, (x, wide, b), [y], "FullyConnectedOptions"))
    fields = {"Padding": tflite.Padding.SAME, "StrideH": 1, "StrideW": 1}
    fields |= {"DilationHFactor": 1, "DilationWFactor": 1} | ({"DepthMultiplier": 1} if axis else {})
    kind = "DepthwiseConv2DOptions" if axis else "Conv2DOptions"
    return build.finish(build.operator(code, 3, (x, wide, b), [y], kind, **fields))


@pytest.mark.parametrize("rounding", ["tflm", "litert-ref"])
@pytest.mark.parametrize("zeros", [[0, 0, 0], [-60, 0, 17]])
@pytest.mark.parametrize(
    ("code", "shape"),
    [("FULLY_CONNECTED", (3, 6)), ("CONV_2D", (3, 3, 3, 6)), ("DEPTHWISE_CONV_2D", (1, 3, 3, 3))],
)
def test_weights_with_a_scale_for_each_channel_give_what_litert_gives(code, shape, zeros, rounding):
    data = dequantised_weights(code, shape, zeros)
    graph = read_tflite(data, "net.tflite", rounding)
    x = (3 + np.random.default_rng(6).normal(0, 2, graph.types["x"].shape)).astype(np.float32)
    (wanted,) = run_litert(data, x[None])
    (made,) = run_graph(graph, {"x": x}).values()
    np.testing.assert_allclose(made, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("scales", "shape", "dtype"),
    [((), (3, 6), "float32"), ((0.5,), (6, 3), "float32"), ((0.5,), (3, 6), "int8")],
)
def test_a_constant_that_cannot_be_dequantised_is_refused(scales, shape, dtype):
    build = ModelBuilder()
    x = build.input("x", (1, 6), dtype="float32")
    w = build.constant("w", np.ones((3, 6), np.int8), scales)
    wide = build.operator("DEQUANTIZE", 1, (w,), [FileTensor("wide", shape, dtype)])
    y = FileTensor("y", (1, 3), "float32")
    data = build.finish(build.operator("FULLY_CONNECTED", 9, (x, wide, None), [y], "FullyConnectedOptions"))
    refused(lambda: read(data), "[3, 6] scale DEQUANTIZE #0")


def test_a_dense_layer_keeps_weights_that_are_dequantised_as_integers():
    (node,) = (graph := read(dequantised_weights("FULLY_CONNECTED", (3, 6), [0, 0, 0]))).nodes
    assert graph.types[node.reads[1]].dtype is DType.I8


def with_weights_after_the_flatbuffer(first: int = 0) -> tuple[bytes, bytes]:
    """A dense layer, and the same with its weights after the flatbuffer, as in files beyond 2 GiB."""
    schema = pytest.importorskip("ai_edge_litert.schema_py_generated")
    build = ModelBuilder()
    x = build.input("x", (1, 600), dtype="float32")
    w = build.constant("w", np.arange(1800, dtype=np.float32).reshape(3, 600))
    y = FileTensor("y", (1, 3), "float32")
    plain = build.finish(build.operator("FULLY_CONNECTED", 9, (x, w, None), [y], "FullyConnectedOptions"))
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(plain, 0))
    (buffer,) = (b for b in model.buffers if b.data is not None and len(b.data) == 7200)
    weights, buffer.data, buffer.size = bytes(buffer.data), None, 7200
    for _ in range(2):  # the first time tells how long the flatbuffer is
        buffer.offset = first or 1 << 20
        packed = flatbuffers.Builder()
        packed.Finish(model.Pack(packed), b"TFL3")
        first = first or len(packed.Output())
    return plain, bytes(packed.Output()) + weights


def test_weights_after_the_flatbuffer_are_those_inside():
    plain, after = with_weights_after_the_flatbuffer()
    x = {"x": np.linspace(-2, 2, 600, dtype=np.float32).reshape(1, 600)}
    assert run_graph(read(after), x)["y"].tolist() == run_graph(read(plain), x)["y"].tolist()


def test_weights_beyond_the_end_of_the_file_are_refused():
    refused(lambda: read(with_weights_after_the_flatbuffer(first=100_000)[1]), "107,200 file")


def blocks(size: int | None = 32, zero_points: int = -1, scales: int = 6) -> bytes:
    """A dense layer whose weights of 4 bits have a scale for each block of `size` elements."""
    schema = pytest.importorskip("ai_edge_litert.schema_py_generated")
    build, chance = ModelBuilder(), np.random.default_rng(8)
    x = build.input("x", (1, 64), dtype="float32")
    build.constant("scales", chance.uniform(0.1, 2, (scales // 2, 2)).astype(np.float16))
    packed = np.array(chance.integers(0, 256, 96), np.uint8)
    build.tensors["w"] = FileTensor("w", (3, 64), "int4", (1.0,), (0,), 0, packed)
    y = FileTensor("y", (1, 3), "float32")
    plain = build.finish(build.operator("FULLY_CONNECTED", 9, (x, "w", None), [y], "FullyConnectedOptions"))
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(plain, 0))
    tensors = model.subgraphs[0].tensors
    names = [tensor.name for tensor in tensors]
    details = schema.BlockwiseQuantizationT()
    details.scales, details.zeroPoints, details.blockSize = names.index(b"scales"), zero_points, size or 0
    weights = tensors[names.index(b"w")].quantization = schema.QuantizationParametersT()
    weights.detailsType = schema.QuantizationDetails.BlockwiseQuantization
    weights.details = details if size is not None else None
    made = flatbuffers.Builder()
    made.Finish(model.Pack(made), b"TFL3")
    return bytes(made.Output())


def test_weights_with_a_scale_for_each_block_are_floats():
    graph = read(blocks())
    (node,) = graph.nodes
    chance = np.random.default_rng(8)
    scales = chance.uniform(0.1, 2, (3, 2)).astype(np.float16).astype(np.float32)
    packed = chance.integers(0, 256, 96)
    codes = np.stack([packed & 15, packed >> 4], axis=1).reshape(3, 2, 32)
    wanted = ((codes + 8) % 16 - 8) * scales[..., np.newaxis]
    assert graph.constants[node.reads[1]].tolist() == wanted.reshape(3, 64).tolist()


def test_weights_in_blocks_are_near_to_what_litert_makes_of_them():
    """Its fast kernels quantize the vector, its reference kernels return zeros."""
    x = np.linspace(-2, 3, 64, dtype=np.float32).reshape(1, 64)
    litert = pytest.importorskip("ai_edge_litert.interpreter")
    interpreter = litert.Interpreter(model_content=(data := blocks()))
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    wanted = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    graph = read(data)
    weights = graph.constants[graph.nodes[0].reads[1]]
    step = np.abs(x).max() / 127
    assert (np.abs(run_graph(graph, {"x": x})["y"] - wanted) < step / 2 * np.abs(weights).sum(axis=1)).all()
    assert np.abs(wanted).max() > 30


@pytest.mark.parametrize(
    ("given", "facts"),
    [
        ({"size": 5}, "6 scales blocks of 5 elements [3, 64]"),
        ({"size": 0}, "blocks of 0 elements"),
        ({"scales": 4}, "4 scales blocks of 32 elements"),
        ({"size": None}, "blocks of 0 elements"),
        ({"zero_points": 1}, "zero points not supported symmetrically"),
    ],
)
def test_blocks_that_do_not_fit_are_refused(given, facts):
    refused(lambda: read(blocks(**given)), facts)


WEIGHTS = np.random.default_rng(0).normal(size=(64, 8)).astype(np.float32)


def saved(path: Path, is_beside: bool) -> Path:
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    x, y = (helper.make_tensor_value_info(name, 1, (1, n)) for name, n in (("x", 64), ("y", 8)))
    graph = helper.make_graph([node], "net", [x], [y], [numpy_helper.from_array(WEIGHTS, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, path, save_as_external_data=is_beside, location=f"{path.name}.data", size_threshold=0)
    return path


@pytest.fixture
def beside(tmp_path):
    return saved(tmp_path / "net.onnx", True)


def test_they_are_the_constants_of_the_graph(beside):
    assert beside.stat().st_size < WEIGHTS.nbytes
    (made,) = (a for a in load_model(beside).constants.values() if a.size == WEIGHTS.size)
    assert sorted(made.ravel()) == sorted(WEIGHTS.ravel())  # type: ignore[type-var]


def test_the_model_is_known_by_them_too(beside):
    before = compile_job(read_job(beside, Target("host"), CompileOptions())).parts.model_hash
    assert before == hashlib.sha256(read_model(beside)).hexdigest()
    other = beside.parent / "net.onnx.data"
    other.write_bytes(other.read_bytes()[::-1])
    assert compile_job(read_job(beside, Target("host"), CompileOptions())).parts.model_hash != before


def test_a_file_without_them_is_read_as_it_is(tmp_path):
    path = saved(tmp_path / "net.onnx", False)
    assert read_model(path) == path.read_bytes()


def test_a_missing_file_is_named(beside):
    (beside.parent / "net.onnx.data").unlink()
    refused(
        lambda: load_model(beside),
        f"net.onnx.data model stores weights {beside} model's external_data=False PyTorch folder export",
        ModelError,
    )


def test_a_file_that_is_too_short_is_refused(beside):
    data = beside.parent / "net.onnx.data"
    data.write_bytes(data.read_bytes()[:100])
    with pytest.raises(ModelError):
        load_model(beside)


def test_a_file_outside_the_folder_is_not_read(beside):
    model = onnx.load(beside, load_external_data=False)
    data = beside.parent / "net.onnx.data"
    (beside.parent / "inner").mkdir()
    entry = next(e for e in model.graph.initializer[0].external_data if e.key == "location")
    entry.value = f"../{data.name}"
    inner = beside.parent / "inner" / "net.onnx"
    inner.write_bytes(model.SerializeToString())
    with pytest.raises(ModelError, match='the weights "w" cannot be read from'):
        load_model(inner)


WHOLE = np.array([[0, 0, 5, -3], [0, 0, 2, 1], [7, 0, 0, 0], [0, 4, 0, 0]])
BY_ROWS = Sparsity((0, 1), (), (WalkLevel(4), WalkLevel(0, (0, 2, 4, 5, 6), (2, 3, 2, 3, 0, 1))))
OF_ROWS = [5, -3, 2, 1, 7, 4]
# Blocks of 2 x 2: the first pair of rows has the second block, the second pair the first.
BLOCKS = Sparsity(
    (0, 1, 2, 3), (0, 1), (WalkLevel(2), WalkLevel(0, (0, 1, 2), (1, 0)), WalkLevel(2), WalkLevel(2))
)
OF_BLOCKS = [5, -3, 2, 1, 7, 0, 0, 4]
COLUMNS = Sparsity((1, 0), (), (WalkLevel(4), WalkLevel(0, (0, 1, 2, 4, 6), (2, 3, 0, 1, 0, 1))))
OF_COLUMNS = [7, 4, 5, 2, -3, 1]
CASES = {"rows": (BY_ROWS, OF_ROWS), "blocks": (BLOCKS, OF_BLOCKS), "columns": (COLUMNS, OF_COLUMNS)}


def densified(sparsity: Sparsity, stored: list[int], dtype: str = "float32") -> bytes:
    """A dense layer whose weights a file stores sparsely, as converters of pruned models write it."""
    build = ModelBuilder()
    x = build.input("x", (1, 4), dtype="float32")
    build.tensors["w"] = FileTensor("w", (4, 4), dtype, data=np.array(stored, dtype), sparsity=sparsity)
    w = build.operator("DENSIFY", 1, ("w",), [FileTensor("whole", (4, 4), dtype)], "DensifyOptions")
    if dtype == "float16":
        w = build.operator("DEQUANTIZE", 1, (w,), [FileTensor("wide", (4, 4), "float32")])
    y = FileTensor("y", (1, 4), "float32")
    return build.finish(build.operator("FULLY_CONNECTED", 4, (x, w, None), [y], "FullyConnectedOptions"))


def weights_of(data: bytes) -> Array:
    graph = read_tflite(data, "net.tflite")
    (node,) = graph.nodes
    return graph.constants[node.inputs[1] or ""]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("case", CASES)
def test_sparse_weights_are_constants(case, dtype):
    assert weights_of(densified(*CASES[case], dtype)).tolist() == WHOLE.tolist()


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("case", CASES)
def test_sparse_weights_give_what_litert_gives(case, dtype):
    data, x = densified(*CASES[case], dtype), np.array([[1, -2, 0.5, 3]], np.float32)
    (wanted,) = run_litert(data, x[None])
    (made,) = run_graph(read_tflite(data, "net.tflite"), {"x": x}).values()
    assert made.tolist() == wanted.tolist()


LEVELS = BY_ROWS.levels
WRONG = {
    "too few elements": (BY_ROWS, OF_ROWS[:5], "it stores 5 elements, its levels have 6"),
    "an index beyond": (
        replace(BY_ROWS, levels=(LEVELS[0], WalkLevel(0, (0, 2, 4, 5, 6), (2, 4, 2, 3, 0, 1)))),
        OF_ROWS,
        "an element is outside shape [4, 4]",
    ),
    "too few segments": (
        replace(BY_ROWS, levels=(LEVELS[0], WalkLevel(0, (0, 6), (2, 3, 2, 3, 0, 1)))),
        OF_ROWS,
        "1 segments of 6 indices do not fit 4 positions",
    ),
    "a level too many": (
        replace(BY_ROWS, levels=(*LEVELS, WalkLevel(2))),
        OF_ROWS,
        "3 levels do not fit 2 dimensions and 0 of blocks",
    ),
    "a block of a dimension that is none": (
        replace(BLOCKS, block_map=(0, 2)),
        OF_BLOCKS,
        "blocks of dimensions [0, 2] exceed rank 2",
    ),
    "endless dimensions": (
        replace(BY_ROWS, levels=(WalkLevel(2**30), LEVELS[1])),
        OF_ROWS,
        "a level has 1,073,741,824 positions, the tensor 16 elements",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_description_that_contradicts_itself_is_reported(name):
    sparsity, stored, what = WRONG[name]
    with pytest.raises(ModelError) as caught:
        read_tflite(densified(sparsity, stored), "net.tflite")
    assert caught.value.what == f"its sparsity contradicts itself: {what}"
    assert caught.value.where == 'tensor 1 "w" (net.tflite)'


def test_a_sparse_tensor_that_is_computed_is_refused():
    build = ModelBuilder()
    x = build.input("x", (4, 4), dtype="float32")
    y = FileTensor("y", (4, 4), "float32", sparsity=BY_ROWS)
    with pytest.raises(ModelError) as caught:
        read_tflite(build.finish(build.operator("RELU", 1, (x,), [y])), "net.tflite")
    assert caught.value.what == "sparse tensors are supported for constants only"
    assert caught.value.hint == "convert the model without sparsity"


def given(dtype: str, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    shape = (ROWS + UNITS, DEPTH)
    if dtype == "float32":
        return rng.normal(size=shape).astype(np.float32)
    return rng.integers(-128, 128, shape).astype(np.int8)


@pytest.mark.parametrize("activation", ["NONE", "RELU", "RELU6"])
@pytest.mark.parametrize("has_bias", [False, True])
def test_floats_are_those_of_litert(activation, has_bias):
    bias = np.array([0.5, -1, 0, 7], np.float32) if has_bias else None
    data, x = computed_weights("float32", bias, activation), given("float32", 1)
    graph = read_tflite(data, "net.tflite")
    verify(graph)
    (made,) = run_graph(graph, {"x": x}).values()
    assert made == pytest.approx(run_litert(data, x[None])[0], rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("activation", ["NONE", "RELU", "RELU6"])
@pytest.mark.parametrize("bias", [None, np.zeros(UNITS, np.int32)])
def test_integers_are_those_of_litert_in_every_bit(activation, bias):
    data = computed_weights("int8", bias, activation)
    graph = read_tflite(data, "net.tflite", "litert-ref")
    verify(graph)
    for seed in range(8):
        x = given("int8", seed)
        (made,) = run_graph(graph, {"x": x}).values()
        assert made.tolist() == run_litert(data, x[None])[0].tolist()


def test_the_result_keeps_its_dimensions():
    graph = read_tflite(computed_weights("float32", rank=3), "net.tflite")
    assert graph.types[graph.outputs[0]].shape == (1, ROWS, UNITS)


def test_integers_with_a_bias_are_reported_with_a_way_out():
    with pytest.raises(ModelError) as caught:
        read_tflite(computed_weights("int8", np.arange(UNITS, dtype=np.int32)), "net.tflite")
    assert caught.value.what == (
        'its weights "weights" are computed and its bias "bias" is not 0: '
        "integer layers with computed weights support no bias"
    )
    assert caught.value.hint == ("add the bias in a separate ADD after the layer, or freeze the weights")
