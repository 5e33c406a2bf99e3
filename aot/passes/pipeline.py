"""Runs passes in order, verifies the graph before the first and after each, and keeps what they answered."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from aot.ir.graph import Graph
from aot.ir.verify import GraphRuleError, verify
from aot.passes.outcome import Outcome, Rewritten, Unchanged
from aot.passes.table import Pass, meaning_passes

DISABLED = Unchanged("it was disabled")


class PassError(AssertionError):
    """A pass broke a rule of the graph: our bug."""


@dataclass(frozen=True, slots=True)
class PassStep:
    """One pass that ran: the graph before it and its answer."""

    what: Pass
    before: Graph
    outcome: Outcome

    @property
    def after(self) -> Graph:
        return self.outcome.graph if isinstance(self.outcome, Rewritten) else self.before


@dataclass(frozen=True, slots=True)
class PassRun:
    """The graph after all passes, and each step on the way there."""

    graph: Graph
    steps: tuple[PassStep, ...]


def run_meaning(graph: Graph, disabled: Container[str] = ()) -> PassRun:
    """Runs the passes of MEANING, which serve every target. Raises what `run_passes` raises."""
    return run_passes(graph, meaning_passes(), disabled)


def run_passes(graph: Graph, passes: Sequence[Pass], disabled: Container[str] = ()) -> PassRun:
    """Raises PassError for a pass that breaks a rule, GraphRuleError for a graph that breaks one before."""
    verify(graph)
    steps: list[PassStep] = []
    for each in passes:
        step = PassStep(each, graph, DISABLED if each.name in disabled else each.run(graph))
        steps.append(step)
        _check(step, [before.what.name for before in steps[:-1]], len(passes))
        graph = step.after
    return PassRun(graph, tuple(steps))


def _check(step: PassStep, before: Sequence[str], count: int) -> None:
    if isinstance(step.outcome, Unchanged):
        return
    where = (
        f"pass {step.what.name} ({len(before) + 1} of {count} in {step.what.table}, "
        f"after {', '.join(before) or 'none'})"
    )
    if step.after is step.before:
        raise PassError(f"{where} answered Rewritten with the graph that it was given")
    try:
        verify(step.after)
    except GraphRuleError as error:
        raise PassError(f'{where} broke rule "{error.rule}": {error.fact}') from error
