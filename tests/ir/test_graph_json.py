"""The JSON of a graph is read back as the same graph, and what is not a graph is refused by name."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from random_graphs import graphs, same

from aot.errors import DeployError, InputError
from aot.frontend.load import load_model
from aot.ir.graph import Graph, Node
from aot.ir.graph_json import from_json, to_json
from aot.ir.region import DeviceRegion, subgraphs_of
from aot.ir.text import parse_graph, print_graph
from aot.ir.types import Array

TEXT = """\
graph "tiny"
input "x": i8[1,4,4,1] {0.5, -128}
constant "w": i8[2,1,1,1] {0.25 0.125, 0 0, axis 0} = [1, -2]
constant "table": i8[100] = external
"conv" = conv2d(stride=[2, 2], activation=relu) "x", "w", none -> "y": i8[1,2,2,2] {0.5, -128} # CONV_2D #0
state "s": i8[1,2,2,2] {0.5, -128} next "y" = [0, 1, 2, 3, 4, 5, 6, 7]
output "y"
"""
TABLE = np.arange(100, dtype=np.int8)


def tiny() -> Graph:
    return parse_graph(TEXT, {"table": TABLE})


def arrays_of(graph: Graph) -> Mapping[str, Array]:
    return {**graph.constants, **{state.name: state.initial for state in graph.states}}


@pytest.mark.slow
@given(graphs())
def test_a_graph_is_read_back_the_same(graph):
    assert same(from_json(to_json(graph)), graph)


@pytest.mark.slow
@given(graphs())
def test_constants_may_lie_beside_it(graph):
    assert same(from_json(to_json(graph, "hash"), arrays_of(graph)), graph)


def test_a_region_is_read_back_with_its_graph():
    inside = tiny()
    types = {name: inside.types[name] for name in (*inside.inputs, *inside.outputs)}
    node = Node("npu", DeviceRegion("npu", inside), inside.inputs, inside.outputs)
    graph = Graph("outside", inside.inputs, inside.outputs, (node,), types)
    (read,) = subgraphs_of(from_json(to_json(graph)))
    assert isinstance(read, DeviceRegion)
    assert read.device == "npu"
    assert same(read.graph, inside)


@pytest.mark.slow
def test_the_shared_models_make_the_round_trip(shared_dir):
    """Those whose files say all sizes, by hash and by the elements themselves."""
    tried = 0
    for path in sorted((shared_dir / "models").glob("*/model.*")):
        try:
            graph = load_model(path, "tflm")
        except DeployError:
            continue
        tried += 1
        for text in (to_json(graph, "hash"), to_json(graph)):
            read = from_json(text, arrays_of(graph))
            assert print_graph(read) == print_graph(graph), path
            assert same(read, graph), path
    assert tried > 40


def test_the_json_is_as_documented():
    document = json.loads(to_json(tiny()))
    assert document["format"] == 1
    assert document["values"]["w"]["quant"] == {"scales": [0.25, 0.125], "zero_points": [0, 0], "axis": 0}
    assert document["nodes"] == [
        {
            "name": "conv",
            "op": "conv2d",
            "attributes": {"stride": [2, 2], "activation": "relu"},
            "inputs": ["x", "w", None],
            "outputs": ["y"],
            "origin": "CONV_2D #0",
        }
    ]
    assert document["constants"]["w"]["base64"] == "Af4="


def _without_elements(document: Any) -> None:
    del document["constants"]["w"]["base64"]


def _other_elements(document: Any) -> None:
    document["constants"]["w"]["base64"] = "Af8="


def _other_op(document: Any) -> None:
    document["nodes"][0]["op"] = "conv2"


def _other_attribute(document: Any) -> None:
    document["nodes"][0]["attributes"]["strides"] = [1, 1]


def _other_format(document: Any) -> None:
    document["format"] = 9


def _no_nodes(document: Any) -> None:
    del document["nodes"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_without_elements, 'the elements of "w" are not in this JSON, which has only their hash'),
        (_other_elements, 'the elements of "w" differ from those that the graph was written with'),
        (_other_op, 'there is no op "conv2" - did you mean "conv2d"?'),
        (_other_attribute, 'conv2d has no attribute "strides" - did you mean "stride"?'),
        (_other_format, "this JSON has format 9, only format 1 can be read"),
        (_no_nodes, "this JSON is not a graph: KeyError: 'nodes'"),
    ],
)
def test_what_is_not_a_graph_is_refused(change, message):
    document = json.loads(to_json(tiny()))
    change(document)
    with pytest.raises(InputError) as error:
        from_json(json.dumps(document))
    assert error.value.what == message


def test_what_is_not_json_is_refused():
    with pytest.raises(InputError, match="this is not JSON"):
        from_json("{")
    with pytest.raises(InputError, match='"base46" is not an encoding of elements'):
        to_json(tiny(), "base46")
