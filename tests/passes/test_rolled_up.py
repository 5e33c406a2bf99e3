"""Recurrent layers that a file has step by step are layers again, and compute what the steps computed."""

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from unrolled_models import (
    STEPS,
    UnrolledModel,
    lstm,
    lstm_of_one_product,
    lstm_of_other_weights,
    lstm_that_begins_otherwise,
    lstm_with_states,
    lstm_without_a_first_cell,
    other,
    two_lstms,
)

from aot.frontend.load import parse_model
from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ir.verify import verify
from aot.ops.recurrent import Recurrent
from aot.passes.meaning.fold_constants import fold_constants
from aot.passes.meaning.roll_up_recurrences import roll_up_recurrences
from aot.passes.outcome import Rewritten, Unchanged

Make = Callable[[], UnrolledModel]
ROLLED: dict[str, tuple[Make, int]] = {  # and the nodes beside input, gates and layer
    "an LSTM": (lstm, 2),
    "all its hidden values": (lambda: lstm(returns="all"), 3),
    "its cell too": (lambda: lstm(returns="cell"), 4),
    "from the last row to the first": (lambda: lstm(backwards=True), 2),
    "states that the caller gives": (lstm_with_states, 6),
    "a first step without a cell": (lstm_without_a_first_cell, 2),
    "one product for input and hidden values": (lstm_of_one_product, 2),
    "a GRU whose reset gate comes late": (lambda: other("gru"), 2),
    "a GRU whose reset gate comes early": (lambda: other("gru_before"), 2),
    "an RNN": (lambda: other("rnn"), 2),
}


def rolled(model: UnrolledModel) -> tuple[Graph, Graph]:
    """The graph with folded constants, and what the pass makes of it."""
    graph = parse_model(model.bytes(), "unrolled.onnx")
    folded = fold_constants(graph)
    before = folded.graph if isinstance(folded, Rewritten) else graph
    after = roll_up_recurrences(before)
    assert isinstance(after, Rewritten)
    verify(after.graph)
    return before, after.graph


def require_equal(before: Graph, after: Graph) -> None:
    rng = np.random.default_rng(0)
    inputs = {
        name: rng.standard_normal(before.types[name].shape).astype(np.float32) for name in before.inputs
    }
    wanted, found = (run_graph(graph, inputs) for graph in (before, after))
    for name, array in wanted.items():
        assert np.allclose(found[name], array, rtol=0, atol=1e-6), name


def counts(graph: Graph) -> Counter[str]:
    return Counter(node.op.name for node in graph.nodes)


@pytest.mark.parametrize(("make", "beside"), ROLLED.values(), ids=ROLLED)
def test_steps_are_one_layer(make, beside):
    before, after = rolled(make())
    assert counts(after)["recurrent"] == counts(after)["conv2d"] == 1
    assert len(after.nodes) == 3 + beside
    (layer,) = (node for node in after.nodes if isinstance(node.op, Recurrent))
    assert after.types[layer.outputs[0]].shape[1] == STEPS
    require_equal(before, after)


def test_a_layer_on_a_layer_is_found_too():
    before, after = rolled(two_lstms())
    assert counts(after)["recurrent"] == 2
    assert counts(after)["logistic"] == 0
    require_equal(before, after)


def test_a_first_step_with_another_state_stays_before_the_layer():
    before, after = rolled(lstm_that_begins_otherwise())
    (layer,) = (node for node in after.nodes if isinstance(node.op, Recurrent))
    assert after.types[layer.outputs[0]].shape[1] == STEPS - 1
    assert counts(after)["logistic"] == 3
    require_equal(before, after)


@pytest.mark.parametrize(
    "make", [lstm_of_other_weights, lambda: lstm(steps=2)], ids=["other weights", "two steps"]
)
def test_other_steps_are_left_alone(make):
    found = roll_up_recurrences(parse_model(make().bytes(), "unrolled.onnx"))
    assert found == Unchanged("no three consecutive steps of a known cell have the same weights")
