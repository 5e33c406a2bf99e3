"""Constant indices that do not exist are refused, as in runtimes; indices of a run stay in memory."""

from typing import Any

import numpy as np
import onnx
import pytest
from c_checks import failures_on_host
from litert_oracle import run_litert, run_litert_once
from model_checks import OPTIONS, PLAIN, model_check
from onnx import helper
from onnx_files import info, onnx_file
from onnx_oracle import run_onnx
from tflite_builder import ModelBuilder

import deploy
from aot.errors import ModelError
from aot.frontend.load import parse_model
from aot.frontend.onnx.read import read_onnx
from aot.frontend.tflite.read import read_tflite
from aot.frontend.tflite.write_file import FileTensor
from aot.interpret import run_graph
from aot.ir.types import Array
from aot.positions import index_limits, position_limits
from deploy.inputs.samples import random_samples

ONES = {shape: np.ones(shape, np.float32) for shape in [(1, 4), (5, 1), (1, 5), (1, 2, 2)]}


def ints(*numbers: Any) -> Array:
    return np.array(numbers, np.int64)


def operator_file(
    operator: str, shape: tuple[int, ...], constants: tuple[Array, ...], **attributes: Any
) -> bytes:
    names = [f"c{number}" for number in range(len(constants))]
    domain = "ai.onnx.ml" if operator == "ArrayFeatureExtractor" else ""
    node = helper.make_node(operator, ["x", *names], ["y"], domain=domain, **attributes)
    held = dict(zip(names, constants, strict=True))
    return onnx_file([node], {"x": shape}, constants=held, opset=24 if operator == "TensorScatter" else 18)


ONNX: dict[str, tuple[bytes, str]] = {
    "a row after the last": (
        operator_file("Gather", (3, 4), (ints(0, 3),)),
        "index 3 does not exist: a dimension of 3 has -3 to 2",
    ),
    "a row before the first": (
        operator_file("Gather", (3, 4), (ints(0, -4),)),
        "index -4 does not exist: a dimension of 3 has -3 to 2",
    ),
    "elements": (
        operator_file("GatherElements", (3, 4), (ints([4, 0], [0, 0]),), axis=1),
        "index 4 does not exist: a dimension of 4 has -4 to 3",
    ),
    "elements of more rows than there are": (
        operator_file("GatherElements", (2, 3), (np.zeros((5, 3), np.int64),), axis=1),
        "indices [5, 3] do not fit shape [2, 3]",
    ),
    "a place": (
        operator_file("GatherND", (3, 4), (ints([0, 4]),)),
        "index 4 does not exist: a dimension of 4 has -4 to 3",
    ),
    "a place of each row": (
        operator_file("GatherND", (3, 4), (ints([0], [5], [0]),), batch_dims=1),
        "index 5 does not exist: a dimension of 4 has -4 to 3",
    ),
    "an element put": (
        operator_file("ScatterElements", (3, 4), (ints([3, 0, 0, 0]), ONES[1, 4])),
        "index 3 does not exist: a dimension of 3 has -3 to 2",
    ),
    "elements put in more columns than there are": (
        operator_file("ScatterElements", (2, 3), (np.zeros((1, 5), np.int64), ONES[1, 5])),
        "indices [1, 5] do not fit shape [2, 3]",
    ),
    "elements put in more rows than there are": (
        operator_file("ScatterElements", (2, 3), (np.zeros((5, 1), np.int64), ONES[5, 1]), axis=1),
        "indices [5, 1] do not fit shape [2, 3]",
    ),
    "a row put": (
        operator_file("ScatterND", (3, 4), (ints([3]), ONES[1, 4])),
        "index 3 does not exist: a dimension of 3 has -3 to 2",
    ),
    "updates of a cache": (
        operator_file("TensorScatter", (1, 4, 2), (ONES[1, 2, 2], ints(-1))),
        "index -1 does not exist: a dimension of 4 has 0 to 3",
    ),
    "updates of a cache that goes round": (
        operator_file("TensorScatter", (1, 4, 2), (ONES[1, 2, 2], ints(-1)), mode="circular"),
        "index -1 does not exist: a dimension of 4 has 0 to 3",
    ),
    "a feature": (
        operator_file("ArrayFeatureExtractor", (3, 4), (ints(-1),)),
        "index -1 does not exist: a dimension of 4 has 0 to 3",
    ),
}


@pytest.mark.parametrize("name", ONNX)
def test_an_index_in_an_onnx_file_must_exist(name):
    data, wanted = ONNX[name]
    with pytest.raises(ModelError) as caught:
        read_onnx(data, "net.onnx")
    assert caught.value.what == wanted
    sizes = onnx.load_model_from_string(data).graph.input[0].type.tensor_type.shape.dim
    with pytest.raises(Exception, match=r"(?i)ind|dim"):  # its exceptions share no base class
        run_onnx(data, {"x": np.zeros([size.dim_value for size in sizes], np.float32)})


