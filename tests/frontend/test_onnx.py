"""ONNX files: layouts, names, folded shapes, functions, and what is said of models that are refused."""

import contextlib
from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from error_facts import refused
from onnx import helper
from onnx_files import info, onnx_file
from onnx_oracle import run_onnx

from aot.errors import DeployError, ModelError
from aot.frontend.declared import InputOverrides
from aot.frontend.load import load_model
from aot.frontend.onnx.read import read_onnx
from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ir.types import Array
from aot.passes.pipeline import run_meaning
from codegen.job import import_model
from codegen.options import CompileOptions


def file_of(
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[str],
    opset: int = 17,
    **constants: Array,
) -> bytes:
    return onnx_file(nodes, inputs, outputs, constants, opset)


def ops(graph: Graph) -> list[str]:
    return [node.op.name for node in run_meaning(graph).graph.nodes]


def weights(*shape: int) -> Array:
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def test_a_chain_of_convolutions_moves_elements_at_its_edges_only():
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "w2"], ["c"]),
        helper.make_node("Add", ["c", "c"], ["d"]),
        helper.make_node("Concat", ["d", "c"], ["y"], axis=1),
    ]
    data = file_of(nodes, [info("x", 1, 3, 6, 6)], ["y"], w1=weights(4, 3, 3, 3), w2=weights(2, 4, 1, 1))
    found = ops(read_onnx(data, "net.onnx"))
    assert found.count("rearrange") == 2
    assert [found.index("rearrange"), found[::-1].index("rearrange")] == [1, 1]


def test_results_equal_those_of_the_definition():
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["a"], ["p"]),
        helper.make_node("Flatten", ["p"], ["y"]),
    ]
    w = weights(4, 3, 3, 3)
    graph = read_onnx(file_of(nodes, [info("x", 1, 3, 7, 7)], ["y"], w=w), "net.onnx")
    x = weights(1, 3, 7, 7)
    windows = np.lib.stride_tricks.sliding_window_view(x[0], (3, 3), (1, 2))[:, ::2, ::2]
    wanted = np.einsum("ihwkl,oikl->ohw", windows, w).mean(axis=(1, 2))  # type: ignore[arg-type]
    assert np.allclose(run_graph(graph, {"x": x})["y"], wanted[np.newaxis], atol=1e-5)


def test_shapes_that_are_computed_from_shapes_are_folded():
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["n"]),
        helper.make_node("Unsqueeze", ["n", "axes"], ["u"]),
        helper.make_node("Concat", ["u", "rest"], ["shape"], axis=0),
        helper.make_node("Reshape", ["x", "shape"], ["y"]),
    ]
    constants = {"zero": np.int64(0), "axes": np.array([0], np.int64), "rest": np.array([-1], np.int64)}
    nodes[1:2] = [
        helper.make_node("Slice", ["s", "axes", "one"], ["m"]),
        helper.make_node("Squeeze", ["m", "axes"], ["n"]),
    ]
    del constants["zero"]
    data = file_of(nodes, [info("x", 2, 3, 4)], ["y"], one=np.array([1], np.int64), **constants)
    graph = read_onnx(data, "net.onnx")
    assert ops(graph) == ["reshape"]
    assert graph.types["y"].shape == (2, 12)


def test_a_size_that_is_not_known_can_be_given():
    data = file_of([helper.make_node("Relu", ["x"], ["y"])], [info("x", "batch", 5)], ["y"])
    assert read_onnx(data, "net.onnx", shapes={"x": (3, 5)}).types["y"].shape == (3, 5)


def test_a_search_for_no_infinity_has_the_shape_of_the_operand():
    node = helper.make_node("IsInf", ["x"], ["y"], detect_negative=0, detect_positive=0)
    graph = read_onnx(file_of([node], [info("x", 1, 4)], ["y"]), "net.onnx")
    assert graph.types["y"].shape == (1, 4)


