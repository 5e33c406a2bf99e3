"""Lists of rows that loops make, as converters write Keras' recurrent layers: LiteRT's results, no copies."""

import numpy as np
import pytest
from litert_oracle import run_litert
from tflite_builder import ModelBuilder

from aot.frontend.tflite.read import read_tflite
from aot.frontend.tflite.write_file import FileTensor
from aot.interpret import run_graph
from aot.ir.verify import verify
from aot.passes.pipeline import run_meaning

DEPTH, UNITS = 3, 4
UNKNOWN = (1, 1, UNITS)  # as the converter declares a list of rows


def real(name: str, *shape: int) -> FileTensor:
    return FileTensor(name, shape, "float32")


def rows_of_a_list(name: str) -> FileTensor:
    return FileTensor(name, UNKNOWN, "float32", signature=(-1, 1, UNITS))


def layer(steps: int, returns: str) -> bytes:
    """h = tanh(w x + r h) for each row of x; each h is put into a list of zeros at its place."""
    build, rng = ModelBuilder(), np.random.default_rng(4)
    x = build.input("x", (steps, 1, DEPTH), dtype="float32")
    turn = build.constant("turn", np.array(0, np.int32))
    rows = build.constant("rows", np.zeros((steps, 1, UNITS), np.float32))
    h = build.constant("h", np.zeros((1, UNITS), np.float32))
    ends = [FileTensor("turns", (), "int32"), real("list", steps, 1, UNITS), real("last", 1, UNITS)]
    build.operator(
        "WHILE", 1, (turn, rows, h, x), [*ends, real("same", steps, 1, DEPTH)], "WhileOptions",
        CondSubgraphIndex=1, BodySubgraphIndex=2,
    )  # fmt: skip
    more = ModelBuilder("more")
    given = [more.input("more/turn", (), dtype="int32"), more.input("more/rows", UNKNOWN, dtype="float32")]
    given += [
        more.input("more/h", (1, UNITS), dtype="float32"),
        more.input("more/x", (steps, 1, DEPTH), dtype="float32"),
    ]
    end = more.constant("end", np.array(steps, np.int32))
    condition = more.spec(more.operator("LESS", 1, (given[0], end), [FileTensor("less", (), "bool")]))
    if returns == "last row":
        bounds = [
            build.constant(name, np.array(n, np.int32))
            for name, n in (("begin", [-1, 0, 0]), ("stop", [0, 1, UNITS]), ("step", [1, 1, 1]))
        ]
        y = build.operator(
            "STRIDED_SLICE",
            1,
            ("list", *bounds),
            [real("y", 1, UNITS)],
            "StridedSliceOptions",
            ShrinkAxisMask=1,
        )
    else:
        y = build.operator("RELU", 1, ("list",), [real("y", steps, 1, UNITS)])
    return build.finish(y, called=[condition, step(steps, rng)])


def step(steps: int, rng: np.random.Generator):
    body = ModelBuilder("body")

    def numbers(name: str, *values: int) -> str:
        return body.constant(name, np.array(values, np.int32))

    turn, rows = body.input("turn", (), dtype="int32"), body.input("before", UNKNOWN, dtype="float32")
    h, x = body.input("h", (1, UNITS), dtype="float32"), body.input("x", (steps, 1, DEPTH), dtype="float32")
    one = body.constant("one", np.array(1, np.int32))
    next_turn = body.operator("ADD", 1, (turn, one), [FileTensor("next", (), "int32")], "AddOptions")
    w = body.constant("w", rng.standard_normal((UNITS, DEPTH)).astype(np.float32))
    r = body.constant("r", rng.standard_normal((UNITS, UNITS)).astype(np.float32))
    row = body.operator("GATHER", 1, (x, turn), [real("row", 1, DEPTH)], "GatherOptions", Axis=0)
    sums = [
        body.operator("FULLY_CONNECTED", 1, (a, b, None), [real(name, 1, UNITS)], "FullyConnectedOptions")
        for a, b, name in ((row, w, "wx"), (h, r, "rh"))
    ]
    made = body.operator("ADD", 1, sums, [real("sum", 1, UNITS)], "AddOptions")
    made = body.operator("TANH", 1, (made,), [real("tanh", 1, UNITS)])
    whole = [FileTensor(name, (3,), "int32") for name in ("count", "behind")]
    single = numbers("single", 1)
    counts = []
    for value, rest, name in ((turn, numbers("all", -1, -1), 0), (next_turn, numbers("none", 0, 0), 1)):
        flat = [FileTensor(f"flat{name}", (1,), "int32")]
        first = body.operator("RESHAPE", 1, (value, single), flat)
        counts.append(
            body.operator("CONCATENATION", 1, (first, rest), [whole[name]], "ConcatenationOptions", Axis=0)
        )
    before = body.operator("SLICE", 1, (rows, numbers("begin", 0, 0, 0), counts[0]), [rows_of_a_list("head")])
    behind = body.operator(
        "SLICE", 1, (rows, counts[1], numbers("rest", -1, -1, -1)), [rows_of_a_list("tail")]
    )
    shape = numbers("shape", 1, 1, UNITS)
    between = body.operator("RESHAPE", 1, (made, shape), [real("item", 1, 1, UNITS)])
    parts = (before, between, behind)
    after = body.operator(
        "CONCATENATION", 1, parts, [rows_of_a_list("joined")], "ConcatenationOptions", Axis=0
    )
    same = body.operator("CAST", 1, (after,), [rows_of_a_list("after")], "CastOptions")
    return body.spec(next_turn, same, made, x)


@pytest.mark.parametrize("returns", ["last row", "all rows"])
@pytest.mark.parametrize("steps", [1, 2, 5])
def test_a_recurrent_layer_gives_what_litert_gives(steps, returns):
    data = layer(steps, returns)
    graph = read_tflite(data, "net.tflite", "litert-ref")
    verify(graph)
    inputs = np.random.default_rng(2).standard_normal((3, steps, 1, DEPTH)).astype(np.float32)
    for x, wanted in zip(inputs, run_litert(data, inputs), strict=True):
        for each in (graph, run_meaning(graph).graph):
            (made,) = run_graph(each, {"x": x}).values()
            assert made.shape == wanted.shape
            assert float(np.abs(made - wanted).max()) < 1e-6


@pytest.mark.parametrize("returns", ["last row", "all rows"])
def test_no_rows_are_joined_and_the_steps_are_one_layer(returns):
    graph = run_meaning(read_tflite(layer(5, returns), "net.tflite")).graph
    names = [node.op.name for node in graph.nodes]
    assert (names.count("concat"), names.count("recurrent")) == (0, 1)