def tflite_file(code: str, made: tuple[tuple[int, ...], ...], *constants: Array, **fields: Any) -> bytes:
    build = ModelBuilder()
    x = build.input("x", (2, 4), dtype="float32")
    held = [build.constant(f"c{number}", array) for number, array in enumerate(constants)]
    reads = {"EMBEDDING_LOOKUP": (*held, x), "SPLIT": (*held, x)}.get(code, (x, *held))
    outputs = [FileTensor(f"y{number}", shape, "float32") for number, shape in enumerate(made)]
    options = {"GATHER": "GatherOptions", "UNPACK": "UnpackOptions"}.get(code, "")
    results = build.operator(code, 1, reads, outputs, options, **fields)
    return build.finish(*([results] if isinstance(results, str) else results))


def narrow(*numbers: Any) -> Array:
    return np.array(numbers, np.int32)


TFLITE: dict[str, tuple[bytes, str]] = {
    "a row after the last": (
        tflite_file("GATHER", ((2, 4),), narrow(0, 2)),
        "index 2 does not exist: a dimension of 2 has 0 to 1",
    ),
    "a row before the first": (
        tflite_file("GATHER", ((1, 4),), narrow(-1)),
        "index -1 does not exist: a dimension of 2 has 0 to 1",
    ),
    "a column": (
        tflite_file("GATHER", ((2, 2),), narrow(0, 4), Axis=1),
        "index 4 does not exist: a dimension of 4 has 0 to 3",
    ),
    "a place": (
        tflite_file("GATHER_ND", ((1,),), narrow([1, 4])),
        "index 4 does not exist: a dimension of 4 has 0 to 3",
    ),
    "a row of a table": (
        tflite_file("EMBEDDING_LOOKUP", ((2, 4),), narrow(1, 2)),
        "index 2 does not exist: a dimension of 2 has 0 to 1",
    ),
    "a slice into the next row": (
        tflite_file("SLICE", ((1, 3),), narrow(0, 3), narrow(1, 3)),
        "elements from [0, 3], [1, 3] of them, are outside [2, 4]",
    ),
    "a slice from before the row": (
        tflite_file("SLICE", ((1, 2),), narrow(1, -1), narrow(1, 2)),
        "elements from [1, -1], [1, 2] of them, are outside [2, 4]",
    ),
    "parts larger than the whole": (
        tflite_file("SPLIT", ((2, 3), (2, 3)), narrow(1), NumSplits=2),
        "parts [3, 3] do not make dimension 1 of shape [2, 4]",
    ),
    "more columns than there are": (
        tflite_file("UNPACK", ((2,),) * 5, Axis=1, Num=5),
        "5 results do not match dimension 1 of [2, 4]",
    ),
}


@pytest.mark.parametrize("name", TFLITE)
def test_an_index_in_a_tflite_file_must_exist(name):
    data, wanted = TFLITE[name]
    with pytest.raises(ModelError) as caught:
        read_tflite(data, "net.tflite")
    assert caught.value.what == wanted


@pytest.mark.parametrize(
    "name", ["a row after the last", "a row before the first", "a place", "a row of a table"]
)
def test_litert_refuses_such_an_index_too(name):
    with pytest.raises(Exception, match=r"(?i)ind"):
        run_litert(TFLITE[name][0], np.zeros((1, 2, 4), np.float32))


AT_RUN_TIME: dict[str, tuple[str, tuple[int, ...], dict[str, Any]]] = {
    "rows": ("Gather", (3,), {}),
    "columns": ("Gather", (3,), {"axis": 1}),
    "elements": ("GatherElements", (2, 4), {"axis": 1}),
    "places": ("GatherND", (3, 2), {}),
    "elements put": ("ScatterElements", (2, 4), {"axis": 1}),
    "places put": ("ScatterND", (3, 2), {}),
}


@pytest.mark.cc
@pytest.mark.parametrize("name", AT_RUN_TIME)
def test_an_index_of_the_run_reads_and_writes_inside(name, tmp_path):
    """With compilers' checks of addresses and overflows; the results are the reference's."""
    operator, shape, attributes = AT_RUN_TIME[name]
    parts = {"ScatterElements": (2, 4), "ScatterND": (3,)}.get(operator)
    names = ["x", "indices", *(["parts"] if parts else [])]
    inputs = [info("x", 2, 4), info("indices", *shape, element=7)]
    inputs += [info("parts", *parts)] if parts else []
    node = helper.make_node(operator, names, ["y"], **attributes)
    model = read_onnx(onnx_file([node], inputs, opset=18), "net.onnx")
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    given = {"x": x, "parts": np.full(parts or (), 9, np.float32)}
    samples = [
        {name: np.full(shape, index, np.int64) if name == "indices" else given[name] for name in names}
        for index in (0, 4, -5, 2**31 - 1, -(2**31), 2**31, 2**32, 2**63 - 1, -(2**63))
    ]
    checks = [model_check("net", "net", model, PLAIN, OPTIONS["speed"], samples)]
    assert failures_on_host(checks, tmp_path / "checks") == {}


