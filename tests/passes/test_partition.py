"""Partitions keep the meaning of a graph, merge what may be merged, and name who claims what cannot be."""

from __future__ import annotations

import random

import numpy as np
import pytest

from aot.errors import ModelError
from aot.interpret import run_graph
from aot.ir.graph import Graph, Node
from aot.ir.types import Array, DType, TensorType
from aot.ir.verify import verify
from aot.ops.binary import Add, Mul
from aot.ops.unary import Tanh
from aot.passes.partition.claims import NOBODY, Claim, claims_by_patterns, claims_by_predicate
from aot.passes.partition.partition import Partition, partition
from aot.passes.partition.pieces import piece_graph
from aot.patterns.choices import optional
from aot.patterns.leaves import constant, wildcard
from aot.patterns.nodes import is_op

F32 = TensorType(DType.F32, (4,))


def graph(*reads: str, outputs: str = "") -> Graph:
    """Sums named a, b, c, ... of the values that each word of `reads` names by letters, x being the input."""
    nodes = []
    for number, word in enumerate(reads):
        name = chr(ord("a") + number)
        nodes.append(Node(name, Add(), (word[0], word[1:] or "one"), (name,)))
    names = ("x", "one", *(node.name for node in nodes))
    made = tuple(outputs or nodes[-1].name)
    return Graph("g", ("x",), made, tuple(nodes), dict.fromkeys(names, F32), {"one": np.ones(4, np.float32)})


def claims(owner: str, *regions: str) -> list[Claim]:
    return [Claim(owner, tuple(region)) for region in regions]


def pieces(found: Partition) -> list[str]:
    """Owner and nodes of each piece: "npu:ab"."""
    return [f"{piece.owner}:{''.join(node.name for node in piece.nodes)}" for piece in found.pieces]


def test_what_nobody_claims_stays_node_by_node() -> None:
    found = partition(graph("x", "a"), [])
    assert pieces(found) == [":a", ":b"]
    assert found.left_alone == {}


def test_neighbours_of_one_owner_become_one_region() -> None:
    found = partition(graph("x", "a", "b", "c"), claims("npu", "a", "b", "d"))
    assert pieces(found) == ["npu:ab", ":c", "npu:d"]
    assert [(piece.inputs, piece.outputs) for piece in found.pieces] == [
        (("x",), ("b",)),
        (("b",), ("c",)),
        (("c",), ("d",)),
    ]


def test_neighbours_of_two_owners_stay_two() -> None:
    found = partition(graph("x", "a"), [*claims("npu", "a"), *claims("dma", "b")])
    assert pieces(found) == ["npu:a", "dma:b"]


def test_no_merge_closes_a_circle() -> None:
    """c reads a and b, b reads a and stays: a and c must not become one."""
    found = partition(graph("x", "a", "ab"), claims("npu", "a", "c"))
    assert pieces(found) == ["npu:a", ":b", "npu:c"]


def test_no_two_regions_wait_for_each_other() -> None:
    """a and d are one claim, b and c another: each region alone is sound, both together are not."""
    made = graph("x", "a", "x", "c", outputs="bd")
    both = [*claims("npu", "ad"), *claims("dma", "bc")]
    found = partition(made, both)
    assert pieces(found) == [":c", "npu:ad", ":b"]
    assert found.left_alone == dict.fromkeys("bc", 'dma leaves it alone: "a" lies between its nodes')


def test_a_claim_around_a_node_that_stays_is_left_alone() -> None:
    found = partition(graph("x", "a", "ab"), claims("npu", "ac"))
    assert pieces(found) == [":a", ":b", ":c"]
    assert found.left_alone["a"] == 'npu leaves it alone: "b" lies between its nodes'


def test_regions_have_several_results_and_outputs_of_the_graph() -> None:
    found = partition(graph("x", "a", "a", "bc", outputs="ad"), claims("npu", "a", "b"))
    assert [(p.owner, p.outputs) for p in found.pieces] == [
        ("npu", ("a", "b")),
        (NOBODY, ("c",)),
        (NOBODY, ("d",)),
    ]


def test_the_first_of_two_owners_has_a_node() -> None:
    found = partition(graph("x", "a", "b"), [*claims("npu", "ab"), *claims("dma", "bc")])
    assert pieces(found) == ["npu:ab", ":c"]
    assert found.left_alone == {"c": "dma leaves it alone: npu has a part of it"}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (claims("npu", "ab", "b"), 'npu claims "b" twice'),
        (claims("npu", "aa"), 'npu claims "a" twice'),
        (claims("npu", "az"), 'npu claims "z", which is no node of g'),
        (claims("npu", ""), "npu claims a region without nodes"),
        (claims("", "a"), 'nobody claims "a": a claim has an owner'),
    ],
)
def test_claims_that_cannot_be_meant_are_errors(wrong: list[Claim], message: str) -> None:
    with pytest.raises(ModelError) as caught:
        partition(graph("x", "a"), wrong)
    assert caught.value.what == message


def test_patterns_claim_the_most_that_they_match_and_earlier_ones_first() -> None:
    nodes = (
        Node("a", Add(), ("x", "one"), ("a",)),
        Node("t", Tanh(), ("a",), ("t",)),
        Node("m", Mul(), ("t", "one"), ("m",)),
        Node("n", Add(), ("m", "one"), ("n",)),
    )
    constants = {"one": np.ones(4, np.float32)}
    made = Graph("g", ("x",), ("n",), nodes, dict.fromkeys(("x", "one", *"atmn"), F32), constants)
    sums = optional(is_op("tanh"), is_op("add")(wildcard(), constant()))
    found = claims_by_patterns("npu", [sums, is_op("mul")(is_op("tanh"), wildcard())], made)
    assert [claim.nodes for claim in found] == [("n",), ("a", "t")]
    by_name = claims_by_predicate("npu", lambda graph, node: node.op.name == "mul", made)
    assert [claim.nodes for claim in by_name] == [("m",)]


def random_graph(chance: random.Random) -> Graph:
    count = chance.randrange(2, 16)
    letters = ["x", *(chr(ord("a") + n) for n in range(count))]
    reads = ["".join(chance.choice(letters[max(0, n - 4) : n + 1]) for _ in range(2)) for n in range(count)]
    outputs = "".join(letter for letter in letters[1:] if not any(letter in word for word in reads))
    return graph(*reads, outputs=outputs)


@pytest.mark.parametrize("seed", range(60))
def test_running_the_pieces_one_by_one_is_running_the_graph(seed: int) -> None:
    chance = random.Random(seed)
    made = random_graph(chance)
    names = [node.name for node in made.nodes]
    wanted = [
        Claim(chance.choice(("npu", "dma")), tuple(chance.sample(names, min(len(names), size))))
        for size in (1, 1, 1, 2, 2, 3)
    ]
    seen: set[tuple[str, str]] = set()
    sound = []
    for claim in wanted:
        pairs = {(claim.owner, name) for name in claim.nodes}
        if seen.isdisjoint(pairs):
            sound.append(claim)
            seen |= pairs
    values: dict[str, Array] = {"x": np.linspace(-1, 1, 4, dtype=np.float32)}
    expected = run_graph(made, values)
    found = partition(made, sound)
    assert sorted(node.name for piece in found.pieces for node in piece.nodes) == sorted(names)
    for piece in found.pieces:
        part = piece_graph(made, piece)
        verify(part)
        values |= run_graph(part, {name: values[name] for name in part.inputs})
    assert all(np.array_equal(values[name], array) for name, array in expected.items())