def test_nodes_run_in_the_order_of_what_they_read():
    stored = [
        helper.make_node("Add", ["a", "b"], ["y"]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Neg", ["x"], ["a"]),
    ]
    graph = read_onnx(file_of(stored, [info("x", 5)], ["y"]), "net.onnx")
    assert [node.outputs[0] for node in graph.nodes] == ["a", "b", "y"]


def test_a_branch_runs_after_what_it_sees_of_the_nodes_around_it():
    branch = helper.make_graph(
        [helper.make_node("Neg", ["a"], ["n"])], "branch", [], [onnx.ValueInfoProto(name="n")]
    )
    stored = [
        helper.make_node("If", ["yes"], ["y"], then_branch=branch, else_branch=branch),
        helper.make_node("Relu", ["x"], ["a"]),
    ]
    graph = read_onnx(file_of(stored, [info("x", 5)], ["y"], yes=np.array(True)), "net.onnx")
    assert len(graph.nodes) == 2


def test_an_operator_without_an_importer_is_expanded_by_its_function():
    data = file_of([helper.make_node("ThresholdedRelu", ["x"], ["y"], alpha=2.0)], [info("x", 4)], ["y"])
    x = np.array([-2, 0.5, 2, 3], np.float32)
    made = run_graph(read_onnx(data, "net.onnx"), {"x": x})["y"]
    assert np.array_equal(made, [0, 0, 0, 3])


@pytest.mark.parametrize(("operator", "gamma"), [("Selu", 3.0), ("Elu", 1.0), ("Celu", 1.0)])
def test_exponential_units_keep_the_digits_of_numbers_near_zero(operator, gamma):
    given = {"alpha": 2.0} | ({"gamma": gamma} if operator == "Selu" else {})
    data = file_of([helper.make_node(operator, ["x"], ["y"], **given)], [info("x", 5)], ["y"])
    x = np.array([-2, -1e-3, -1e-6, 0, 1e-6], np.float32)
    made = run_graph(read_onnx(data, "net.onnx"), {"x": x})["y"]
    exact = x.astype(np.float64)
    below = 2 * np.expm1(exact / (2 if operator == "Celu" else 1))
    np.testing.assert_allclose(made.astype(np.float64), gamma * np.where(exact > 0, exact, below), rtol=1e-6)


RELU = helper.make_node("Relu", ["x"], ["y"])
EXPAND = helper.make_node("Expand", ["x", "shape"], ["y"])
FILL = helper.make_node("ConstantOfShape", ["shape"], ["y"])
LSTM = helper.make_node("LSTM", ["x", "w", "w"], ["y"], hidden_size=1)
RING = [helper.make_node("Add", ["x", "b"], ["a"]), helper.make_node("Relu", ["a"], ["b"])]
SUM = helper.make_node("ReduceSum", ["x", "axes"], ["y"])
# A broken file, and the facts of its error.
MISTAKES = {
    "no protocol buffer": (b"\x08\x07garbage", "9 bytes not an ONNX protocol buffer net.onnx export again"),
    "an open size": (
        file_of([RELU], [info("x", "batch", "steps")], ["y"]),
        '"x" [batch, steps]: known net.onnx --shape x=1,512 "steps" = 512 guess:',
    ),
    "an open size written as -1": (
        file_of([RELU], [info("x", 5, -1)], ["y"]),
        '"x" [5, ?]: known net.onnx --shape x=5,512 guesses:',
    ),
    "an old operator set": (
        file_of([RELU], [info("x", 5)], ["y"], opset=5),
        f"set 5; 7 to {onnx.defs.onnx_opset_version()} onnx.version_converter.convert_version(model,",
    ),
    "a value that nothing makes": (
        file_of([helper.make_node("Relu", ["z"], ["y"])], [info("x", 5)], ["y"]),
        'reads "z", no node Relu #0 "y" (net.onnx) missing, wait export again',
    ),
    "nodes that wait for each other": (
        file_of(RING, [info("x", 5)], ["b"]),
        'reads "a", no node Relu #1 "b" (net.onnx) missing, wait export again',
    ),
    "texts": (
        file_of([helper.make_node("Identity", ["x"], ["y"])], [info("x", 5, element=8)], ["y"]),
        "string elements not supported",
    ),
    "axes that are computed": (
        file_of([SUM], [info("x", 5), info("axes", 1, element=7)], ["y"]),
        'axes "axes" known compiled ReduceSum #0 "y" (net.onnx) --value axes=...',
    ),
    "a shape that another cannot be repeated to": (
        file_of([EXPAND], [info("x", 2)], ["y"], shape=np.array([3], np.int64)),
        '[2] repeated [3] Expand #0 "y" (net.onnx)',
    ),
    "a shape of more elements than any memory": (
        file_of([FILL], [info("x", 2)], ["y"], shape=np.array([1 << 28], np.int64)),
        "[268435456] not a shape",
    ),
    "a recurrent layer over no sequence": (
        file_of([LSTM], [info("x", 2, 3)], ["y"], w=weights(1, 4, 3)),
        "input 3 dimensions, shape [2, 3]",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_with_its_place_and_the_way_out(mistake):
    data, facts = MISTAKES[mistake]
    refused(lambda: read_onnx(data, "net.onnx"), facts, ModelError)


@pytest.mark.parametrize("batch", ["batch", "N", "batch_size", "unk__6", -1])
def test_a_batch_that_is_left_open_is_1_and_told(batch, tmp_path):
    path = tmp_path / "net.onnx"
    path.write_bytes(file_of([helper.make_node("Relu", ["x"], ["y"])], [info("x", batch, 5)], ["y"]))
    model = import_model(path, CompileOptions())
    assert model.graph.types["y"].shape == (1, 5)
    assert model.open_batches == ("x",)
    given = import_model(path, CompileOptions(shapes={"x": (3, 5)}))
    assert given.graph.types["y"].shape == (3, 5)
    assert given.open_batches == ()


@pytest.mark.parametrize("sizes", [("frames", 5), ("n",), ("batch", 5, "steps")])
def test_an_open_size_that_may_be_no_batch_is_asked_for(sizes):
    data = file_of([helper.make_node("Relu", ["x"], ["y"])], [info("x", *sizes)], ["y"])
    with pytest.raises(ModelError, match="all its sizes must be known"):
        read_onnx(data, "net.onnx")


def test_what_must_be_known_is_traced_back_to_the_inputs_it_comes_from():
    nodes = [
        helper.make_node("Add", ["n", "n"], ["twice"]),
        helper.make_node("Reshape", ["x", "twice"], ["y"]),
    ]
    data = file_of(nodes, [info("x", 2, 3), info("n", 1, element=7)], ["y"])
    with pytest.raises(ModelError) as caught:
        read_onnx(data, "net.onnx")
    assert caught.value.hint == "fix the inputs that it depends on: --value n=..."
    assert read_onnx(data, "net.onnx", values={"n": np.array([3], np.int64)}).types["y"].shape == (6,)


def test_what_has_no_elements_is_left_out_where_it_is_joined():
    nodes = [
        helper.make_node("Slice", ["x", "zero", "zero"], ["none"]),
        helper.make_node("Concat", ["none", "x"], ["y"], axis=0),
    ]
    graph = read_onnx(file_of(nodes, [info("x", 4)], ["y"], zero=np.array([0], np.int64)), "net.onnx")
    assert ops(graph) == ["reshape"]


def test_an_operator_that_has_not_changed_is_read_from_an_older_set():
    data = file_of([helper.make_node("Not", ["x"], ["y"])], [info("x", 5, element=9)], ["y"], opset=1)
    assert ops(read_onnx(data, "net.onnx")) == ["unary_math"]


def test_an_input_can_be_fixed_and_is_none_any_more(tmp_path):
    nodes = [helper.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)]
    path = tmp_path / "net.onnx"
    path.write_bytes(file_of(nodes, [info("x", "n", 3), info("axes", 1, element=7)], ["y"]))
    overrides = InputOverrides(shapes={"x": (2, 3)}, values={"axes": (1.0,)})
    graph = load_model(path, overrides=overrides)
    assert graph.inputs == ("x",)
    assert run_graph(graph, {"x": np.ones((2, 3), np.float32)})["y"].tolist() == [3, 3]


def test_a_shape_for_an_input_that_does_not_exist_is_refused():
    data = file_of([helper.make_node("Relu", ["x"], ["y"])], [info("x", 5)], ["y"])
    refused(
        lambda: read_onnx(data, "net.onnx", shapes={"z": (5,)}), 'no input "z" net.onnx inputs: x', ModelError
    )


@pytest.mark.parametrize("given", ["N", "N=1,T"])
def test_a_size_given_by_its_name_is_refused_with_the_way_to_give_it(given):
    data = file_of([helper.make_node("Relu", ["x"], ["y"])], [info("x", "N", "T", 3)], ["y"])
    refused(
        lambda: read_onnx(data, "net.onnx", shapes={given: (4,)}),
        f'no input "{given}" "N" is a size --shape x=1,512,3 "T" = 512 is a guess',
        ModelError,
    )


@pytest.mark.parametrize("seed", range(8))
def test_a_broken_file_is_refused_or_read(seed):
    """Bits are flipped and ends cut off: whatever comes out, it is an error of the user's or a graph."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("MaxPool", ["a"], ["b"], kernel_shape=[2, 2]),
        helper.make_node("Reshape", ["b", "shape"], ["c"]),
        helper.make_node("Softmax", ["c"], ["y"], axis=1),
    ]
    constants = {"w": weights(2, 1, 3, 3), "shape": np.array([1, -1], np.int64)}
    data = file_of(nodes, [info("x", 1, 1, 4, 4)], ["y"], **constants)  # type: ignore[arg-type]
    rng = np.random.default_rng(seed)
    for _ in range(60):
        broken = bytearray(data[: rng.integers(1, len(data) + 1)] if rng.random() < 0.2 else data)
        for place in rng.integers(0, len(broken), rng.integers(1, 4)):
            broken[place] ^= 1 << int(rng.integers(8))
        with contextlib.suppress(DeployError):
            read_onnx(bytes(broken), "net.onnx")


@pytest.mark.parametrize("op_type", ["ArgMax", "ArgMin"])
def test_a_number_that_is_none_is_never_the_largest(op_type):
    x = np.array([[1, np.nan, 2, -3], [np.nan, 1, 2, 3], [1, 2, np.nan, -np.inf]], np.float32)
    data = file_of([helper.make_node(op_type, ["x"], ["y"], axis=1)], [info("x", 3, 4)], ["y"])
    (wanted,) = run_onnx(data, {"x": x})
    assert run_graph(read_onnx(data, "net.onnx"), {"x": x})["y"].tolist() == wanted.tolist()


def test_a_real_signal_needs_no_last_dimension():
    """torch.stft exports it so, and ONNX Runtime takes it, although the specification has three."""
    step, window = np.array(5, np.int64), np.hanning(16).astype(np.float32)
    node = helper.make_node("STFT", ["x", "step", "window"], ["y"])
    data = file_of([node], [info("x", 2, 40)], ["y"], step=step, window=window)
    x = np.random.default_rng(3).normal(2, 1, (2, 40)).astype(np.float32)
    (wanted,) = run_onnx(data, {"x": x})
    made = run_graph(read_onnx(data, "net.onnx"), {"x": x})["y"]
    np.testing.assert_allclose(made, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())  # type: ignore[arg-type]