@pytest.mark.parametrize("index", [2, -1, 2**31 - 1, -(2**31)])
def test_an_index_of_the_run_is_moved_inside(index):
    build = ModelBuilder()
    x, places = build.input("x", (2, 4), dtype="float32"), build.input("places", (1,), dtype="int32")
    made = build.operator("GATHER", 1, (x, places), [FileTensor("y", (1, 4), "float32")], "GatherOptions")
    graph = read_tflite(build.finish(made), "net.tflite")
    data = np.arange(8, dtype=np.float32).reshape(2, 4)
    (row,) = run_graph(graph, {"x": data, "places": np.array([index], np.int32)}).values()
    np.testing.assert_array_equal(row, data[[1 if index > 0 else 0]])


def onnx_reader(operator: str, indices: tuple[int, ...], kind: int = 7, **attributes: Any) -> bytes:
    """A file whose indices are an input, as int64 or as floats that are cast."""
    tables = {"x": np.arange(35, dtype=np.float32).reshape(5, 7), "parts": np.ones(indices, np.float32)}
    tables |= {"depth": np.array(6), "ends": np.array([0, 1], np.float32)}
    names = {
        "OneHot": ["places", "depth", "ends"],
        "ScatterElements": ["x", "places", "parts"],
        "ScatterND": ["x", "places", "parts"],
    }.get(operator, ["x", "places"])
    if operator == "ScatterND":
        tables["parts"] = np.ones(indices[:-1], np.float32)
    nodes = [
        helper.make_node("Cast", ["indices"], ["places"], to=7),
        helper.make_node(operator, names, ["y"], **attributes),
    ]
    held = {name: tables[name] for name in names if name in tables}
    return onnx_file(nodes, [info("indices", *indices, element=kind)], constants=held, opset=18)


def tflite_reader(
    code: str, indices: tuple[int, ...], made: tuple[int, ...], kind: str = "int32", **fields: Any
) -> bytes:
    """The same for TFLite."""
    build = ModelBuilder()
    places = build.input("indices", indices, dtype=kind, scale=0)
    if kind != "int32":
        places = build.operator("CAST", 1, (places,), [FileTensor("cast", indices, "int32")], "CastOptions")
    table = build.constant("table", np.arange(35, dtype=np.float32).reshape(5, 7))
    reads: tuple[str, ...] = (places, table) if code == "EMBEDDING_LOOKUP" else (table, places)
    if code == "ONE_HOT":
        ends = [build.constant(f"end{n}", np.array(n, np.float32)) for n in (1, 0)]
        reads = places, build.constant("depth", np.array(6, np.int32)), *ends
    options = {"GATHER": "GatherOptions", "GATHER_ND": "GatherNdOptions", "ONE_HOT": "OneHotOptions"}
    y = build.operator(code, 1, reads, [FileTensor("y", made, "float32")], options.get(code, ""), **fields)
    return build.finish(y)


# A file, and the least and the greatest of its indices.
READERS: dict[str, tuple[bytes, tuple[int, int]]] = {
    "ONNX rows": (onnx_reader("Gather", (3,)), (-5, 4)),
    "ONNX columns": (onnx_reader("Gather", (2, 4), axis=1), (-7, 6)),
    "ONNX rows, from floats": (onnx_reader("Gather", (3,), 1), (-5, 4)),
    "ONNX elements": (onnx_reader("GatherElements", (5, 6), axis=1), (-7, 6)),
    "ONNX places": (onnx_reader("GatherND", (9, 2)), (-5, 4)),
    "ONNX rows put": (onnx_reader("ScatterND", (1, 2)), (-5, 4)),
    "ONNX elements put": (onnx_reader("ScatterElements", (1, 7)), (-5, 4)),
    "ONNX one-hot rows": (onnx_reader("OneHot", (20,)), (-6, 5)),
    "TFLite rows": (tflite_reader("GATHER", (3,), (3, 7)), (0, 4)),
    "TFLite columns": (tflite_reader("GATHER", (4,), (5, 4), Axis=1), (0, 6)),
    "TFLite rows, from floats": (tflite_reader("GATHER", (3,), (3, 7), "float32"), (0, 4)),
    "TFLite rows of a table": (tflite_reader("EMBEDDING_LOOKUP", (3,), (3, 7)), (0, 4)),
    "TFLite places": (tflite_reader("GATHER_ND", (9, 2), (9,)), (0, 4)),
    "TFLite one-hot rows": (tflite_reader("ONE_HOT", (20,), (20, 6), Axis=-1), (0, 5)),
}


