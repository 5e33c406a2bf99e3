"""Runs passes in order, verifies the graph before the first and after each, and records their results."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from itertools import chain
from typing import Any

from aot.errors import DeployError, ExtensionError
from aot.extensions import PASSES, loaded
from aot.ir.graph import Graph
from aot.ir.verify import GraphRuleError, verify
from aot.passes import MEANING, PLACEMENT, REGIONS, VARIANT
from aot.passes.goals import PlacementGoal, RegionGoal, VariantGoal
from aot.passes.outcome import Outcome, Rewritten, Unchanged

# Finds the functions that a table of passes names.


TABLES: Mapping[str, Mapping[str, str]] = {
    "MEANING": MEANING,
    "REGIONS": REGIONS,
    "PLACEMENT": PLACEMENT,
    "VARIANT": VARIANT,
}
Goal = RegionGoal | PlacementGoal | VariantGoal


@dataclass(frozen=True, slots=True)
class Pass:
    """A pure function from a valid graph to a valid graph with the same outputs for the same inputs."""

    name: str
    table: str
    summary: str  # first line of the module's docstring
    run: Callable[[Graph], Outcome]
    why: str  # reason for its position in the table
    device: str = ""  # device whose regions it forms
    is_added: bool = False  # from an extension


def pass_names() -> tuple[str, ...]:
    """Returns the names of all passes: the built-in ones in the order in which they run, then extensions'."""
    return (*chain(*TABLES.values()), *loaded(PASSES))


def meaning_passes() -> tuple[Pass, ...]:
    return tuple(_passes("MEANING"))


def region_passes(goal: RegionGoal) -> tuple[Pass, ...]:
    return tuple(replace(each, device=goal.device) for each in _passes("REGIONS", goal=goal))


def placement_passes(goal: PlacementGoal) -> tuple[Pass, ...]:
    return tuple(_passes("PLACEMENT", goal=goal))


def variant_passes(goal: VariantGoal) -> tuple[Pass, ...]:
    return tuple(_passes("VARIANT", goal=goal))


def _passes(table: str, **arguments: Goal) -> Iterator[Pass]:
    """Yields the built-in passes in order; an extension's pass comes before the one that it names."""
    added = [(name, module) for name, module in loaded(PASSES).items() if _table_of(name, module) == table]
    for name, why in TABLES[table].items():
        for its_name, module in added:
            if getattr(module, "BEFORE", "") == name:
                yield replace(_added(its_name, table, module, **arguments), is_added=True)
        yield _pass(name, table, import_module(f"aot.passes.{table.lower()}.{_stem(name)}"), why, **arguments)


def _added(name: str, table: str, module: Any, **arguments: Goal) -> Pass:
    """Raises ExtensionError if the extension has no function of the pass's name."""
    if not callable(getattr(module, _stem(name), None)):
        raise ExtensionError(
            f'the pass "{name}" of an extension has no function {_stem(name)}',
            hint=f"define {_stem(name)}(graph), which returns Rewritten or Unchanged",
        )
    return _pass(name, table, module, str(getattr(module, "WHY", "")), **arguments)


def _pass(name: str, table: str, module: Any, why: str, **arguments: Goal) -> Pass:
    summary, *_ = (module.__doc__ or "(no description)").splitlines()
    return Pass(name, table, summary, partial(getattr(module, _stem(name)), **arguments), why)


def _stem(name: str) -> str:
    return name.replace("-", "_")


def _table_of(name: str, module: object) -> str:
    """Returns the table that an extension's pass belongs to. Raises ExtensionError if it names none."""
    table, before = getattr(module, "TABLE", ""), getattr(module, "BEFORE", "")
    if before not in TABLES.get(table, {}):
        *others, last = TABLES
        raise ExtensionError(
            f'the pass "{name}" of an extension has no valid position: TABLE is "{table}", BEFORE is '
            f'"{before}"',
            hint=f"TABLE is {', '.join(others)} or {last}, BEFORE one of its passes: "
            + ", ".join(chain(*TABLES.values())),
        )
    return str(table)


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
