"""Compares costs with a baseline from an earlier `deploy bench --json`: changes, and regressions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from aot.errors import FiguresError, InputError
from aot.wording import counted
from deploy.cli.console import count_text, table
from deploy.cli.markdown_table import LEFT, RIGHT, markdown_table

LIMIT_PERCENT = 1.0  # increase over the baseline that is tolerated

Facts = Mapping[str, Any]
# Heading -> keys of the figure in a case. Times of boards without a counter vary too much.
_FIGURES: Mapping[str, tuple[str, ...]] = {
    "instructions": ("instructions",),
    "cycles": ("cycles",),
    "model's cycles": ("cycle_model", "cycles"),
    "arena": ("arena_bytes",),
    "inputs and outputs": ("io_bytes",),
    "stack": ("stack_bytes",),
    "run's stack": ("run_stack_bytes",),
    "code": ("code_bytes",),
    "constants": ("constants_bytes",),
}


@dataclass(frozen=True, slots=True)
class FigureChange:
    """A figure of a model or of one of its layers, before and now."""

    model: str
    board: str
    layer: str  # "": the whole model
    figure: str
    before: int | None  # None: the layer is new
    now: int | None  # None: the layer is gone

    @property
    def difference(self) -> int:
        return (self.now or 0) - (self.before or 0)

    @property
    def share(self) -> float:
        """The relative change: 0.1 is an increase by a tenth. An increase from zero counts as 1."""
        return self.difference / self.before if self.before else float(self.difference > 0)

    def as_json(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "board": self.board,
            "layer": self.layer or None,
            "figure": self.figure,
            "before": self.before,
            "now": self.now,
            "share": self.share,
        }

    def __str__(self) -> str:
        place = f", {self.layer}" if self.layer else ""
        figures = f"{count_text(self.before)} -> {count_text(self.now)} ({_share_text(self, 1)})"
        return f"{self.model} on {self.board}{place}: {self.figure} {figures}"


@dataclass(frozen=True)
class BenchChanges:
    """All figures that changed."""

    changes: tuple[FigureChange, ...]
    cases: int  # number of cases in both
    new: tuple[str, ...]  # cases missing in the baseline
    missing: tuple[str, ...]  # cases only in the baseline
    other_tools: tuple[str, ...]  # compilers that differ from the baseline's
    limit: float  # relative increase that is tolerated

    @property
    def worse(self) -> tuple[FigureChange, ...]:
        """Changes of whole models beyond the limit. Layers only explain them."""
        return tuple(each for each in self.changes if not each.layer and each.share > self.limit)

    def require_none_worse(self) -> None:
        """Raises FiguresError if a figure of a model is worse than the limit allows."""
        if self.worse:
            raise FiguresError(
                f"{counted(len(self.worse), 'figure')} more than {self.limit * 100:g}% over the baseline",
                "\n".join(map(str, self.worse)),
                "if this is intended, write the baseline again: deploy bench ... --json > BASELINE.json",
            )

    def as_json(self) -> dict[str, Any]:
        return {
            "limit": self.limit,
            "cases": self.cases,
            "changes": [change.as_json() for change in self.changes],
            "worse": [change.as_json() for change in self.worse],
            "new": list(self.new),
            "missing": list(self.missing),
            "other_tools": list(self.other_tools),
        }


def read_baseline(path: Path) -> list[Facts]:
    """Returns the cases that an earlier `deploy bench --json` printed. Raises InputError."""
    try:
        cases = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"the baseline cannot be read: {error.strerror}", str(path), _HOW) from None
    except (ValueError, RecursionError):
        raise InputError("the baseline is not JSON", str(path), _HOW) from None
    return require_cases(cases, str(path))


_HOW = "create one with: deploy bench MODEL --board B --json > BASELINE.json"


def require_cases(cases: Any, where: str) -> list[Facts]:
    """Returns the cases of a baseline, or the single one from Python's bench. Raises InputError."""
    found: list[Any] = cases if isinstance(cases, list) else [cases]
    for case in found:
        if not _has_texts(case, "model", "board") or not _are_layers(case.get("layers", [])):
            raise InputError("the baseline is not output of deploy bench --json", where, _HOW)
    return [case for case in found if "error" not in case]  # failed cases of the baseline count as new


def _are_layers(layers: Any) -> bool:
    return isinstance(layers, list) and all(_has_texts(each, "op", "shapes", "origin") for each in layers)


def _has_texts(facts: Any, *keys: str) -> bool:
    return isinstance(facts, Mapping) and all(isinstance(facts.get(key), str) for key in keys)


