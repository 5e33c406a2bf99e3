"""Each pass on the graphs in <pass>.txt: a title, the graph before, the graph after or `same`.

Cases are parted by lines with `/// title`, before and after by a line `becomes`. Whatever a pass does,
the graph goes on keeping the rules and giving the same outputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from op_case import random_values

from aot.interpret import run_graph
from aot.ir.graph import Array, Graph
from aot.ir.text import parse_graph, print_graph
from aot.ir.verify import verify
from aot.passes import PIPELINE

FOLDER = Path(__file__).parent
PASSES = {step.name.replace("-", "_"): step for step in PIPELINE}


class Case(NamedTuple):
    stem: str
    title: str
    before: str
    after: str


def cases() -> Iterator[Case]:
    for stem in PASSES:
        _, *parts = (FOLDER / f"{stem}.txt").read_text(encoding="utf-8").split("/// ")
        for part in parts:
            title, _, body = part.partition("\n")
            before, separator, after = body.partition("\nbecomes\n")
            assert separator, f"{stem}.txt: {title}: no line `becomes`"
            yield Case(stem, title, before.strip() + "\n", after.strip() + "\n")


CASES = list(cases())

ROUNDING_ELSEWHERE = {"fold_scales"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.stem}: {case.title}")
def test_a_pass_does_what_its_text_says(case: Case) -> None:
    graph = parse_graph(case.before)
    result = PASSES[case.stem].run(graph)
    if case.after == "same\n":
        assert result is graph
    else:
        assert print_graph(result) == case.after


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.stem}: {case.title}")
def test_a_pass_keeps_rules_and_outputs(case: Case) -> None:
    graph = parse_graph(case.before)
    verify(graph)
    result = PASSES[case.stem].run(graph)
    verify(result)
    for seed in range(20):
        inputs = random_inputs(graph, seed)
        before, after = run_graph(graph, inputs), run_graph(result, inputs)
        assert before.keys() == after.keys()
        assert all(same(case.stem, before[name], after[name]) for name in before)


def same(stem: str, before: Array, after: Array) -> bool:
    """In every bit, unless the pass rounds real numbers elsewhere."""
    if stem in ROUNDING_ELSEWHERE:
        return before.dtype == after.dtype and np.allclose(before, after, rtol=1e-6, atol=1e-6)
    return np.array_equal(before, after)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.stem}: {case.title}")
def test_a_pass_has_nothing_left_to_do_on_its_own_result(case: Case) -> None:
    result = PASSES[case.stem].run(parse_graph(case.before))
    assert PASSES[case.stem].run(result) is result


@pytest.mark.parametrize("stem", PASSES)
def test_a_pass_has_cases_that_match_and_that_do_not(stem: str) -> None:
    left_alone = [case.after == "same\n" for case in CASES if case.stem == stem]
    assert any(left_alone)
    assert not all(left_alone)


def random_inputs(graph: Graph, seed: int) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    return {name: random_values(rng, graph.types[name]) for name in graph.inputs}
