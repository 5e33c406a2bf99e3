"""Graphs at random, whatever their names, numbers and attributes, and whether two are the same."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from aot.ir.graph import Graph, Node, State
from aot.ir.types import DType, Quant, TensorType
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
    """Any graph that can be written down; whether it keeps the rules does not matter here."""
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