def changes_since(before: Sequence[Facts], now: Sequence[Facts], limit: float) -> BenchChanges:
    """Compares cases present in both, by figure and layer."""
    old, new = ({(case["model"], case["board"]): case for case in cases} for cases in (before, now))
    shared = [key for key in new if key in old]
    return BenchChanges(
        changes=tuple(change for key in shared for change in _case_changes(old[key], new[key])),
        cases=len(shared),
        new=tuple(f"{model} on {board}" for model, board in new if (model, board) not in old),
        missing=tuple(f"{model} on {board}" for model, board in old if (model, board) not in new),
        other_tools=tuple(dict.fromkeys(note for key in shared for note in _other_tools(old[key], new[key]))),
        limit=limit,
    )


def _case_changes(before: Facts, now: Facts) -> Iterator[FigureChange]:
    place = (now["model"], now["board"])
    yield from _figure_changes(*place, "", before, now)
    for old, new in _pairs(before.get("layers", ()), now.get("layers", ())):
        yield from _figure_changes(*place, _layer_name(new or old), old, new)


def _pairs(before: Sequence[Facts], now: Sequence[Facts]) -> Iterator[tuple[Facts, Facts]]:
    """Pairs layers of one operator and one shape, in order; {} stands for a layer that is gone or new.

    Indices and names do not count: they change when layers are added, removed or renamed.
    """
    old, new = ([(layer["op"], layer["shapes"]) for layer in layers] for layers in (before, now))
    for kind, i, i_end, j, j_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            yield from zip(before[i:i_end], now[j:j_end], strict=True)
        else:
            yield from ((layer, {}) for layer in before[i:i_end])
            yield from (({}, layer) for layer in now[j:j_end])


def _figure_changes(model: str, board: str, layer: str, before: Facts, now: Facts) -> Iterator[FigureChange]:
    for figure, path in _FIGURES.items():
        was, is_now = _at(before, path), _at(now, path)
        is_known = (was is not None or not before) and (is_now is not None or not now)
        if is_known and was != is_now:
            yield FigureChange(model, board, layer, figure, was, is_now)


def _at(facts: Facts, path: Sequence[str]) -> int | None:
    for key in path:
        found = facts.get(key)
        if not isinstance(found, Mapping):
            return found if isinstance(found, int) else None
        facts = found
    return None


def _layer_name(layer: Facts) -> str:
    return f"{layer['op']} {layer['shapes']} {layer['origin']}".strip()


def _other_tools(before: Facts, now: Facts) -> Iterator[str]:
    is_now, was = now.get("toolchain"), before.get("toolchain")
    if is_now != was:
        yield f"{is_now}, the baseline by {was}"


_HEADS = ("model", "board", "layer", "figure", "before", "now", "change")
_MOST_LAYER_ROWS = 200  # GitHub takes comments of at most 65,536 characters
_SIDES = (LEFT, LEFT, LEFT, LEFT, RIGHT, RIGHT, RIGHT)


def changes_page(changes: BenchChanges) -> str:
    """Formats the changes for a terminal."""
    return "\n".join(
        [*_notes(changes), *([table(_HEADS, _rows(changes.changes))] if changes.changes else [])]
    )


def changes_markdown(changes: BenchChanges) -> str:
    """Formats the changes as a comment for a pull request."""
    lines = [f"- {note}" for note in _notes(changes)]
    layers = [change for change in changes.changes if change.layer]
    largest = sorted(layers, key=lambda change: -abs(change.difference))[:_MOST_LAYER_ROWS]
    shown = [change for change in changes.changes if not change.layer or change in largest]
    if len(layers) > len(largest):
        lines.append(f"- layers: the {len(largest)} largest of {len(layers)} changes")
    if shown:
        lines += ["", *markdown_table(_HEADS, _SIDES, _rows(shown))]
    return "\n".join(lines)


def _rows(changes: Sequence[FigureChange]) -> list[tuple[str, ...]]:
    return [
        (c.model, c.board, c.layer, c.figure, count_text(c.before), count_text(c.now), _share_text(c))
        for c in changes
    ]


def _share_text(change: FigureChange, digits: int = 2) -> str:
    if change.before is None:
        return "new"
    return "gone" if change.now is None else f"{change.share:+.{digits}%}"


def _notes(changes: BenchChanges) -> Iterator[str]:
    whole = [change for change in changes.changes if not change.layer]
    limit = f"{changes.limit * 100:g}%"
    yield (
        f"{counted(changes.cases, 'case')} of the baseline measured again: "
        f"{counted(len(whole), 'figure')} changed, {len(changes.worse)} more than {limit} worse"
    )
    yield from (f"new: {case}" for case in changes.new)
    yield from (f"not measured again: {case}" for case in changes.missing)
    yield from (f"compiled by {tool}" for tool in changes.other_tools)
