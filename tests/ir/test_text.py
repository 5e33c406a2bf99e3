"""The text of a graph is read back as the same graph, whatever its names, numbers and attributes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aot.ir.graph import Graph, Node, State
from aot.ir.line import GraphTextError
from aot.ir.text import external_constants, parse_graph, print_graph
from aot.ir.types import DType, Quant, TensorType
from aot.ops import OPS
from aot.ops.activation import Activation
from aot.ops.average_pool2d import AveragePool2d
from aot.ops.binary import Add
from aot.ops.conv2d import Conv2d
from aot.ops.conv2d_add import Conv2dAdd
from aot.ops.dense import Dense
from aot.ops.op import Op
from aot.ops.reshape import Reshape
from aot.ops.rounding import RequantRounding
from aot.ops.softmax import Softmax

names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
pairs = st.tuples(st.integers(1, 9), st.integers(1, 9))
paddings = st.tuples(pairs, pairs)
activations = st.sampled_from(Activation)
roundings = st.sampled_from(RequantRounding)
scales = st.floats(1e-30, 1e30)
adds = st.builds(Add, activations)
convolutions = st.builds(Conv2d, pairs, pairs, paddings, activations, roundings)


@st.composite
def quants(draw: st.DrawFn) -> Quant:
    count = draw(st.integers(1, 4))
    axis = draw(st.integers(0, 3)) if count > 1 else None
    zero_points = draw(st.lists(st.integers(-128, 127), min_size=count, max_size=count))
    return Quant(tuple(draw(st.lists(scales, min_size=count, max_size=count))), tuple(zero_points), axis)


ops: st.SearchStrategy[Op] = st.one_of(
    adds,
    st.builds(AveragePool2d, pairs, pairs, paddings, activations),
    convolutions,
    st.builds(Conv2dAdd, convolutions, quants(), adds),
    st.builds(Dense, activations, roundings),
    st.builds(Reshape, st.lists(st.integers(1, 9), max_size=5).map(tuple)),
    st.builds(Softmax, st.floats(1e-9, 1e9)),
)


@st.composite
def constants(draw: st.DrawFn) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    dtype = draw(st.sampled_from([DType.I8, DType.I32, DType.F32, DType.BOOL]))
    shape = draw(st.lists(st.integers(1, 5), max_size=3).map(tuple))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    return (rng.standard_normal(shape) * 100).astype(dtype.numpy)


tensors = st.builds(
    TensorType,
    st.sampled_from(DType),
    st.lists(st.integers(1, 999), max_size=4).map(tuple),
    st.none() | quants(),
)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Any graph that can be written down; whether it keeps the rules is no matter here."""
    x, c, y, s = draw(st.lists(names, min_size=4, max_size=4, unique=True))
    array = draw(constants())
    types = {x: draw(tensors), c: TensorType(DTYPES[array.dtype], array.shape, draw(st.none() | quants()))}
    inputs = draw(st.lists(st.sampled_from([x, c, None]), min_size=1, max_size=3).map(tuple))
    node = Node(draw(names), draw(ops), inputs, (y,), draw(st.just("") | names.map(str.strip)))
    states = (State(s, y, array),) if draw(st.booleans()) else ()
    types |= {y: draw(tensors)} | {state.name: types[c] for state in states}
    return Graph(draw(names), (x,), (y,), (node,), types, {c: array}, states)


DTYPES = {dtype.numpy: dtype for dtype in DType}


def same(a: Graph, b: Graph) -> bool:
    arrays = all(np.array_equal(a.constants[name], b.constants[name], equal_nan=True) for name in a.constants)
    dtypes = all(a.constants[name].dtype == b.constants[name].dtype for name in a.constants)
    states = all(
        (one.name, one.next) == (other.name, other.next)
        and np.array_equal(one.initial, other.initial, equal_nan=True)
        for one, other in zip(a.states, b.states, strict=True)
    )
    bare = [replace(graph, constants={}, states=()) for graph in (a, b)]
    return arrays and dtypes and states and bare[0] == bare[1]


@given(graphs())
def test_a_graph_is_read_back_the_same(graph: Graph) -> None:
    assert same(parse_graph(print_graph(graph, inline_elements=1000)), graph)


@given(graphs())
def test_large_constants_lie_beside_the_text(graph: Graph) -> None:
    text = print_graph(graph, inline_elements=2)
    assert same(parse_graph(text, external_constants(graph, inline_elements=2)), graph)


TEXT = """\
graph "tiny"
input "x": i8[1,4,4,1] {0.5, -128}
constant "w": i8[2,1,1,1] {0.25 0.125, 0 0, axis 0} = [1, -2]
constant "table": i8[100] = external
"conv" = conv2d(stride=[2, 2], activation=relu) "x", "w", none -> "y": i8[1,2,2,2] {0.5, -128} # CONV_2D #0
state "s": i8[1,2,2,2] {0.5, -128} next "y" = [0, 1, 2, 3, 4, 5, 6, 7]
output "y"
"""


def test_the_text_is_as_documented() -> None:
    table = np.arange(100, dtype=np.int8)
    graph = parse_graph(TEXT, {"table": table})
    assert graph.nodes == (
        Node(
            "conv", Conv2d(stride=(2, 2), activation=Activation.RELU), ("x", "w", None), ("y",), "CONV_2D #0"
        ),
    )
    assert graph.constants["table"] is table
    (state,) = graph.states
    assert (state.name, state.next) == ("s", "y")
    assert state.initial.ravel().tolist() == [0, 1, 2, 3, 4, 5, 6, 7]
    assert print_graph(graph) == TEXT


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("what", "line 1: expected graph, input, constant, output, state or a node, found what in: what"),
        ('input "x"', 'line 1: expected :, found the end of the line in: input "x"'),
        ("input x: i8[1]", "line 1: expected a name in quotes, found x in: input x: i8[1]"),
        ('input "x": i9[1]', 'line 1: i9 is not an element type in: input "x": i9[1]'),
        ('input "x": i8[1', 'line 1: expected a value, found [ in: input "x": i8[1'),
        ('constant "c": i8[2] = [1]', 'line 1: 1 elements for shape (2,) in: constant "c": i8[2] = [1]'),
        (
            'constant "c": i8[2] = external',
            'line 1: constant "c" is external and was not given in: constant "c": i8[2] = external',
        ),
        (
            '"n" = gru() "x" -> "y": i8[1]',
            f'line 1: gru is not an op ({", ".join(sorted(OPS))}) in: "n" = gru() "x" -> "y": i8[1]',
        ),
        (
            '"n" = add(size=1) "x" -> "y": i8[1]',
            'line 1: add has no attribute size in: "n" = add(size=1) "x" -> "y": i8[1]',
        ),
        (
            '"n" = add(activation=tanh) "x" -> "y": i8[1]',
            "line 1: tanh is none of none, relu, relu6, relu_n1_to_1, relu_0_to_1, finite "
            'in: "n" = add(activation=tanh) "x" -> "y": i8[1]',
        ),
    ],
)
def test_text_that_is_no_graph_says_where_and_why(line: str, message: str) -> None:
    with pytest.raises(GraphTextError) as caught:
        parse_graph(line)
    assert str(caught.value) == message
