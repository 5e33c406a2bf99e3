"""Runs passes in order, verifies the graph before the first and after each, and records their results."""

from __future__ import annotations

import traceback
from collections.abc import Container, Sequence
from dataclasses import dataclass

from aot.errors import DeployError, ExtensionError
from aot.ir.graph import Graph
from aot.ir.verify import GraphRuleError, verify
from aot.passes.outcome import Outcome, Rewritten, Unchanged
from aot.passes.table import Pass, meaning_passes

DISABLED = Unchanged("it was disabled")


class PassError(AssertionError):
    """A pass violated a rule of the graph: a bug in Solder."""


@dataclass(frozen=True, slots=True)
class PassStep:
    """One pass that ran: the graph before it and its result."""

    what: Pass
    before: Graph
    outcome: Outcome

    @property
    def after(self) -> Graph:
        return self.outcome.graph if isinstance(self.outcome, Rewritten) else self.before


@dataclass(frozen=True, slots=True)
class PassRun:
    """The graph after all passes, and each step."""

    graph: Graph
    steps: tuple[PassStep, ...]


def run_meaning(graph: Graph, disabled: Container[str] = ()) -> PassRun:
    """Runs the passes of MEANING, which serve every target. Raises the same errors as `run_passes`."""
    return run_passes(graph, meaning_passes(), disabled)


def run_passes(graph: Graph, passes: Sequence[Pass], disabled: Container[str] = ()) -> PassRun:
    """Runs the passes. Raises PassError if a pass violates a rule, GraphRuleError if the given graph does."""
    verify(graph)
    steps: list[PassStep] = []
    for each in passes:
        step = PassStep(each, graph, DISABLED if each.name in disabled else _answer(each, graph))
        steps.append(step)
        _check(step, [before.what.name for before in steps[:-1]], len(passes))
        graph = step.after
    return PassRun(graph, tuple(steps))


def _answer(what: Pass, graph: Graph) -> Outcome:
    """Returns the pass's result. Raises ExtensionError if an extension's pass fails or returns no result."""
    if not what.is_added:
        return what.run(graph)
    try:
        answer: object = what.run(graph)
    except DeployError:
        raise
    except Exception as error:  # foreign code may raise anything
        line = traceback.extract_tb(error.__traceback__)[-1]
        raise ExtensionError(
            f"the pass {what.name} failed: {type(error).__name__}: {error}",
            f"{line.filename}:{line.lineno}: {line.line}",
            f"--disable {what.name} skips it",
        ) from error
    if not isinstance(answer, Rewritten | Unchanged):
        raise ExtensionError(
            f"the pass {what.name} returned {type(answer).__name__}, it must return Rewritten or Unchanged",
            hint="import them from aot.passes.outcome, or return what aot.passes.rewrite.rewrite returns",
        )
    return answer


def _check(step: PassStep, before: Sequence[str], count: int) -> None:
    if isinstance(step.outcome, Unchanged):
        return
    where = (
        f"pass {step.what.name} ({len(before) + 1} of {count} in {step.what.table}, "
        f"after {', '.join(before) or 'none'})"
    )
    if step.after is step.before:
        raise _broken(step.what, f"{where} returned Rewritten with its unchanged input")
    try:
        verify(step.after)
    except GraphRuleError as error:
        raise _broken(step.what, f'{where} broke rule "{error.rule}": {error.fact}') from error


def _broken(what: Pass, said: str) -> Exception:
    """Returns the error for the pass's author: of the extension, or of Solder."""
    hint = f"--disable {what.name} skips it"
    return ExtensionError(said, hint=hint) if what.is_added else PassError(said)
