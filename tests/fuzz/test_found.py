"""What damaged files have found: each ends in an error that says what is wrong, soon and in little memory."""

from contextlib import suppress

import numpy as np
import onnx
import pytest
from tflite_builder import ModelBuilder
from tiny_models import TINY

from aot.errors import DeployError, ModelError
from aot.frontend.load import parse_model
from aot.frontend.tflite.read import read_tflite
from aot.frontend.tflite.write_file import FileTensor
from aot.ir.text import GraphTextError, parse_graph
from aot.target import Target
from artifact.artifact import Artifact, ParametersError, artifact_of, pack_parameters, unpack_parameters
from boards.files import read_toml
from codegen.compile import compile_job
from codegen.job import ImportedModel, Job
from codegen.kernels.tuning_records import read_records
from codegen.options import CompileOptions
from deploy.benchmark.baseline_changes import read_baseline
from deploy.cli.project_file import read_project_file
from deploy.exploring.run import read_kept
from platforms.board_files import load_board
from platforms.folder import read_project

LARGEST = 2**31 - 1


def slice_of_two_thousand_million() -> bytes:
    build = ModelBuilder()
    x = build.input("x", (2, 4, 1), dtype="float32")
    bounds = [build.constant(n, np.array(v, np.int32)) for n, v in (("b", [0, 0, 0]), ("s", [2, LARGEST, 1]))]
    result = [FileTensor("y", (2, 4, 1), "float32")]
    return build.finish(build.operator("SLICE", 1, (x, *bounds), result, "SliceOptions"))


def slice_of_negative_sizes() -> bytes:
    build = ModelBuilder()
    x = build.input("x", (2, 4, 1), dtype="float32")
    bounds = [build.constant(n, np.array(v, np.int32)) for n, v in (("b", [0, 0, 0]), ("s", [-2, -4, 1]))]
    result = [FileTensor("y", (2, 4, 1), "float32")]
    return build.finish(build.operator("SLICE", 1, (x, *bounds), result, "SliceOptions"))


def pool_of_a_thousand_million_rows() -> bytes:
    build = ModelBuilder()
    x = build.input("x", (1, 42, 1, 16), dtype="float32")
    options = {"StrideH": 1, "StrideW": 1, "FilterHeight": 1_036_248_006, "FilterWidth": 1}
    result = [FileTensor("y", (1, 42, 1, 16), "float32")]
    return build.finish(build.operator("MAX_POOL_2D", 2, (x,), result, "Pool2DOptions", **options))


def lstm_with_a_bias_of_another_type() -> bytes:
    build = ModelBuilder()
    x = build.input("x", (1, 2, 3), dtype="float32")
    weights = [build.constant(f"w{i}", np.ones((2, 3), np.float32)) for i in range(4)]
    recurrent = [build.constant(f"r{i}", np.ones((2, 2), np.float32)) for i in range(4)]
    bias = [build.constant(f"b{i}", np.ones(2, np.int32 if i == 1 else np.float32)) for i in range(4)]
    states = [build._add(FileTensor(name, (1, 2), "float32")) for name in ("hidden", "cell")]
    inputs = (x, *weights, *recurrent, *(None,) * 3, *bias, None, None, *states, *(None,) * 4)
    result = [FileTensor("y", (1, 2, 2), "float32")]
    options = "UnidirectionalSequenceLSTMOptions"
    return build.finish(
        build.operator("UNIDIRECTIONAL_SEQUENCE_LSTM", 1, inputs, result, options, FusedActivationFunction=4)
    )


def transpose_of_one_number_by_an_order() -> bytes:
    return transpose_of((), 0)


def transpose_of_a_vector_by_an_axis_that_is_not_there() -> bytes:
    return transpose_of((4,), 1)


def transpose_of(shape: tuple[int, ...], axis: int) -> bytes:
    build = ModelBuilder()
    x = build.input("x", shape, dtype="float32")
    order = build.constant("order", np.array([axis], np.int32))
    result = [FileTensor("y", shape, "float32")]
    return build.finish(build.operator("TRANSPOSE", 1, (x, order), result, "TransposeOptions"))


