"""The text of a graph is read back as the same graph, whatever its names, numbers and attributes."""

import numpy as np
import pytest
from hypothesis import given
from op_case import int8, op_case
from random_graphs import graphs, same

from aot.ir.graph import Node
from aot.ir.text import GraphTextError, external_constants, parse_graph, print_graph
from aot.ops import OPS
from aot.ops.activation import Activation
from aot.ops.average_pool2d import AveragePool2d, Halves
from aot.ops.conv2d import Conv2d


@pytest.mark.parametrize("halves", Halves)
def test_an_attribute_of_several_words_is_read_back(halves):
    graph = op_case("mean", AveragePool2d(halves=halves), [int8(1, 4, 4, 1)], int8(1, 2, 2, 1)).graph
    assert parse_graph(print_graph(graph)) == graph


@pytest.mark.slow
@given(graphs())
def test_a_graph_is_read_back_the_same(graph):
    assert same(parse_graph(print_graph(graph, inline_elements=1000)), graph)


@pytest.mark.slow
@given(graphs())
def test_large_constants_lie_beside_the_text(graph):
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


def test_the_text_is_as_documented():
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
        (
            "what",
            "line 1: expected graph, input, constant, output, state, window or a node, found what in: what",
        ),
        ('input "x"', 'line 1: expected :, found the end of the line in: input "x"'),
        ("input x: i8[1]", "line 1: expected a name in quotes, found x in: input x: i8[1]"),
        ('input "x": i9[1]', 'line 1: i9 is not an element type in: input "x": i9[1]'),
        ('input "x": i8[1', 'line 1: expected a value, found [ in: input "x": i8[1'),
        ('constant "c": i8[2] = [1]', 'line 1: 1 elements for shape (2,) in: constant "c": i8[2] = [1]'),
        (
            'constant "c": i8[2] = external',
            'line 1: constant "c" is external and was not provided in: constant "c": i8[2] = external',
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
            "line 1: tanh is not one of none, relu, relu6, relu_n1_to_1, relu_0_to_1, finite "
            'in: "n" = add(activation=tanh) "x" -> "y": i8[1]',
        ),
    ],
)
def test_text_that_is_not_a_graph_says_where_and_why(line, message):
    with pytest.raises(GraphTextError) as caught:
        parse_graph(line)
    assert str(caught.value) == message
