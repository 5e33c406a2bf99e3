"""Finds the functions that a table of passes names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from itertools import chain
from typing import Any

from aot.errors import ExtensionError
from aot.extensions import PASSES, loaded
from aot.ir.graph import Graph
from aot.passes import MEANING, PLACEMENT, REGIONS, VARIANT
from aot.passes.goals import PlacementGoal, RegionGoal, VariantGoal
from aot.passes.outcome import Outcome

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
