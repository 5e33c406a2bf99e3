"""Tables: the rules by which pointers go from row to row, the names of kernels, and what has to be code."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from chain_model import chain
from error_facts import require_facts
from gather_cases import CASES as GATHERINGS
from graphs import GRAPHS
from model_checks import DSP, PLAIN, compiled
from tiny_models import TINY

from aot.errors import DeployError
from aot.frontend.tflite.read import read_tflite
from aot.ir.graph import Graph
from aot.target import Optimize, Target
from codegen.c.order import find_period
from codegen.compile import CompiledModel
from codegen.compile_kinds import ConstantRule
from codegen.model import PackedTable
from codegen.options import CDialect, CompileOptions
from codegen.tables.kernels import alignment, reads_anywhere
from codegen.tables.replay import Place
from codegen.tables.rule import Rule, rule_of
from codegen.tables.table import folded

TABLES = CompileOptions(tables=True)
BOTH = (Optimize.SPEED, Optimize.SIZE)


def graph_of(data: bytes) -> Graph:
    return read_tflite(data, "m.tflite", "tflm")


def model_of(data: bytes, target: Target = PLAIN, options: CompileOptions = TABLES) -> CompiledModel:
    return compiled(graph_of(data), target, options, "k")


def table_of(data: bytes, target: Target = PLAIN, options: CompileOptions = TABLES) -> PackedTable:
    table = model_of(data, target, options).table
    assert table is not None
    return table


@pytest.mark.parametrize(
    ("offsets", "rule"),
    [
        ([40], Rule(1, 40)),
        ([40, 40, 40], Rule(1, 40)),
        ([40, 52, 64], Rule(1, 40, 12, 1)),
        ([8, 20, 32, 8, 20], Rule(1, 8, 12, 1, 0, 3)),  # a ring of three
        ([32, 8, 20, 32], Rule(1, 8, 12, 1, 2, 3)),  # that begins at its end
        ([8, 32, 20, 8], Rule(1, 8, 12, 2, 0, 3)),  # two rows at a time
        ([0, 30, 10, 40, 20, 0], Rule(1, 0, 10, 3, 0, 5)),
    ],
)
def test_a_pointer_goes_through_a_tensor_or_around_a_ring(offsets, rule):
    found = rule_of([Place(1, offset, 1) for offset in offsets])
    assert found == rule
    assert [rule.offset_of(n) for n in range(len(offsets))] == offsets


@pytest.mark.parametrize("offsets", [[0, 4, 12], [0, 4, 0, 0], [0, 70_000 * 4, 4], [8, 4, 2, 0, 1]])
def test_what_follows_no_rule_has_none(offsets):
    assert rule_of([Place(1, offset, 1) for offset in offsets]) is None


def test_two_memories_are_not_a_rule():
    assert rule_of([Place(1, 0, 1), Place(2, 0, 1)]) is None


def test_a_kernel_counts_on_words_where_all_its_places_are_at_words():
    assert alignment([8, 0, 24], 1) == 4
    assert alignment([8, 16], 8) == 8
    assert alignment([8, 10], 1) == 2
    assert alignment([0], 1) == 4
    assert alignment([3, 8], 4) == 1


def test_the_order_has_each_period_once():
    order = (0, 0, *(0, 1) * 20, 1, 2)
    steps, segments = folded(order)
    played = tuple(
        step for each in segments for step in steps[each.first : each.first + each.length] * each.times
    )
    assert played == order
    assert find_period(order[:-1]) is not None
    assert len(steps) < 12


@pytest.mark.slow
@pytest.mark.parametrize("target", [PLAIN, DSP], ids=["plain", "dsp"])
def test_models_that_differ_in_length_and_weights_have_the_same_kernels(target):
    first = set(table_of(chain(2), target).kernels)
    assert len(first) >= 3
    assert set(table_of(chain(5), target).kernels) == first
    assert set(table_of(chain(2, seed=9), target).kernels) == first
    assert set(table_of(chain(1), target).kernels) <= first


def test_other_sizes_are_other_kernels():
    assert not set(table_of(chain(2)).kernels) & set(table_of(chain(2, size=10)).kernels)


def test_a_kernel_has_its_name_whether_it_shares_a_function_or_not():
    """Alone its numbers stand in its C; beside others that differ in them they are members of a struct."""
    graph = GRAPHS["layers_alike"]()
    alone, shared = (
        compiled(graph, PLAIN, replace(TABLES, optimize=goal), "k") for goal in Optimize if goal in BOTH
    )
    assert "shape = {" not in alone.sources["k.c"]
    assert "shape = {" in shared.sources["k.c"]
    # Depthwise kernels are unrolled for speed: other loops, other names.
    names = [{n for n, said in named(model).items() if " conv2d" in f" {said}"} for model in (alone, shared)]
    assert names[0] == names[1]
    assert len(names[0]) >= 4


def named(model: CompiledModel) -> Mapping[str, str]:
    assert model.table is not None
    return model.table.kernels


def test_without_the_option_the_c_is_the_same_as_ever():
    assert "solder_kernel" not in model_of(chain(2), options=CompileOptions()).sources["k.c"]
    assert model_of(chain(2), options=CompileOptions()).table is None


def test_what_needs_code_is_named():
    def refused(graph: Graph, options: CompileOptions = TABLES) -> str:
        with pytest.raises(DeployError) as caught:
            compiled(graph, PLAIN, options, "k")
        return str(caught.value)

    chained = graph_of(chain(2))
    require_facts(refused(chained, replace(TABLES, stream=True)), "model table input --stream --tables")
    gather = next(case.graph for case in GATHERINGS if case.name == "gather_rows")
    require_facts(refused(gather), "layer part table 0 gather")
    for options, said in (
        (replace(TABLES, weights_external=True), "which --weights external separates"),
        (replace(TABLES, dialect=CDialect.STRICT), "strict C has no table kernels"),
        (replace(TABLES, constants=(ConstantRule("*", "QSPI"),)), "--constants already places them"),
    ):
        text = refused(chained, options)
        assert text.startswith("error: --tables is not possible: ")
        assert said in text
        assert text.endswith("hint: omit --tables")


def test_a_lookup_stays_in_its_table_and_a_gathering_need_not():
    found = {
        case.name: any(
            reads_anywhere(proc)
            for proc in compiled(case.graph, PLAIN, CompileOptions(), "k").code_of(0).procs
        )
        for case in GATHERINGS
    }
    assert any(found.values())
    assert not any(
        reads_anywhere(proc)
        for number in range(len(model_of(TINY["classifier"]()).layers))
        for proc in model_of(TINY["classifier"]()).code_of(number).procs
    )
