"""Inputs and outputs that are sequences or optional are tensors by themselves, or refused."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import NodeProto, TensorProto, TypeProto, ValueInfoProto, helper
from onnx.reference import ReferenceEvaluator

from aot.errors import ModelError
from aot.frontend.onnx.errors import LeftOpenError
from aot.frontend.onnx.read import read_onnx
from aot.interpret import run_graph

MAKE = helper.make_node
PLAIN = helper.make_tensor_type_proto(TensorProto.FLOAT, [2])
OPEN = helper.make_tensor_type_proto(TensorProto.FLOAT, ["rows"])
LIST, OPEN_LIST = helper.make_sequence_type_proto(PLAIN), helper.make_sequence_type_proto(OPEN)
PARTS = [np.asarray([number, -number], np.float32) for number in range(3)]


def named(name: str, kind: TypeProto) -> ValueInfoProto:
    return helper.make_value_info(name, kind)


def file_of(nodes: list[NodeProto], inputs: dict[str, TypeProto], outputs: dict[str, TypeProto]) -> bytes:
    given, made = ([named(*pair) for pair in each.items()] for each in (inputs, outputs))
    graph = helper.make_graph(nodes, "net", given, made)
    data: bytes = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8
    ).SerializeToString()
    return data


JOINED = file_of([MAKE("ConcatFromSequence", ["x"], ["y"], axis=0)], {"x": LIST}, {"y": OPEN})
MAPPED = file_of(
    [
        MAKE(
            "SequenceMap",
            ["x"],
            ["y"],
            body=helper.make_graph(
                [MAKE("Neg", ["one"], ["minus"])], "each", [named("one", OPEN)], [named("minus", OPEN)]
            ),
        )
    ],
    {"x": OPEN_LIST},
    {"y": OPEN_LIST},
)
YES = helper.make_graph([MAKE("OptionalGetElement", ["z"], ["a"])], "yes", [], [named("a", PLAIN)])
NO = helper.make_graph([MAKE("Neg", ["x"], ["b"])], "no", [], [named("b", PLAIN)])
CHOSEN = file_of(
    [
        MAKE("OptionalHasElement", ["z"], ["is_there"]),
        MAKE("If", ["is_there"], ["other"], then_branch=YES, else_branch=NO),
        MAKE("Add", ["x", "other"], ["y"]),
    ],
    {"x": PLAIN, "z": helper.make_optional_type_proto(PLAIN)},
    {"y": PLAIN},
)


def test_a_sequence_of_given_length_is_so_many_inputs() -> None:
    graph = read_onnx(JOINED, "net.onnx", shapes={"x": (3,)})
    assert graph.inputs == ("x_0", "x_1", "x_2")
    made = run_graph(graph, dict(zip(graph.inputs, PARTS, strict=True)))
    assert np.array_equal(made["y"], np.concatenate(PARTS))


def test_tensors_of_several_sizes_become_as_many_outputs() -> None:
    parts = [np.arange(size, dtype=np.float32) for size in (1, 3)]
    graph = read_onnx(MAPPED, "net.onnx", shapes={"x": (2,), "x_0": (1,), "x_1": (3,)})
    made = run_graph(graph, {"x_0": parts[0], "x_1": parts[1]})
    (wanted,) = ReferenceEvaluator(MAPPED).run(None, {"x": parts})
    assert list(made) == ["y_0", "y_1"]
    assert all(np.array_equal(made[f"y_{number}"], array) for number, array in enumerate(wanted))


@pytest.mark.parametrize(("shapes", "wanted"), [({}, [0, 0]), ({"z": (2,)}, [6, 8])])
def test_an_optional_input_is_there_where_its_shape_is_given(
    shapes: dict[str, tuple[int, ...]], wanted: list[float]
) -> None:
    graph = read_onnx(CHOSEN, "net.onnx", shapes=shapes)
    assert graph.inputs == ("x", *shapes)
    inputs = {"x": np.asarray([1, 2], np.float32), "z": np.asarray([5, 6], np.float32)}
    assert run_graph(graph, {name: inputs[name] for name in graph.inputs})["y"].tolist() == wanted


def test_a_sequence_without_its_length_is_refused_with_the_option_that_gives_it() -> None:
    with pytest.raises(LeftOpenError, match="its number of tensors must be known") as error:
        read_onnx(JOINED, "net.onnx")
    assert error.value.hint == 'set it: --shape x=1 for one, the input "x_0"'
    assert error.value.options == "--shape x=1"


def test_sizes_of_its_tensors_that_the_file_leaves_open_are_asked_for() -> None:
    with pytest.raises(LeftOpenError, match=r'input "x_0" has the shape \[rows\]') as error:
        read_onnx(MAPPED, "net.onnx", shapes={"x": (1,)})
    assert error.value.options.startswith("--shape x_0=")


@pytest.mark.parametrize("shape", [(3, 2), (5000,), ()])
def test_a_shape_that_is_not_a_length_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ModelError, match="is not the length of a sequence, up to 4,096") as error:
        read_onnx(JOINED, "net.onnx", shapes={"x": shape})
    assert error.value.hint == "set its number of tensors:  --shape x=3"


def test_a_tensor_of_a_sequence_that_is_called_as_an_input_is_refused() -> None:
    nodes = [MAKE("Neg", ["y_1"], ["n"]), MAKE("SequenceConstruct", ["n", "n"], ["y"])]
    with pytest.raises(ModelError, match="two with the same name"):
        read_onnx(file_of(nodes, {"y_1": PLAIN}, {"y": LIST}), "net.onnx")


def test_an_output_without_elements_is_left_out() -> None:
    nodes = [MAKE("Split", ["x"], ["all", "none"], axis=0, num_outputs=2), MAKE("Neg", ["x"], ["y"])]
    one = helper.make_tensor_type_proto(TensorProto.FLOAT, [1])
    graph = read_onnx(file_of(nodes, {"x": one}, {"all": OPEN, "none": OPEN, "y": OPEN}), "net.onnx")
    assert graph.outputs == ("all", "y")
