"""Patterns match what they say and nothing else, print as they read, and refuse what cannot exist."""

import numpy as np
import pytest

from aot.ir.graph import Graph, Node
from aot.ir.types import DType, TensorType
from aot.ops.activation import Activation
from aot.ops.binary import Add, Mul
from aot.ops.op import Op
from aot.ops.softmax import Softmax
from aot.ops.unary import Tanh
from aot.patterns.pattern import (
    Match,
    Pattern,
    PatternError,
    absent,
    any_of,
    chain,
    constant,
    dominated,
    has_attr,
    has_type,
    is_op,
    match,
    matches,
    optional,
    wildcard,
)

F32 = TensorType(DType.F32, (1, 4))


def graph(*nodes: tuple[Op, tuple[str | None, ...], str], outputs: tuple[str, ...] = ()) -> Graph:
    """Nodes over the input x and the constants one and two; each has the name of its result."""
    made = tuple(Node(out, op, inputs, (out,)) for op, inputs, out in nodes)
    constants = {"one": np.ones((1, 4), np.float32), "two": np.full((1, 4), 2, np.float32)}
    names = ("x", *constants, *(out for *_, out in nodes))
    return Graph("g", ("x",), outputs or (nodes[-1][2],), made, dict.fromkeys(names, F32), constants)


ADD, MUL, TANH = Add(), Mul(), Tanh()
DIAMOND = graph(
    (TANH, ("x",), "t"), (ADD, ("t", "one"), "a"), (MUL, ("t", "two"), "m"), (ADD, ("a", "m"), "y")
)


def names(found: Match | None) -> list[str] | None:
    return None if found is None else [node.name for node in found.nodes]


def test_a_node_matches_by_its_op_and_its_inputs():
    assert names(match(is_op("add"), DIAMOND, "y")) == ["y"]
    assert match(is_op("mul"), DIAMOND, "y") is None
    assert match(is_op("tanh"), DIAMOND, "x") is None, "an input of the graph has no maker"
    assert names(match(is_op("add")(is_op("add"), is_op("mul")), DIAMOND, "y")) == ["a", "m", "y"]
    assert match(is_op("add")(is_op("mul"), is_op("add")), DIAMOND, "y") is None, "inputs have an order"


def test_inputs_without_a_pattern_must_be_absent():
    made = graph((ADD, ("x", "one"), "y"))
    assert match(is_op("add")(wildcard()), made, "y") is None
    assert match(is_op("add")(wildcard(), wildcard(), absent()), made, "y")
    assert match(is_op("add")(wildcard(), absent()), made, "y") is None
    assert match(is_op("add")(wildcard(), wildcard(), wildcard()), made, "y") is None


def test_a_pattern_in_two_places_is_one_value():
    same = wildcard()
    twice = graph((TANH, ("x",), "t"), (MUL, ("t", "t"), "y"))
    assert match(is_op("mul")(same, same), twice, "y")
    assert match(is_op("add")(same, same), DIAMOND, "y") is None
    found = match(is_op("add")(is_op("add")(same, constant()), is_op("mul")(same, constant())), DIAMOND, "y")
    assert found is not None
    assert found[same] == "t"


def test_constants_match_by_their_elements():
    assert match(is_op("add")(wildcard(), constant(1)), DIAMOND, "a")
    assert match(is_op("add")(wildcard(), constant(2)), DIAMOND, "a") is None
    assert match(is_op("add")(constant(), constant()), DIAMOND, "a") is None


def test_attributes_and_types_are_looked_at():
    made = graph((Add(Activation.RELU), ("x", "one"), "y"))
    assert match(has_attr(is_op("add"), activation=Activation.RELU), made, "y")
    assert match(has_attr(is_op("add"), activation=Activation.NONE), made, "y") is None
    assert match(has_attr(wildcard(), beta=1.0), made, "y") is None, "add has no beta"
    assert match(has_attr(wildcard(), beta=1.0), made, "x") is None, "nothing makes x"
    assert match(has_type(wildcard(), DType.F32, (1, None)), made, "x")
    assert match(has_type(wildcard(), shape=(1,)), made, "x") is None
    assert match(has_type(wildcard(), shape=(2, 4)), made, "x") is None
    assert match(has_type(wildcard(), DType.I8), made, "x") is None
    assert match(is_op("add")(wildcard(), wildcard(), has_type(wildcard(), DType.I8)), made, "y") is None


def test_alternatives_are_tried_until_all_holds():
    """The first alternative of the inner pattern matches alone, but leaves the outer one without a match."""
    part = wildcard()
    inner = any_of(is_op("add")(wildcard(), part), is_op("add")(part, wildcard()))
    found = match(is_op("add")(inner, is_op("mul")(part, constant())), DIAMOND, "y")
    assert found is not None
    assert found[part] == "t"
    assert match(any_of(is_op("mul"), is_op("tanh")), DIAMOND, "y") is None


