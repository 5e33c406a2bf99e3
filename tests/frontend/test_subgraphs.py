"""Variables become states; calls, branches and loops that are decided beforehand are written out."""

import numpy as np
import pytest
from tflite_builder import ModelBuilder

from aot.errors import ModelError
from aot.frontend.tflite.read import read_tflite
from aot.frontend.tflite.write_file import FileTensor, ModelSpec
from aot.interpret import run_series
from aot.ir.graph import Graph
from aot.ir.verify import verify

SHAPE = (1, 3)


def read(data: bytes) -> Graph:
    graph = read_tflite(data, "net.tflite")
    verify(graph)
    return graph


def value(name: str, dtype: str = "float32") -> FileTensor:
    return FileTensor(name, SHAPE, dtype)


def handle(build: ModelBuilder, name: str) -> str:
    tensor = FileTensor(f"{name}/handle", (), "resource")
    return build.operator("VAR_HANDLE", 1, (), [tensor], "VarHandleOptions", SharedName=name)


def beginnings(**arrays: list[float]) -> ModelSpec:
    build = ModelBuilder("begin")
    for name, array in arrays.items():
        data = build.constant(f"{name}/begin", np.array([array], np.float32))
        build.operator("ASSIGN_VARIABLE", 1, (handle(build, name), data), [])
    return build.spec()


def counter(read_again: bool = False, begin: bool = True) -> bytes:
    """y = x + sum of all x before it, or what is read after that was assigned."""
    build = ModelBuilder()
    x = build.input("x", SHAPE, dtype="float32")
    if begin:
        build.operator("CALL_ONCE", 1, (), [], "CallOnceOptions", InitSubgraphIndex=1)
    variable = handle(build, "sum")
    before = build.operator("READ_VARIABLE", 1, (variable,), [value("before")])
    y = build.operator("ADD", 1, (before, x), [value("y")], "AddOptions")
    build.operator("ASSIGN_VARIABLE", 1, (variable, y), [])
    if read_again:
        y = build.operator("READ_VARIABLE", 1, (variable,), [value("again")])
    return build.finish(y, called=[beginnings(sum=[10, 20, 30])] if begin else [])


@pytest.mark.parametrize("read_again", [False, True])
def test_a_variable_goes_on_from_run_to_run(read_again):
    graph = read(counter(read_again))
    ones = {"x": np.ones(SHAPE, np.float32)}
    made = [next(iter(y.values())).tolist() for y in run_series(graph, [ones] * 3)]
    assert made == [[[11, 21, 31]], [[12, 22, 32]], [[13, 23, 33]]]


def test_a_variable_that_nobody_begins_begins_with_zeros():
    (state,) = read(counter(begin=False)).states
    assert state.initial.tolist() == [[0, 0, 0]]


def doubling(name: str) -> ModelSpec:
    build = ModelBuilder(name)
    x = build.input(f"{name}/x", SHAPE, dtype="float32")
    return build.spec(build.operator("ADD", 1, (x, x), [value(f"{name}/y")], "AddOptions"))


def with_call(code: str, options: str, **fields: int) -> ModelBuilder:
    build = ModelBuilder()
    x = build.input("x", SHAPE, dtype="float32")
    build.operator(code, 1, (x,), [value("y")], options, **fields)
    return build


def run(data: bytes) -> list[list[float]]:
    graph = read(data)
    (y,) = run_series(graph, [{"x": np.array([[1, 2, 3]], np.float32)}])
    rows: list[list[float]] = next(iter(y.values())).tolist()
    return rows


def test_a_call_is_written_out():
    build = with_call("CALL", "CallOptions", Subgraph=1)
    assert run(build.finish("y", called=[doubling("double")])) == [[2, 4, 6]]


@pytest.mark.parametrize(("condition", "wanted"), [(True, [[2, 4, 6]]), (False, [[1, 2, 3]])])
def test_a_branch_that_is_known_is_taken(condition, wanted):
    build = ModelBuilder()
    x = build.input("x", SHAPE, dtype="float32")
    which = build.constant("which", np.array([condition]))
    fields = {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 2}
    build.operator("IF", 1, (which, x), [value("y")], "IfOptions", **fields)
    same = ModelBuilder("same")
    kept = same.spec(same.input("same/x", SHAPE, dtype="float32"))
    assert run(build.finish("y", called=[doubling("double"), kept])) == wanted


def test_a_branch_that_depends_on_an_input_is_refused():
    build = ModelBuilder()
    which = build.input("which", (1,), dtype="bool")
    x = build.input("x", SHAPE, dtype="float32")
    fields = {"ThenSubgraphIndex": 1, "ElseSubgraphIndex": 1}
    build.operator("IF", 1, (which, x), [value("y")], "IfOptions", **fields)
    with pytest.raises(ModelError) as caught:
        read(build.finish("y", called=[doubling("double")]))
    assert caught.value.what == 'its condition "which" is known only when the model runs'
    assert caught.value.hint == "convert the model so that no branch depends on its inputs"


