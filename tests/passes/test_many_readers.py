"""The reason why a value with very many readers stays is a line, and not a list of them all."""

from __future__ import annotations

from aot.ir.graph import Graph, Node
from aot.ir.types import DType, TensorType
from aot.ops.unary import Logistic
from aot.passes.readers import needed_elsewhere


def test_the_first_of_very_many_readers_are_named() -> None:
    made = tuple(f"y{n}" for n in range(1000))
    nodes = tuple(Node(f"n{n}", Logistic(), ("x",), (name,)) for n, name in enumerate(made))
    graph = Graph("many", ("x",), made, nodes, dict.fromkeys(("x", *made), TensorType(DType.F32, (4,))))
    miss = needed_elsewhere(graph, "x")
    assert miss is not None
    assert miss.because == (
        'reads "x", which has several readers: "n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7" and 992 more'
    )