def test_an_optional_node_may_be_there():
    pattern = optional(is_op("tanh"), is_op("add"))
    with_it = graph((ADD, ("x", "one"), "a"), (TANH, ("a",), "y"))
    assert names(match(pattern, with_it, "y")) == ["a", "y"]
    assert names(match(pattern, with_it, "a")) == ["a"]


@pytest.mark.slow
@pytest.mark.parametrize("length", [1, 7, 3000])
def test_chains_have_any_length(length):
    nodes = [(ADD, (f"a{i - 1}" if i else "x", "one"), f"a{i}") for i in range(length)]
    made = graph(*nodes)
    found = match(chain(lambda x: is_op("add")(x, constant()), wildcard()), made, f"a{length - 1}")
    assert found is not None
    assert len(found.nodes) == length


def test_chains_are_as_long_as_they_may_be_and_what_is_behind_allows():
    made = graph((TANH, ("x",), "t"), *((ADD, (a, "one"), b) for a, b in ("ta", "ab", "bc")))

    def sums(first: Pattern, least: int = 1, most: int | None = None) -> Pattern:
        return chain(lambda x: is_op("add")(x, constant()), first, least, most)

    assert names(match(sums(wildcard(), most=2), made, "c")) == ["b", "c"]
    assert match(sums(is_op("tanh"), most=2), made, "c") is None
    assert names(match(sums(is_op("tanh"), 3), made, "c")) == ["t", "a", "b", "c"]
    assert match(sums(wildcard(), 4), made, "c") is None
    assert names(match(sums(is_op("add"), 0), made, "c")) == ["a", "b", "c"], "the first is the last add"
    assert names(match(sums(is_op("tanh"), 0), made, "t")) == ["t"], "no link at all"


def test_dominators_hold_all_ways_between_two_values():
    over = dominated(is_op("tanh"), any_of(is_op("add"), is_op("mul")), is_op("add"))
    assert names(match(over, DIAMOND, "y")) == ["t", "a", "m", "y"]
    only_sums = dominated(is_op("tanh"), is_op("add"), is_op("add"))
    assert match(only_sums, DIAMOND, "y") is None, "one way goes through a product"


def test_a_dominator_does_not_hold_where_a_way_leads_out():
    over = dominated(is_op("tanh"), any_of(is_op("add"), is_op("mul")), is_op("add"))
    nodes = [(node.op, node.inputs, node.outputs[0]) for node in DIAMOND.nodes]
    assert match(over, graph(*nodes, outputs=("y", "m")), "y") is None
    assert match(over, graph(*nodes, (Softmax(), ("t",), "s"), outputs=("y", "s")), "y") is None


def test_all_matches_of_a_graph_are_in_its_order():
    assert [found.value for found in matches(is_op("add"), DIAMOND)] == ["a", "y"]


def test_an_absent_part_has_no_value():
    part = any_of(wildcard(), absent())
    found = match(is_op("add")(wildcard(), wildcard(), part), DIAMOND, "y")
    assert found is not None
    with pytest.raises(KeyError, match="is absent"):
        found[part]
    with pytest.raises(KeyError):
        found[wildcard()]


def test_patterns_print_as_they_read():
    data = wildcard("data")
    conv = has_attr(is_op("conv2d")(data, constant(), any_of(constant(), absent())), stride=(1, 1))
    assert str(conv) == "conv2d(data, constant, (constant | absent))[stride=(1, 1)]"
    assert str(has_attr(is_op("add"), activation=Activation.RELU)) == "add(...)[activation=relu]"
    assert str(optional(is_op("tanh"), data)) == "(tanh(data) | data)"
    assert str(has_type(wildcard(), DType.I8, (1, None))) == "*: i8[1, ?]"
    assert str(has_type(wildcard(), DType.I8, ())) == "*: i8[]"
    assert str(chain(lambda x: is_op("add")(x, constant(1)), data)) == (
        "{add(previous, constant 1) 1 or more times from data}"
    )
    assert str(chain(is_op("tanh"), data, 2, 3)) == "{tanh(previous) 2 to 3 times from data}"
    assert str(dominated(is_op("tanh"), wildcard(), is_op("add"))) == "{add(...) over * from tanh(...)}"


def test_what_does_not_exist_is_refused_when_the_pattern_is_made():
    with pytest.raises(PatternError) as op:
        is_op("conv2")
    assert op.value.what == 'there is no op "conv2" - did you mean "conv2d"?'
    with pytest.raises(PatternError) as attribute:
        has_attr(is_op("conv2d"), strides=(1, 1))
    assert attribute.value.what == 'conv2d has no attribute "strides" - did you mean "stride"?'
    with pytest.raises(PatternError, match="needs an element type or a shape"):
        has_type(wildcard())
    with pytest.raises(PatternError, match="any_of needs at least two patterns, not 1"):
        any_of(wildcard())
    with pytest.raises(PatternError, match="a chain cannot have 3 to 2 links"):
        chain(is_op("tanh"), wildcard(), 3, 2)
    with pytest.raises(PatternError, match="a link of a chain must contain more than its input"):
        chain(lambda x: x, wildcard())
