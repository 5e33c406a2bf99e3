"""Loops are written out as far as the cache of a flash that waits holds them; elsewhere nothing changes."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from graphs import Draft
from model_checks import DSP, OPTIONS, compiled
from row_machine import run_lowered

from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.passes.pipeline import run_meaning
from aot.target import Optimize, Target
from codegen.c.kernel_function import kernel_function
from codegen.c.tree import Assign, ForLoop, Name, Number, Stmt
from codegen.kernels.kernel import Kernel
from codegen.kernels.knobs import Knob, Point, Space
from codegen.lower.code_cache import code_read, statement_bytes
from codegen.lower.decisions import decisions_for
from codegen.lower.lower import lower_graph
from codegen.lower.stages import Lowered

KB = replace(DSP, code_cache_bytes=1024)


def hot() -> Graph:
    """A layer with as much work as those that are written out furthest."""
    d = Draft()
    return d.graph(d.conv("hot", d.input("x", 1, 16, 5, 64), 64, 1))


def transformed() -> Graph:
    """A layer whose sixteen products are all written out."""
    d = Draft()
    return d.graph(d.conv("transformed", d.input("x", 1, 8, 8, 32), 8))


def lowered(graph: Graph, target: Target, tuned: Mapping[str, Point] | None = None) -> Lowered:
    meant = run_meaning(graph).graph
    return lower_graph(meant, target, OPTIONS["speed"], decisions_for(meant, Optimize.SPEED, tuned or {}))


def kernel_on(target: Target, graph: Graph | None = None, tuned: Mapping[str, Point] | None = None) -> Kernel:
    stages = lowered(graph or hot(), target, tuned).stages
    return next(stage.kernel for stage in stages if stage.op == "conv2d")


def is_read_once(kernel: Kernel) -> bool:
    """All of its loops fit a kilobyte; what is before and behind them need not."""
    body = kernel_function(kernel.proc, "").function.body
    return code_read(body, 1024) == statement_bytes(body)


def test_the_longest_whose_loops_fit_is_taken():
    anywhere, in_a_kilobyte = kernel_on(DSP), kernel_on(KB)
    assert [kernel.point["unroll"] for kernel in (anywhere, in_a_kilobyte)] == [16, 4]
    assert is_read_once(in_a_kilobyte)
    assert not is_read_once(anywhere)
    assert in_a_kilobyte.space is not None
    longer = {in_a_kilobyte.space.task: {**in_a_kilobyte.point, "unroll": 8}}
    assert not is_read_once(kernel_on(KB, tuned=longer))


def test_where_no_loop_fits_the_longest_that_reads_at_most_twice_the_least_is_taken():
    """What is read once weighs little, but three times as much is felt."""
    kernel = kernel_on(replace(DSP, code_cache_bytes=300))
    assert kernel.space is not None
    reads = {
        unroll: code_read(kernel_function(made.proc, "").function.body, 300)
        for unroll in (1, 2, 4, 8, 16)
        for made in [kernel_on(DSP, tuned={kernel.space.task: {**kernel.point, "unroll": unroll}})]
    }
    within = [unroll for unroll, read in reads.items() if read <= 2 * min(reads.values())]
    assert kernel.point["unroll"] == max(within) == 2


def test_what_fits_anyway_stays_as_it_is():
    assert kernel_on(replace(DSP, code_cache_bytes=8192)).point == kernel_on(DSP).point


def test_it_is_where_tuning_begins_and_a_record_has_the_last_word():
    kernel = kernel_on(KB)
    assert kernel.space is not None
    assert kernel.space.default == kernel.point
    record = {kernel.space.task: {**kernel.point, "unroll": 16}}
    assert kernel_on(KB, tuned=record).point["unroll"] == 16


def test_a_loop_that_does_not_fit_is_read_on_every_turn():
    def stores(count: int) -> tuple[Stmt, ...]:
        return tuple(Assign(Name(f"a{n}"), Number(n)) for n in range(count))

    def loop(*body: Stmt) -> ForLoop:
        return ForLoop("int32_t", "n", Number(10), body)

    one = statement_bytes(stores(1))
    assert code_read((loop(*stores(4)),), round(5 * one)) == 5 * one, "the loop itself is a statement"
    assert code_read((loop(*stores(5)),), round(5 * one)) == one + 10 * 5 * one
    assert code_read((loop(loop(*stores(3)), *stores(2)),), round(5 * one)) == one + 10 * (4 + 2) * one


def test_shorter_points_come_longest_first():
    knobs = (Knob("pixels", (1, 2)), Knob("unroll", (1, 2, 4), True), Knob("blocks", (1, 2), True))
    space = Space("task", knobs, {}, lambda point: point["unroll"] != 1)
    found = space.shorter({"pixels": 2, "unroll": 4, "blocks": 2})
    assert [(p["pixels"], p["unroll"], p["blocks"]) for p in found] == [(2, 4, 1), (2, 2, 2), (2, 2, 1)]


def test_winograds_products_take_shorter_turns():
    assert kernel_on(DSP, transformed()).point == {"turn": 16}
    assert kernel_on(KB, transformed()).point == {"turn": 8}
    assert "winograd_products_32_by_16(" in compiled(transformed(), KB, OPTIONS["speed"], "m").sources["m.c"]


@pytest.mark.slow
@pytest.mark.parametrize("graph", [hot(), transformed()])
def test_results_are_the_same(graph):
    inputs = {"x": np.random.default_rng(1).integers(-128, 128, graph.types["x"].shape).astype(np.int8)}
    (made,) = graph.outputs
    found = run_lowered(lowered(graph, KB), inputs)
    assert np.array_equal(found[made], run_graph(graph, inputs)[made])