def concatenation_of_nothing() -> bytes:
    build = ModelBuilder()
    build.input("x", (1, 4), dtype="float32")
    result = [FileTensor("y", (1, 4), "float32")]
    return build.finish(build.operator("CONCATENATION", 1, (), result, "ConcatenationOptions"))


def split_along_two_axes() -> bytes:
    build = ModelBuilder()
    x = build.input("x", (2, 4), dtype="float32")
    axes = build.constant("axes", np.array([0, 1], np.int32))
    parts = [FileTensor(name, (1, 4), "float32") for name in ("y1", "y2")]
    build.operator("SPLIT", 1, (axes, x), parts, "SplitOptions", NumSplits=2)
    return build.finish("y1", "y2")


def image_resized_to_a_vector() -> bytes:
    build = ModelBuilder()
    x = build.input("x", (1, 2, 2, 1), dtype="float32")
    size = build.constant("size", np.array([2, 2], np.int32))
    result = [FileTensor("y", (4,), "float32")]
    options = "ResizeNearestNeighborOptions"
    return build.finish(build.operator("RESIZE_NEAREST_NEIGHBOR", 1, (x, size), result, options))


def sum_of_plain_numbers_with_a_scale() -> bytes:
    build = ModelBuilder()
    x = build.input("x", (3, 2), dtype="float32")
    build.tensors["x"] = FileTensor("x", (3, 2), "int8")
    axis = build.constant("axis", np.array([1], np.int32))
    result = [FileTensor("y", (3,), "int8", (0.5,), (0,))]
    return build.finish(build.operator("SUM", 2, (x, axis), result, "ReducerOptions"))


FOUND = {
    slice_of_two_thousand_million: (
        "elements from [0, 0, 0], [2, 2147483647, 1] of them, are outside [2, 4, 1]"
    ),
    slice_of_negative_sizes: "elements from [0, 0, 0], [-2, -4, 1] of them, are outside [2, 4, 1]",
    pool_of_a_thousand_million_rows: "window 1036248006x1: must be at most 16384",
    image_resized_to_a_vector: '"y" has shape [4], it must have 4 dimensions',
    sum_of_plain_numbers_with_a_scale: "quantized sums must have a scale and fit 31 bits at the output's "
    "scale: only one of them has one",
    concatenation_of_nothing: "its input 0 (a part) is missing",
    split_along_two_axes: "its axis must be one integer, there are 2",
    transpose_of_one_number_by_an_order: "axis 0 does not exist in 0 dimensions",
    transpose_of_a_vector_by_an_axis_that_is_not_there: "axis 1 does not exist in 1 dimensions",
    lstm_with_a_bias_of_another_type: "its gates have weights of different shapes or types: "
    "float32[2], int32[2], float32[2], float32[2]",
}


@pytest.mark.parametrize("make", FOUND, ids=lambda make: make.__name__)
def test_what_was_found_is_reported_now(make):
    with pytest.raises(ModelError) as refusal:
        read_tflite(make(), "found.tflite")
    assert refusal.value.what == FOUND[make]


def test_millions_of_rows_are_reported_before_memory_is_spent_on_their_lives():
    build = ModelBuilder()
    x = build.input("x", (400_000, 4, 5, 2), dtype="float32")
    result = [FileTensor("y", (4, 5, 2), "int64")]
    axis = build.constant("axis", np.array([0], np.int32))
    graph = read_tflite(build.finish(build.operator("ARG_MAX", 1, (x, axis), result)), "found.tflite")
    with pytest.raises(ModelError) as refusal:
        compile_job(
            Job(ImportedModel(graph, "found.tflite", "00" * 32, "found"), Target("host"), CompileOptions())
        )
    assert refusal.value.what == "the tensors have 8,000,004 rows in total, the limit is 1,000,000"


