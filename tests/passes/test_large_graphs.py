"""Graphs of very many nodes: reasons stay short, and the work grows with the nodes, not with their square."""

from typing import Any

from graphs import Draft

from aot.ir.graph import Graph, Node
from aot.ir.text import parse_graph
from aot.ir.types import DType, TensorType
from aot.ops.unary import Logistic
from aot.passes.channel_ranges import channel_ranges
from aot.passes.meaning import remove_dead_channels as search
from aot.passes.pipeline import meaning_passes, run_meaning
from aot.passes.values import needed_elsewhere


def test_the_first_of_very_many_readers_are_named():
    made = tuple(f"y{n}" for n in range(1000))
    nodes = tuple(Node(f"n{n}", Logistic(), ("x",), (name,)) for n, name in enumerate(made))
    graph = Graph("many", ("x",), made, nodes, dict.fromkeys(("x", *made), TensorType(DType.F32, (4,))))
    miss = needed_elsewhere(graph, "x")
    assert miss is not None
    assert miss.because == (
        'reads "x", which has several readers: "n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7" and 992 more'
    )


def _normalized_layers(count: int) -> Graph:
    """Dense layers, each with a batch normalization and a clamp as nodes of their own."""
    lines, x = ['graph "deep"', 'input "x": f32[1,2]'], "x"
    for n in range(count):
        lines.insert(2, f'constant "w{n}": f32[2,2] = [{n}.0, 1.0, 2.0, 3.0]')
        lines.insert(3, f'constant "f{n}": f32[2] = [{n}.5, 2.0]\nconstant "t{n}": f32[2] = [{n}.0, 1.0]')
        lines += [
            f'"dense{n}" = dense() "{x}", "w{n}", none -> "d{n}": f32[1,2]',
            f'"scaled{n}" = mul() "d{n}", "f{n}" -> "s{n}": f32[1,2]',
            f'"moved{n}" = add() "s{n}", "t{n}" -> "m{n}": f32[1,2]',
            f'"clamped{n}" = clamp(activation=relu) "m{n}" -> "c{n}": f32[1,2]',
        ]
        x = f"c{n}"
    return parse_graph("\n".join([*lines, f'output "{x}"', ""]))


def test_rewriting_very_many_layers_builds_few_graphs(monkeypatch):
    """A graph for each of 900 rewritings took minutes for models of some thousand layers."""
    built, with_nodes = [], Graph.with_nodes

    def counted(*given: Any, **named: Any) -> Graph:
        built.append(1)
        return with_nodes(*given, **named)

    graph = _normalized_layers(300)
    monkeypatch.setattr(Graph, "with_nodes", counted)
    run = run_meaning(graph)
    assert len(run.graph.nodes) == 300, "all that is left are the dense layers"
    assert len(built) <= 2 * len(meaning_passes())


MOST_ROUNDS = 4


def chain(layers: int) -> Graph:
    d = Draft()
    x = d.input("x", 1, 1, 1, 4)
    for number in range(layers):
        x = d.conv(f"c{number}", x, 4, 1)
    return d.graph(x)


def test_the_rounds_do_not_grow_with_the_layers(monkeypatch):
    """A round that went in one direction alone would reach one layer more each time."""
    rounds: list[int] = []
    once = search._keep_needed

    def counted(*given: object) -> bool:
        rounds.append(1)
        return once(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(search, "_keep_needed", counted)
    graph = chain(60)
    dead = search.dead_channels(graph, channel_ranges(graph))
    assert not any(mask.any() for mask in dead.values())
    assert len(rounds) <= MOST_ROUNDS
