"""Passes run in order, give reasons that people read, and are named when they break a rule."""

import ast
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import deploy
from aot.errors import ExtensionError
from aot.extensions import PASSES, register, unregister
from aot.frontend.load import load_model
from aot.ir.graph import Graph
from aot.ir.text import parse_graph
from aot.ir.verify import GraphRuleError
from aot.passes import MEANING
from aot.passes.goals import PlacementGoal, VariantGoal
from aot.passes.outcome import Outcome, Rewritten, Unchanged
from aot.passes.pipeline import (
    TABLES,
    Pass,
    PassError,
    meaning_passes,
    placement_passes,
    run_meaning,
    run_passes,
    variant_passes,
)
from codegen.fit.placement_search import MEASURED_COSTS
from codegen.options import read_options

GRAPH = parse_graph(
    """
    graph "g"
    input "x": i8[1,4] {0.5, 0}
    "same" = reshape(shape=[1, 4]) "x" -> "a": i8[1,4] {0.5, 0}
    "sum" = add() "a", "x" -> "y": i8[1,4] {1.0, 0}
    output "y"
    """
)
GOAL = PlacementGoal(MEASURED_COSTS, max_slowdown=0.05, is_streamed=False)


def test_each_step_has_the_graphs_before_and_after_it():
    run = run_meaning(GRAPH)
    assert [step.what.name for step in run.steps] == [*MEANING]
    assert [step.what.name for step in run.steps if isinstance(step.outcome, Rewritten)] == [
        "remove-identity"
    ]
    graphs = [GRAPH, *(step.after for step in run.steps)]
    assert all(step.before is before for step, before in zip(run.steps, graphs, strict=False))
    assert run.graph is graphs[-1]


def test_a_graph_with_nothing_to_do_comes_back_itself():
    result = run_meaning(GRAPH).graph
    assert run_meaning(result).graph is result


def test_a_disabled_pass_does_not_run():
    run = run_meaning(GRAPH, disabled={"remove-identity"})
    assert run.graph is GRAPH
    (step,) = (step for step in run.steps if step.what.name == "remove-identity")
    assert step.outcome == Unchanged("it was disabled")


def test_a_broken_graph_is_refused_before_the_first_pass():
    with pytest.raises(GraphRuleError, match="every value that is used has a type"):
        run_meaning(replace(GRAPH, outputs=("z",)))


def backwards(graph: Graph) -> Outcome:
    return Rewritten(replace(graph, nodes=graph.nodes[::-1]))


def boasting(graph: Graph) -> Outcome:
    return Rewritten(graph)


@pytest.mark.parametrize(
    ("run", "fault"),
    [
        (backwards, 'broke rule "a value is read after it is computed": "sum" reads "a"'),
        (boasting, "returned Rewritten with its unchanged input"),
    ],
)
def test_a_pass_that_breaks_a_rule_is_named_with_its_table_and_those_before_it(run, fault):
    good = Pass("good", "PLACEMENT", "It is good.", lambda graph: Unchanged("it is good"), "first")
    with pytest.raises(PassError) as caught:
        run_passes(GRAPH, (good, Pass("bad", "PLACEMENT", "It is bad.", run, "second")))
    assert str(caught.value) == f"pass bad (2 of 2 in PLACEMENT, after good) {fault}"


def test_passes_of_placement_are_verified_as_all_others(monkeypatch):
    name = "aot.passes.placement.split_sequences_into_rows.split_sequences_into_rows"
    monkeypatch.setattr(name, lambda graph, goal: backwards(graph))
    with pytest.raises(PassError, match=r"pass split-sequences-into-rows \(4 of 5 in PLACEMENT, after"):
        run_passes(GRAPH, placement_passes(GOAL))


def test_every_pass_says_why_it_stands_where_it_does():
    every = (*meaning_passes(), *placement_passes(GOAL), *variant_passes(VariantGoal({})))
    assert all(step.why for step in every)


def test_a_name_stands_for_one_pass():
    names = [name for table in TABLES.values() for name in table]
    assert len(names) == len({*names})


def test_a_pass_from_outside_stands_where_it_says_and_can_be_disabled():
    module = ModuleType("outside", "It does nothing.")
    vars(module).update(
        TABLE="MEANING",
        BEFORE="fold-scales",
        WHY="as a test",
        do_nothing=lambda graph: Unchanged("it does nothing"),
    )
    register(PASSES, "do-nothing", module)
    try:
        names = [each.name for each in meaning_passes()]
        assert names[names.index("fold-scales") - 1] == "do-nothing"
        assert read_options({"disable": "do-nothing"}).disabled_passes == ("do-nothing",)
    finally:
        unregister(PASSES, "do-nothing")


DIGITS = Path(deploy.__file__).parent / "demo" / "digits.tflite"


def fails(graph: Graph) -> Any:
    raise ValueError("no such node")


def shortened(graph: Graph) -> Any:
    return Rewritten(replace(graph, nodes=graph.nodes[:-1]))


WRONG: dict[str, tuple[Any, str]] = {
    "fails": (fails, "the pass mine failed: ValueError: no such node"),
    "nothing": (lambda graph: None, "the pass mine returned NoneType, it must return Rewritten or Unchanged"),
    "a graph": (lambda graph: graph, "the pass mine returned Graph, it must return Rewritten or Unchanged"),
    "takes nothing": (lambda: None, "the pass mine failed: TypeError: "),
    "the same": (Rewritten, "returned Rewritten with its unchanged input"),
    "breaks a rule": (shortened, 'broke rule "'),
    "no function": (3, 'the pass "mine" of an extension has no function mine'),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_a_pass_of_an_extension_does_wrong_is_reported(name):
    run, said = WRONG[name]
    place = {"TABLE": "MEANING", "BEFORE": "remove-identity", "WHY": "so that it is first"}
    register(PASSES, "mine", SimpleNamespace(mine=run, **place))
    try:
        with pytest.raises(ExtensionError) as caught:
            run_meaning(load_model(DIGITS))
    finally:
        unregister(PASSES, "mine")
    assert said in caught.value.what


FOLDER_OF_PASSES = Path(__file__).parents[2] / "aot" / "passes"
FOLDERS = ("meaning", "regions", "placement", "variant")
OF_TABLES = (file for folder in FOLDERS for file in FOLDER_OF_PASSES.glob(f"{folder}/*.py"))
FILES = sorted((*OF_TABLES, FOLDER_OF_PASSES / "values.py"))
LEAST_WORDS = 4  # fewer may be a part of a name


def sentences(code: str) -> Iterator[str]:
    """The longest part without a value in it of each text, docstrings left out."""
    tree = ast.parse(code)
    left_out = set(_docstrings(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            left_out.update(id(part) for part in ast.walk(node))
            yield max((str(part.value) for part in node.values if isinstance(part, ast.Constant)), key=len)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            yield node.value


def _docstrings(tree: ast.Module) -> Iterator[int]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node):
            first = node.body[0]
            assert isinstance(first, ast.Expr)
            yield id(first.value)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_reason_is_given_in_a_case(file):
    cases = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("*.txt"))
    reasons = [
        text for text in sentences(file.read_text(encoding="utf-8")) if len(text.split()) >= LEAST_WORDS
    ]
    assert not [text for text in reasons if text not in cases]


def test_a_reason_is_found_in_code():
    code = '"""Docs."""\ndef f(x):\n    """What f does."""\n    return f\'reads "{x}", which no layer makes\''
    assert [*sentences(code)] == ['", which no layer makes']