def test_a_node_whose_name_is_not_text_is_reported_too():
    make = onnx.helper.make_node("Relu", ["x"], ["y"], name="NAME")
    tensors = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, (1, 4)) for name in "xy"]
    graph = onnx.helper.make_graph([make], "net", tensors[:1], tensors[1:])
    data = onnx.helper.make_model(graph).SerializeToString().replace(b"NAME", b"N\xa0ME")
    with pytest.raises(ModelError) as refusal:
        parse_model(data, "found.onnx")
    assert refusal.value.what == "a name in the file is not UTF-8 text"


def test_tables_of_fields_of_odd_size_are_checked_as_they_are_read():
    """Every number of 16 bits one more: among them are the sizes of all tables of fields."""
    whole = slice_of_negative_sizes()
    for place in range(8, len(whole) - 1, 2):
        number = int.from_bytes(whole[place : place + 2], "little")
        data = bytearray(whole)
        data[place : place + 2] = min(number + 1, 0xFFFF).to_bytes(2, "little")
        with suppress(ModelError):
            read_tflite(bytes(data), "found.tflite")


@pytest.mark.parametrize(
    ("line", "why"),
    {
        'input "x": i8[4] {[] , 0}': "float() argument must be a string or a real number, not 'list'",
        'input "x": i8[4] {"/dev/zero" , 0}': "could not convert string to float: '/dev/zero'",
        'input "x": i8[4] {0.5 , null}': "int() argument must be",
        'constant "c": i8[1] = [300]': "Python integer 300 out of bounds for int8",
    }.items(),
)
def test_a_graph_with_a_value_that_cannot_be_is_not_a_graph(line, why):
    with pytest.raises(GraphTextError) as refusal:
        parse_graph(f'graph "net"\n{line}\n')
    assert str(refusal.value).startswith(f"line 2: an invalid value ({why}")


@pytest.fixture(scope="module")
def whole():
    graph = read_tflite(next(iter(TINY.values()))(), "found.tflite")
    imported = ImportedModel(graph, "found.tflite", "00" * 32, "found")
    return artifact_of(compile_job(Job(imported, Target("host"), CompileOptions())))


def test_a_source_in_an_archive_that_is_not_text_is_reported(whole):
    changed = Artifact(whole.facts, {**whole.files, "codegen/host/src/found.c": b"\xff"})
    with pytest.raises(ModelError) as refusal:
        _ = changed.sources
    assert refusal.value.what == (
        "codegen/host/src/found.c in the archive is not UTF-8 text: invalid start byte at byte 0"
    )


@pytest.mark.parametrize("missing", ["src/found.graph", "parameters/found.params"])
def test_a_file_that_an_archive_lacks_is_reported(missing, whole):
    """The model's name, which its files have in theirs, was changed in the metadata."""
    files = dict(whole.files)
    del files[missing]
    with pytest.raises(ModelError) as refusal:
        _ = Artifact(whole.facts, files).graph
    assert refusal.value.what == f"the archive has no {missing}"
    assert refusal.value.hint == "compile the model again with this version"


def test_a_parameter_whose_name_is_not_text_is_reported():
    packed = pack_parameters({"weights": np.zeros(1, np.int8)}).replace(b"weights", b"w\xffights")
    with pytest.raises(ParametersError, match="a name in it is not UTF-8 text"):
        unpack_parameters(packed)


DEEP = "[" * 100_000
LATE = (
    '{"task": "t", "core": "c", "knobs": {}, "cost": 1, "default_cost": 1, "seconds": 1' + "0" * 400 + "}\n"
)


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [
        ("deep.jsonl", DEEP, read_records),
        ("late.jsonl", LATE, read_records),
        ("project.json", DEEP, lambda path: read_project(path.parent)),
        ("baseline.json", DEEP, read_baseline),
        ("results.jsonl", DEEP, read_kept),
        ("solder.toml", f"deadline = {10**400}", read_project_file),
        ("core.toml", f'core = "{"m" * 400}"', lambda path: load_board(str(path))),
        ("soc.toml", f'soc = "{"s" * 400}"', lambda path: load_board(str(path))),
        ("board.toml", f"a = {DEEP}", lambda path: read_toml(path, "the board file")),
    ],
)
def test_what_is_too_deep_or_too_large_is_reported(name, text, read, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(DeployError):
        read(tmp_path / name)
