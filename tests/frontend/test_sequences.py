"""Sequences of tensors and optional inputs: resolved while the file is read, or refused."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from onnx import GraphProto, NodeProto, TensorProto, TypeProto, ValueInfoProto, helper
from onnx.reference import ReferenceEvaluator
from onnx_files import onnx_file
from onnx_oracle import run_onnx

from aot.errors import ModelError
from aot.frontend.onnx.errors import LeftOpenError
from aot.frontend.onnx.read import read_onnx
from aot.interpret import run_graph
from aot.ops.rearrange import Rearrange
from aot.ops.reshape import Reshape
from aot.passes.pipeline import run_meaning

MAKE = helper.make_node
X = np.arange(42, dtype=np.float32).reshape(7, 2, 3) / 10 - 2
NUMBERS = {"zero": 0, "one": 1, "last": -1, "three": 3, "parts": [1, 4, 2], "long": [-1, 3]}


def info(name: str, element: int, shape: Sequence[int] | None = None) -> helper.ValueInfoProto:
    return helper.make_tensor_value_info(name, element, shape)


def sequence(name: str) -> helper.ValueInfoProto:
    return helper.make_tensor_sequence_value_info(name, TensorProto.FLOAT, None)


def appended() -> GraphProto:
    """A turn of a loop that appends a piece of x, as a script that fills a list has it."""
    nodes = [
        MAKE("Gather", ["x", "turn"], ["row"], axis=0),
        MAKE("Tanh", ["row"], ["element"]),
        MAKE("SequenceInsert", ["before", "element"], ["after"]),
        MAKE("Identity", ["on"], ["goes_on"]),
    ]
    given = [info("turn", TensorProto.INT64, []), info("on", TensorProto.BOOL, []), sequence("before")]
    return helper.make_graph(nodes, "turn", given, [info("goes_on", TensorProto.BOOL, []), sequence("after")])


def negated() -> GraphProto:
    given, made = info("element", TensorProto.FLOAT), info("minus", TensorProto.FLOAT)
    return helper.make_graph([MAKE("Neg", ["element"], ["minus"])], "each", [given], [made])


SPLIT = MAKE("SplitToSequence", ["x"], ["s"])
NETWORKS: Mapping[str, list[NodeProto]] = {
    "parts of one size, the last smaller": [
        MAKE("SplitToSequence", ["x", "three"], ["s"], axis=0),
        MAKE("SequenceAt", ["s", "last"], ["y"]),
    ],
    "parts of given sizes, joined in another order": [
        MAKE("SplitToSequence", ["x", "parts"], ["s"], axis=0),
        MAKE("SequenceAt", ["s", "one"], ["b"]),
        MAKE("SequenceErase", ["s", "one"], ["t"]),
        MAKE("SequenceInsert", ["t", "b", "zero"], ["u"]),
        MAKE("ConcatFromSequence", ["u"], ["y"], axis=0),
    ],
    "unbound and stacked elsewhere": [
        MAKE("SplitToSequence", ["x"], ["s"], axis=1, keepdims=0),
        MAKE("Identity", ["s"], ["t"]),
        MAKE("ConcatFromSequence", ["t"], ["y"], axis=-1, new_axis=1),
    ],
    "a list of one after the other": [
        MAKE("Relu", ["x"], ["r"]),
        MAKE("SequenceConstruct", ["x", "r"], ["s"]),
        MAKE("SequenceInsert", ["s", "r", "last"], ["t"]),
        MAKE("SequenceErase", ["t"], ["u"]),
        MAKE("ConcatFromSequence", ["u"], ["y"], axis=2),
    ],
    "a length that shapes are made of": [
        SPLIT,
        MAKE("SequenceLength", ["s"], ["n"]),
        MAKE("Mul", ["n", "long"], ["shape"]),
        MAKE("Abs", ["shape"], ["positive"]),
        MAKE("Slice", ["positive", "one_place", "two_place"], ["columns"]),
        MAKE("Concat", ["minus_place", "columns"], ["wanted"], axis=0),
        MAKE("Flatten", ["x"], ["flat"], axis=0),
        MAKE("Reshape", ["flat", "wanted"], ["y"]),
    ],
    "a list that a loop fills": [
        MAKE("SequenceEmpty", [], ["none"]),
        MAKE("Loop", ["three", "", "none"], ["s"], body=appended()),
        MAKE("ConcatFromSequence", ["s"], ["y"], axis=0, new_axis=1),
    ],
    "each of a list": [
        SPLIT,
        MAKE("SequenceMap", ["s"], ["t"], body=negated()),
        MAKE("SequenceAt", ["t", "three"], ["y"]),
    ],
}
PLACES = {"one_place": [1], "two_place": [2], "minus_place": [-1]}


def file_of(nodes: list[NodeProto], result: helper.ValueInfoProto, position: bool = False) -> bytes:
    constants = {name: np.asarray(v, np.int64) for name, v in {**NUMBERS, **PLACES}.items()}
    inputs = [info("x", TensorProto.FLOAT, X.shape), *([info("p", TensorProto.INT64, [])] * position)]
    return onnx_file(nodes, inputs, [result], constants)


@pytest.mark.parametrize("name", NETWORKS)
def test_lists_of_tensors_give_what_onnx_runtime_gives(name):
    data = file_of(NETWORKS[name], info("y", TensorProto.FLOAT))
    (wanted,) = run_onnx(data, {"x": X})
    made = run_graph(read_onnx(data, "lists.onnx"), {"x": X})["y"]
    assert made.shape == wanted.shape
    assert np.allclose(made, wanted, rtol=1e-6)


def test_a_part_taken_from_a_list_is_one_copy():
    data = file_of(NETWORKS["parts of one size, the last smaller"], info("y", TensorProto.FLOAT))
    graph = run_meaning(read_onnx(data, "lists.onnx")).graph
    (part,) = (node.op for node in graph.nodes if not isinstance(node.op, Reshape))
    assert isinstance(part, Rearrange)
    assert part.offset == 36


@pytest.mark.parametrize(
    ("nodes", "result", "what"),
    [
        (
            [MAKE("SequenceEmpty", [], ["s"])],
            sequence("s"),
            "all outputs of the model are empty, so there is nothing to compute",
        ),
        (
            [MAKE("Optional", [], ["o"]), MAKE("OptionalGetElement", ["o"], ["y"])],
            info("y", 1),
            "it reads an optional value that is absent",
        ),
        (
            [MAKE("Optional", [], ["o"]), MAKE("Relu", ["o"], ["y"])],
            info("y", 1),
            "it reads an absent value, but a tensor is needed",
        ),
        (
            [MAKE("Optional", [], ["o"]), MAKE("SequenceLength", ["o"], ["y"])],
            info("y", 7),
            "input 0 is absent, but a sequence is needed",
        ),
        ([SPLIT, MAKE("Relu", ["s"], ["y"])], info("y", 1), "it reads a sequence, but a tensor is needed"),
        ([MAKE("SequenceAt", ["x", "one"], ["y"])], info("y", 1), "a tensor, but a sequence is needed"),
        (
            [MAKE("SequenceConstruct", ["x"], ["s"]), MAKE("SequenceAt", ["s", "three"], ["y"])],
            info("y", 1),
            "position 3 does not exist in a sequence of 1",
        ),
        (
            [MAKE("SplitToSequence", ["x", "long"], ["s"]), MAKE("SequenceAt", ["s", "one"], ["y"])],
            info("y", 1),
            "parts [-1, 3] do not make 7",
        ),
        (
            [MAKE("SplitToSequence", ["x", "zero"], ["s"]), MAKE("SequenceAt", ["s", "one"], ["y"])],
            info("y", 1),
            "7 in parts of 0 is not supported",
        ),
        (
            [MAKE("SequenceEmpty", [], ["s"]), MAKE("ConcatFromSequence", ["s"], ["y"], axis=0)],
            info("y", 1),
            "the sequence is empty",
        ),
    ],
)
def test_what_no_list_can_give_is_refused(nodes, result, what):
    with pytest.raises(ModelError) as error:
        read_onnx(file_of(nodes, result), "lists.onnx")
    assert what in error.value.what


def test_a_place_that_comes_with_the_run_is_refused_with_the_option_that_fixes_it():
    data = file_of([SPLIT, MAKE("SequenceAt", ["s", "p"], ["y"])], info("y", TensorProto.FLOAT), True)
    with pytest.raises(ModelError, match='its position "p" must be known') as error:
        read_onnx(data, "lists.onnx")
    assert error.value.hint == "fix it: --value p=..."
    graph = read_onnx(data, "lists.onnx", values={"p": np.asarray(2, np.int64)})
    assert np.array_equal(run_graph(graph, {"x": X})["y"], X[2:3])


PLAIN = helper.make_tensor_type_proto(TensorProto.FLOAT, [2])
OPEN = helper.make_tensor_type_proto(TensorProto.FLOAT, ["rows"])
LIST, OPEN_LIST = helper.make_sequence_type_proto(PLAIN), helper.make_sequence_type_proto(OPEN)
PARTS = [np.asarray([number, -number], np.float32) for number in range(3)]


def named(name: str, kind: TypeProto) -> ValueInfoProto:
    return helper.make_value_info(name, kind)


def file_of_types(
    nodes: list[NodeProto], inputs: dict[str, TypeProto], outputs: dict[str, TypeProto]
) -> bytes:
    given, made = ([named(*pair) for pair in each.items()] for each in (inputs, outputs))
    return onnx_file(nodes, given, made, opset=18)


JOINED = file_of_types([MAKE("ConcatFromSequence", ["x"], ["y"], axis=0)], {"x": LIST}, {"y": OPEN})
MAPPED = file_of_types(
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
CHOSEN = file_of_types(
    [
        MAKE("OptionalHasElement", ["z"], ["is_there"]),
        MAKE("If", ["is_there"], ["other"], then_branch=YES, else_branch=NO),
        MAKE("Add", ["x", "other"], ["y"]),
    ],
    {"x": PLAIN, "z": helper.make_optional_type_proto(PLAIN)},
    {"y": PLAIN},
)


def test_a_sequence_of_given_length_is_so_many_inputs():
    graph = read_onnx(JOINED, "net.onnx", shapes={"x": (3,)})
    assert graph.inputs == ("x_0", "x_1", "x_2")
    made = run_graph(graph, dict(zip(graph.inputs, PARTS, strict=True)))
    assert np.array_equal(made["y"], np.concatenate(PARTS))


def test_tensors_of_several_sizes_become_as_many_outputs():
    parts = [np.arange(size, dtype=np.float32) for size in (1, 3)]
    graph = read_onnx(MAPPED, "net.onnx", shapes={"x": (2,), "x_0": (1,), "x_1": (3,)})
    made = run_graph(graph, {"x_0": parts[0], "x_1": parts[1]})
    (wanted,) = ReferenceEvaluator(MAPPED).run(None, {"x": parts})
    assert list(made) == ["y_0", "y_1"]
    assert all(np.array_equal(made[f"y_{number}"], array) for number, array in enumerate(wanted))


@pytest.mark.parametrize(("shapes", "wanted"), [({}, [0, 0]), ({"z": (2,)}, [6, 8])])
def test_an_optional_input_is_there_where_its_shape_is_given(shapes, wanted):
    graph = read_onnx(CHOSEN, "net.onnx", shapes=shapes)
    assert graph.inputs == ("x", *shapes)
    inputs = {"x": np.asarray([1, 2], np.float32), "z": np.asarray([5, 6], np.float32)}
    assert run_graph(graph, {name: inputs[name] for name in graph.inputs})["y"].tolist() == wanted


def test_a_sequence_without_its_length_is_refused_with_the_option_that_gives_it():
    with pytest.raises(LeftOpenError, match="its number of tensors must be known") as error:
        read_onnx(JOINED, "net.onnx")
    assert error.value.hint == 'set it: --shape x=1 for one, the input "x_0"'
    assert error.value.options == "--shape x=1"


def test_sizes_of_its_tensors_that_the_file_leaves_open_are_asked_for():
    with pytest.raises(LeftOpenError, match=r'input "x_0" has the shape \[rows\]') as error:
        read_onnx(MAPPED, "net.onnx", shapes={"x": (1,)})
    assert error.value.options.startswith("--shape x_0=")


@pytest.mark.parametrize("shape", [(3, 2), (5000,), ()])
def test_a_shape_that_is_not_a_length_is_refused(shape):
    with pytest.raises(ModelError, match="is not the length of a sequence, up to 4,096") as error:
        read_onnx(JOINED, "net.onnx", shapes={"x": shape})
    assert error.value.hint == "set its number of tensors:  --shape x=3"


def test_a_tensor_of_a_sequence_that_is_called_as_an_input_is_refused():
    nodes = [MAKE("Neg", ["y_1"], ["n"]), MAKE("SequenceConstruct", ["n", "n"], ["y"])]
    with pytest.raises(ModelError, match="two with the same name"):
        read_onnx(file_of_types(nodes, {"y_1": PLAIN}, {"y": LIST}), "net.onnx")


def test_an_output_without_elements_is_left_out():
    nodes = [MAKE("Split", ["x"], ["all", "none"], axis=0, num_outputs=2), MAKE("Neg", ["x"], ["y"])]
    one = helper.make_tensor_type_proto(TensorProto.FLOAT, [1])
    graph = read_onnx(file_of_types(nodes, {"x": one}, {"all": OPEN, "none": OPEN, "y": OPEN}), "net.onnx")
    assert graph.outputs == ("all", "y")