@pytest.mark.parametrize("name", READERS)
def test_random_indices_exist_so_that_runtimes_compute_them(name, tmp_path):
    data, (least, greatest) = READERS[name]
    is_onnx = name.startswith("ONNX")
    file = tmp_path / ("net.onnx" if is_onnx else "net.tflite")
    file.write_bytes(data)
    artifact = deploy.compile(file, "host").artifact
    drawn = set[int]()
    for (indices,) in random_samples(artifact.facts.inputs, 12).each:
        drawn |= {int(index) for index in indices.reshape(-1)}
        expected = run_onnx(data, {"indices": indices})[0] if is_onnx else run_litert_once(data, indices)
        (found,) = run_graph(artifact.graph, {"indices": indices}).values()
        np.testing.assert_array_equal(found, expected)
    assert {least, greatest} <= drawn <= set(range(least, greatest + 1))


@pytest.mark.cc
@pytest.mark.parametrize("name", ["ONNX rows", "TFLite rows"])
def test_verify_compares_a_model_of_indices_with_a_runtime(name, tmp_path):
    file = tmp_path / ("net.onnx" if name.startswith("ONNX") else "net.tflite")
    file.write_bytes(READERS[name][0])
    assert "returns the same outputs" in str(deploy.verify(file, "host"))


def test_indices_exist_in_each_table_that_they_are_read_from():
    """A comparison with one number, such as that of padding, does not limit them."""
    tables = {"x": np.ones((5, 2), np.float32), "wide": np.ones((7, 2), np.float32)}
    held = tables | {"one": ints(1), "pad": ints(3)}
    nodes = [
        helper.make_node("Add", ["indices", "one"], ["next"]),
        helper.make_node("Gather", ["x", "next"], ["y"]),
        helper.make_node("Gather", ["wide", "indices"], ["z"]),
        helper.make_node("Equal", ["indices", "pad"], ["is_pad"]),
    ]
    file = onnx_file(nodes, [info("indices", 3, element=7)], ["y", "z", "is_pad"], held, opset=18)
    read = read_onnx(file, "net.onnx")
    assert index_limits(read) == {"indices": (-6, 3)}
    assert position_limits(read) == {}


Given = Array | tuple[tuple[int, ...], str]  # a constant, or an input's shape and element type


def numbers(*given: object, kind: str = "int32") -> Array:
    return np.array(given, kind)


def floats(*shape: int) -> tuple[tuple[int, ...], str]:
    return shape, "float32"


NONE, HALF = numbers(0, kind="float32"), numbers(0.5, kind="float32")
SPARSE, DIAGONAL, BOXES = "SPARSE_TO_DENSE", "MATRIX_DIAG", "NON_MAX_SUPPRESSION_V4"
ODD: dict[str, tuple[str, list[Given], tuple[int, ...], str]] = {
    "values": (SPARSE, [numbers([0], [2]), numbers(5), floats(3), NONE], (5,), "3 values at 2"),
    "no dimension": (SPARSE, [numbers(0), numbers(5), floats(1), NONE], (), "do not fit"),
    "odd indices": (SPARSE, [numbers(0, 1, 2), numbers(5, 5), floats(2), NONE], (5, 5), "at 3 indices"),
    "a segment": ("SEGMENT_SUM", [floats(3), ((3,), "int32")], (), "do not fit"),
    "wide segments": ("SEGMENT_SUM", [floats(3, 2), ((3,), "int32")], (2, 5), "do not fit"),
    "real places": ("SCATTER_ND", [floats(2, 1), floats(2), numbers(4)], (4,), "indices of f32"),
    "a diagonal": (DIAGONAL, [floats()], (), "does not fit"),
    "a flat diagonal": (DIAGONAL, [floats(3)], (3,), "does not fit"),
    "a flat matrix": ("MATRIX_SET_DIAG", [floats(3), floats(3)], (3, 3), "a matrix"),
    "few boxes": (BOXES, [floats(6, 4), floats(6), numbers(3), HALF, NONE], (2,), "declares 2"),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_shapes_that_do_not_fit_are_refused(name):
    code, given, shape, reason = ODD[name]
    build = ModelBuilder(code)
    operands = tuple(
        build.input(f"x{n}", each[0], dtype=each[1])
        if isinstance(each, tuple)
        else build.constant(f"c{n}", each)
        for n, each in enumerate(given)
    )
    outputs = [FileTensor("y", shape, "int32" if code == BOXES else "float32")]
    outputs += [FileTensor("count", (), "int32")] if code == BOXES else []
    options = "".join(word.title() for word in code.split("_")) + "Options"
    with pytest.raises(ModelError, match=reason):
        parse_model(build.finish(build.operator(code, 1, operands, outputs, options)), "odd.tflite", "tflm")