def calling_itself() -> bytes:
    inner = with_call("CALL", "CallOptions", Subgraph=1)
    return with_call("CALL", "CallOptions", Subgraph=1).finish("y", called=[inner.spec("y")])


def endless() -> bytes:
    build = with_call("WHILE", "WhileOptions", CondSubgraphIndex=1, BodySubgraphIndex=2)
    always = ModelBuilder("always")
    always.input("always/x", SHAPE, dtype="float32")
    condition = always.spec(always.constant("yes", np.array([True])))
    return build.finish("y", called=[condition, doubling("double")])


def assigning_a_constant() -> bytes:
    build = ModelBuilder()
    x = build.input("x", SHAPE, dtype="float32")
    build.operator(
        "ASSIGN_VARIABLE", 1, (handle(build, "v"), build.constant("c", np.zeros(SHAPE, np.float32))), []
    )
    return build.finish(build.operator("RELU", 1, (x,), [value("y")]))


def adding_a_handle() -> bytes:
    build = ModelBuilder()
    x = build.input("x", SHAPE, dtype="float32")
    return build.finish(build.operator("ADD", 1, (x, handle(build, "v")), [value("y")], "AddOptions"))


def making_a_handle() -> bytes:
    build = ModelBuilder()
    x = build.input("x", SHAPE, dtype="float32")
    return build.finish(build.operator("RELU", 1, (x,), [FileTensor("y", SHAPE, "resource")]))


def given_a_handle() -> bytes:
    build = ModelBuilder()
    x = build.input("x", SHAPE, dtype="resource")
    return build.finish(build.operator("READ_VARIABLE", 1, (x,), [value("y")]))


def returning_a_handle() -> bytes:
    inner = ModelBuilder("inner")
    inner.input("inner/x", SHAPE, dtype="float32")
    called = inner.spec(handle(inner, "v"))
    return with_call("CALL", "CallOptions", Subgraph=1).finish("y", called=[called])


def never_called() -> bytes:
    build = ModelBuilder()
    x = build.input("x", SHAPE, dtype="float32")
    return build.finish(build.operator("RELU", 1, (x,), [value("y")]), called=[doubling("double")])


def test_the_first_subgraph_is_the_model_and_other_signatures_are_left_out():
    (node,) = read(never_called()).nodes
    assert node.op.name == "clamp"


def test_a_loop_whose_end_is_known_is_written_out():
    """while (turns != 0) { x += x; turns = turns * nothing }: once."""
    build = ModelBuilder()
    x = build.input("x", SHAPE, dtype="float32")
    turns = build.constant("turns", np.ones((1, 1), np.float32))
    results = [FileTensor("left", (1, 1), "float32"), value("y")]
    build.operator("WHILE", 1, (turns, x), results, "WhileOptions", CondSubgraphIndex=1, BodySubgraphIndex=2)
    more = ModelBuilder("more")
    left = more.input("more/turns", (1, 1), dtype="float32")
    more.input("more/x", SHAPE, dtype="float32")
    body = ModelBuilder("body")
    left_before = body.input("body/turns", (1, 1), dtype="float32")
    x_before = body.input("body/x", SHAPE, dtype="float32")
    nothing = body.constant("nothing", np.zeros((1, 1), np.float32))
    after = body.operator(
        "MUL", 1, (left_before, nothing), [FileTensor("after", (1, 1), "float32")], "MulOptions"
    )
    doubled = body.operator("ADD", 1, (x_before, x_before), [value("doubled")], "AddOptions")
    called = [more.spec(left), body.spec(after, doubled)]
    assert run(build.finish("y", called=called)) == [[2, 4, 6]]


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (calling_itself, "it calls subgraph 1, which contains it"),
        (endless, "its loop runs more than 1000 times"),
        (assigning_a_constant, 'it assigns the constant "c"'),
        (adding_a_handle, '"v/handle" is the handle of a variable, not a tensor'),
        (making_a_handle, '"y" is the handle of a variable, not a tensor'),
        (given_a_handle, 'its variable "x" has no VAR_HANDLE before this operator'),
        (
            returning_a_handle,
            'its subgraph returns "v/handle", which is the handle of a variable, not a tensor',
        ),
        (
            lambda: with_call("CALL", "CallOptions", Subgraph=7).finish("y"),
            "subgraph 7 is called, the file has 1",
        ),
    ],
)
def test_what_cannot_be_written_out_is_refused(data, what):
    with pytest.raises(ModelError) as caught:
        read(data())
    assert caught.value.what == what
