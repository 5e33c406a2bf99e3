"""Partitions keep the meaning of a graph, merge what may be merged, and name who claims what cannot be."""

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
from aot.passes.outcome import Miss
from aot.passes.partition.claims import NOBODY, ClaimRule, Claims, claims_by_node, claims_by_rules
from aot.passes.partition.partition import Partition, partition, piece_graph
from aot.patterns.pattern import constant, is_op, optional, wildcard

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


def claims(owner: str, *regions: str) -> list[Claims]:
    return [Claims(owner, tuple(map(tuple, regions)))]


def pieces(found: Partition) -> list[str]:
    """Owner and nodes of each piece: "npu:ab"."""
    return [f"{piece.owner}:{''.join(node.name for node in piece.nodes)}" for piece in found.pieces]


def test_what_nobody_claims_stays_node_by_node():
    found = partition(graph("x", "a"), [])
    assert pieces(found) == [":a", ":b"]
    assert found.left_alone == {}


def test_neighbours_of_one_owner_become_one_region():
    found = partition(graph("x", "a", "b", "c"), claims("npu", "a", "b", "d"))
    assert pieces(found) == ["npu:ab", ":c", "npu:d"]
    assert [(piece.inputs, piece.outputs) for piece in found.pieces] == [
        (("x",), ("b",)),
        (("b",), ("c",)),
        (("c",), ("d",)),
    ]


def test_neighbours_of_two_owners_stay_two():
    found = partition(graph("x", "a"), [*claims("npu", "a"), *claims("dma", "b")])
    assert pieces(found) == ["npu:a", "dma:b"]


def test_no_merge_closes_a_circle():
    """c reads a and b, b reads a and stays: a and c must not become one."""
    found = partition(graph("x", "a", "ab"), claims("npu", "a", "c"))
    assert pieces(found) == ["npu:a", ":b", "npu:c"]


def test_no_two_regions_wait_for_each_other():
    """a and d are one claim, b and c another: each region alone is sound, both together are not."""
    made = graph("x", "a", "x", "c", outputs="bd")
    both = [*claims("npu", "ad"), *claims("dma", "bc")]
    found = partition(made, both)
    assert pieces(found) == [":c", "npu:ad", ":b"]
    assert found.left_alone["dma"] == dict.fromkeys("bc", '"a" is between the nodes of the region')


def test_a_claim_around_a_node_that_stays_is_left_alone():
    found = partition(graph("x", "a", "ab"), claims("npu", "ac"))
    assert pieces(found) == [":a", ":b", ":c"]
    assert found.left_alone["npu"]["a"] == '"b" is between the nodes of the region'


def test_regions_have_several_results_and_outputs_of_the_graph():
    found = partition(graph("x", "a", "a", "bc", outputs="ad"), claims("npu", "a", "b"))
    assert [(p.owner, p.outputs) for p in found.pieces] == [
        ("npu", ("a", "b")),
        (NOBODY, ("c",)),
        (NOBODY, ("d",)),
    ]


def test_the_first_of_two_owners_has_a_node():
    found = partition(graph("x", "a", "b"), [*claims("npu", "ab"), *claims("dma", "bc")])
    assert pieces(found) == ["npu:ab", ":c"]
    assert found.left_alone == {"npu": {}, "dma": dict.fromkeys("bc", "npu owns a part of the region")}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (claims("npu", "ab", "b"), 'npu claims "b" twice'),
        (claims("npu", "aa"), 'npu claims "a" twice'),
        (claims("npu", "az"), 'npu claims "z", which is not a node of g'),
        (claims("npu", ""), "npu claims a region without nodes"),
        (claims("", "a"), "a claim has no owner"),
        (
            [*claims("npu", "a"), *claims("npu", "b")],
            "npu claims nodes twice: return one claim for each owner",
        ),
    ],
)
def test_claims_that_cannot_be_meant_are_errors(wrong, message):
    with pytest.raises(ModelError) as caught:
        partition(graph("x", "a"), wrong)
    assert caught.value.what == message


def mixed() -> Graph:
    nodes = (
        Node("a", Add(), ("x", "one"), ("a",)),
        Node("t", Tanh(), ("a",), ("t",)),
        Node("m", Mul(), ("t", "one"), ("m",)),
        Node("n", Add(), ("m", "one"), ("n",)),
    )
    constants = {"one": np.ones(4, np.float32)}
    return Graph("g", ("x",), ("n",), nodes, dict.fromkeys(("x", "one", *"atmn"), F32), constants)


def test_rules_claim_the_most_that_they_match_and_earlier_ones_first():
    sums = ClaimRule(optional(is_op("tanh"), is_op("add")(wildcard(), constant())))
    products = ClaimRule(is_op("mul")(is_op("tanh"), wildcard()))
    found = claims_by_rules("npu", [sums, products], mixed())
    assert found == Claims("npu", (("n",), ("a", "t")), {"m": "no pattern matches"})


def test_a_rule_says_why_it_refuses_a_match_and_a_later_one_may_take_it():
    late = Miss("comes last")
    first = ClaimRule(is_op("add"), lambda graph, found: late if found.value in graph.outputs else None)
    assert claims_by_rules("npu", [first], mixed()).left_alone["n"] == "comes last"
    assert claims_by_rules("npu", [first, ClaimRule(is_op("add"))], mixed()).regions == (("a",), ("n",))


def test_an_owner_may_take_nodes_one_by_one():
    def refusal(_graph: Graph, node: Node) -> Miss | None:
        return None if node.op.name == "mul" else Miss("is not a product")

    found = claims_by_node("npu", refusal, mixed())
    assert found == Claims("npu", (("m",),), dict.fromkeys("atn", "is not a product"))


def random_graph(chance: random.Random) -> Graph:
    count = chance.randrange(2, 16)
    letters = ["x", *(chr(ord("a") + n) for n in range(count))]
    reads = ["".join(chance.choice(letters[max(0, n - 4) : n + 1]) for _ in range(2)) for n in range(count)]
    outputs = "".join(letter for letter in letters[1:] if not any(letter in word for word in reads))
    return graph(*reads, outputs=outputs)


@pytest.mark.parametrize("seed", range(60))
def test_running_the_pieces_one_by_one_is_running_the_graph(seed):
    chance = random.Random(seed)
    made = random_graph(chance)
    names = [node.name for node in made.nodes]
    wanted = [_random_claims(chance, owner, names) for owner in ("npu", "dma")]
    values: dict[str, Array] = {"x": np.linspace(-1, 1, 4, dtype=np.float32)}
    expected = run_graph(made, values)
    found = partition(made, wanted)
    assert sorted(node.name for piece in found.pieces for node in piece.nodes) == sorted(names)
    for piece in found.pieces:
        part = piece_graph(made, piece)
        verify(part)
        values |= run_graph(part, {name: values[name] for name in part.inputs})
    assert all(np.array_equal(values[name], array) for name, array in expected.items())


def _random_claims(chance: random.Random, owner: str, names: list[str]) -> Claims:
    """Regions of one to three nodes anywhere, none of which share a node."""
    left, regions = chance.sample(names, chance.randrange(len(names) + 1)), []
    while left:
        size = chance.choice((1, 1, 2, 3))
        regions.append(tuple(left[:size]))
        left = left[size:]
    return Claims(owner, tuple(regions))
