"""What a model keeps from run to run: the reference, the loop interpreter, C and a board go on alike."""

from collections.abc import Sequence

import numpy as np
import pytest
from c_checks import failures_on_board
from model_checks import DSP, OPTIONS, PLAIN, Sample, compiled, state_check
from op_case import int8
from row_machine import run_lowered

from aot.interpret import run_series
from aot.ir.graph import Graph, Node, State
from aot.ir.types import Array
from aot.ir.verify import verify
from aot.ops.activation import Activation
from aot.ops.binary import Add
from aot.ops.concat import Concat
from aot.ops.reshape import Reshape
from aot.ops.unary import Clamp
from aot.passes.pipeline import run_meaning
from aot.plan.model import Plan, PlannedBuffer
from codegen.lower.lower import lower_graph
from platforms.shared_library import build

RUNS = 4
T = int8(1, 3)


def running_sum() -> Graph:
    """y = x + what y was."""
    nodes = (Node("add", Add(), ("x", "last"), ("y",)),)
    state = State("last", "y", np.array([[1, -2, 3]], np.int8))
    return Graph("running_sum", ("x",), ("y",), nodes, dict.fromkeys(("x", "last", "y"), T), {}, (state,))


def delay() -> Graph:
    """Two states of which one becomes the other: y is x of two runs before."""
    nodes = (Node("clamp", Clamp(Activation.RELU), ("older",), ("y",)),)
    states = (State("older", "newer", _zeros()), State("newer", "x", _zeros()))
    types = dict.fromkeys(("x", "older", "newer", "y"), T)
    return Graph("delay", ("x",), ("y",), nodes, types, {}, states)


def window() -> Graph:
    """A state that never changes, and one that becomes a view; nothing reads it."""
    row, rows = int8(1, 1, 2, 3), int8(1, 1, 6, 3)
    nodes = (
        Node("join", Concat(2), ("held", "x"), ("y",)),
        Node("clamp", Clamp(Activation.RELU6), ("y",), ("clamped",)),
        Node("view", Reshape((1, 1, 1, 18)), ("clamped",), ("flat",)),
        Node("again", Reshape((1, 6, 1, 3)), ("clamped",), ("next",)),
    )
    types = {"x": row, "held": int8(1, 1, 4, 3), "y": rows, "clamped": rows, "flat": int8(1, 1, 1, 18)}
    types["next"], types["seen"] = int8(1, 6, 1, 3), int8(1, 6, 1, 3)
    states = (
        State("held", "held", np.full((1, 1, 4, 3), 9, np.int8)),
        State("seen", "next", np.zeros((1, 6, 1, 3), np.int8)),
    )
    return Graph("window", ("x",), ("y", "flat"), nodes, types, {}, states)


def _zeros() -> Array:
    return np.zeros((1, 3), np.int8)


GRAPHS = {"delay": delay, "running_sum": running_sum, "window": window}


def samples_for(graph: Graph) -> Sequence[Sample]:
    rng = np.random.default_rng(8)
    return [{"x": rng.integers(-40, 41, graph.types["x"].shape).astype(np.int8)} for _ in range(RUNS)]


@pytest.mark.parametrize("name", GRAPHS)
def test_lowered_stages_go_on_as_the_reference(name):
    graph = GRAPHS[name]()
    verify(graph)
    lowered = lower_graph(run_meaning(graph).graph, PLAIN, OPTIONS["speed"])
    states = {state.name: state.initial for state in graph.states}
    samples = samples_for(graph)
    for sample, wanted in zip(samples, run_series(graph, samples), strict=True):
        made = run_lowered(lowered, sample, states)
        states = {state.name: made[state.name] for state in graph.states}
        assert {v: made[v].reshape(a.shape).tolist() for v, a in wanted.items()} == {
            v: a.tolist() for v, a in wanted.items()
        }


@pytest.mark.cc
@pytest.mark.parametrize("options", ["speed", "ram", "whole_tensors"])
@pytest.mark.parametrize("name", GRAPHS)
def test_only_states_live_in_a_spoiled_arena(name, options, tmp_path):
    """Between runs everything but the bytes of the states is filled with garbage."""
    graph = GRAPHS[name]()
    model = compiled(graph, PLAIN, OPTIONS[options], "k")
    host = build(model.sources, tmp_path)
    samples = samples_for(graph)
    for turn in range(2):  # a reset begins afresh
        host.arenas[0][:] = 0xA5 + turn
        host.reset()
        for sample, wanted in zip(samples, run_series(graph, samples), strict=True):
            kept = [host.arenas[0][b.offset : b.offset + b.bytes].copy() for b in _buffers(model.plan, graph)]
            host.arenas[0][:] = 0x5A
            for buffer, data in zip(_buffers(model.plan, graph), kept, strict=True):
                host.arenas[0][buffer.offset : buffer.offset + buffer.bytes] = data
            made = host.run(sample)
            assert {v: made[v].reshape(a.shape).tolist() for v, a in wanted.items()} == {
                v: a.tolist() for v, a in wanted.items()
            }


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_a_cortex_m4_goes_on_as_the_reference(tmp_path):
    checks = []
    for number, name in enumerate(GRAPHS):
        graph = GRAPHS[name]()
        samples = samples_for(graph)
        model = compiled(graph, DSP, OPTIONS["speed"], f"k{number}")
        checks.append(state_check(name, model, samples, list(run_series(graph, samples))))
    assert failures_on_board(checks, tmp_path / "checks") == {}


def test_the_header_says_that_the_arena_is_kept():
    sources = compiled(running_sum(), PLAIN, OPTIONS["speed"], "sums").sources
    assert "3 bytes of the arena are kept from run to run" in sources["sums.h"]
    assert "int32_t sums_reset(void *arena);" in sources["sums.h"]
    assert "    .reset_state = reset_state," in sources["sums_describe.c"]


def _buffers(plan: Plan, graph: Graph) -> list[PlannedBuffer]:
    return [plan.buffers[state.name] for state in graph.states]
