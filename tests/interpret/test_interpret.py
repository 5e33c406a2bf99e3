"""The interpreter gives the outputs, or every value, and checks what it is given."""

import numpy as np
import pytest

from aot.errors import InputError
from aot.interpret import run_all, run_graph
from aot.ir.text import parse_graph

GRAPH = parse_graph(
    """
    graph "g"
    input "x": i8[1,2] {0.5, 0}
    constant "c": i8[1,2] {0.5, 0} = [10, -4]
    "first" = add() "x", "c" -> "a": i8[1,2] {0.5, 0}
    "second" = add() "a", "a" -> "y": i8[1,2] {0.5, 0}
    output "y"
    """
)
X = np.array([[1, 2]], np.int8)


def test_outputs_by_name():
    outputs = run_graph(GRAPH, {"x": X})
    assert list(outputs) == ["y"]
    assert outputs["y"].tolist() == [[22, -4]]


def test_every_value_by_name():
    values = run_all(GRAPH, {"x": X})
    assert {name: v.tolist() for name, v in values.items()} == {
        "x": [[1, 2]],
        "a": [[11, -2]],
        "y": [[22, -4]],
    }


def test_an_output_may_be_a_constant():
    graph = parse_graph(
        'graph "g"\ninput "x": i8[1]\nconstant "c": i8[2] = [1, 2]\noutput "c"\n',
    )
    assert run_graph(graph, {"x": np.zeros(1, np.int8)})["c"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, 'error: input "x" is missing\n  given: none'),
        ({"X": X}, 'error: input "x" is missing\n  given: "X"'),
        ({"x": X[0]}, 'error: input "x" is int8[2], the model needs int8[1, 2]'),
        ({"x": X.astype(np.int16)}, 'error: input "x" is int16[1, 2], the model needs int8[1, 2]'),
    ],
)
def test_a_wrong_input_says_what_is_taken(inputs, message):
    with pytest.raises(InputError) as caught:
        run_graph(GRAPH, inputs)
    assert str(caught.value) == message
