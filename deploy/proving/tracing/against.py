"""Compares evidence with an earlier folder: the chapters and layers whose evidence is invalid now."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from aot.errors import InputError
from aot.wording import counted
from deploy.proving.chapter import Standing

# Reads and verifies the facts in an earlier folder of evidence.

SCHEMA = 2  # of evidence.json: the first version that contains the grounds
MARK = "made by deploy evidence"
FACTS, HASHES = "evidence.json", "SHA256SUMS"


@dataclass(frozen=True)
class OlderEvidence:
    """The facts of a folder: findings and their grounds."""

    facts: dict[str, Any]
    sha256: str  # of evidence.json


def read_older(directory: Path) -> OlderEvidence:
    """Reads a folder. Raises InputError if it contains no evidence or was modified."""
    try:
        data = (directory / FACTS).read_bytes()
        listed = _listed(directory)
        facts = json.loads(data)
    except (OSError, ValueError, RecursionError) as error:
        raise refused("it is not a folder of evidence", directory) from error
    if not isinstance(facts, dict) or MARK not in str(facts.get("solder")):
        raise refused("it is not a folder of evidence", directory)
    _require_same(directory, listed)
    if facts.get("schema") != SCHEMA:
        raise refused(
            f"its {FACTS} has schema {facts.get('schema')}, and {SCHEMA} can be compared", directory
        )
    worst = max((Standing(chapter["verdict"]) for chapter in facts["chapters"]), key=list(Standing).index)
    if list(Standing).index(worst) > list(Standing).index(Standing(facts["verdict"])):
        raise refused(f"its verdict is {facts['verdict']}, and that of a chapter is {worst.value}", directory)
    return OlderEvidence(facts, listed[FACTS])


def _listed(directory: Path) -> dict[str, str]:
    """Returns the SHA-256 of each file by path."""
    lines = (directory / HASHES).read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def _require_same(directory: Path, listed: Mapping[str, str]) -> None:
    """Raises InputError unless the folder contains exactly the listed files."""
    paths = {path.relative_to(directory).as_posix(): path for path in directory.rglob("*") if path.is_file()}
    found = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in paths.items()}
    found.pop(HASHES)
    for name in sorted({**found, **listed, FACTS: ""}):
        if found.get(name) != listed.get(name):
            raise refused(f"{name} is not the file that {HASHES} lists: it was changed", directory)


def refused(what: str, directory: Path) -> InputError:
    return InputError(what, str(directory), "make a folder: deploy evidence OLDER.tar -o OLDER_FOLDER")


Facts = Mapping[str, Any]  # evidence.json, or a part of it
_CAME_OR_WENT = _CAME, _WENT = "the layer is new", "the layer is gone"
_SAME_ANSWER = ("verdict", "summary", "exceptions", "tables")


class Fate(Enum):
    """The state of older evidence. The value is shown on the pages."""

    STANDS = "stands"
    SAME_TOOLS = "stands if its tools are the same"
    INVALID = "invalid"
    UNEXPLAINED = "another answer, and nothing that it rests on has changed"
    NONE = "there was none"


@dataclass(frozen=True)
class ChapterChange:
    chapter: str
    outcome: Fate
    reasons: tuple[str, ...]
    layers: tuple[str, ...]  # whose evidence in this chapter is invalid

    def __str__(self) -> str:
        return f"{self.outcome.value}{f': {why}' if (why := '; '.join(self.reasons)) else ''}"


@dataclass(frozen=True)
class LayerChange:
    layer: str  # name and op
    changed: tuple[str, ...]  # grounds, or a sentence if the layer was added or removed
    chapters: tuple[str, ...]  # whose evidence about it is invalid

    def __str__(self) -> str:
        invalid = f"; invalid in {', '.join(self.chapters)}" if self.chapters else ""
        return f"{self.layer}: {', '.join(self.changed)}{invalid}"


@dataclass(frozen=True)
class Changes:
    """All changes since an earlier folder was written."""

    model_hash: str  # of the earlier one
    compiled_by: str
    sha256: str  # of the earlier evidence.json
    chapters: tuple[ChapterChange, ...]
    layers: tuple[LayerChange, ...]

    @property
    def invalid(self) -> tuple[str, ...]:
        wrong = (Fate.INVALID, Fate.UNEXPLAINED)
        return tuple(each.chapter for each in self.chapters if each.outcome in wrong)

    @property
    def _is(self) -> str:
        return "is" if len(self.invalid) == 1 else "are"

    @property
    def summary(self) -> str:
        had = counted(sum(each.outcome is not Fate.NONE for each in self.chapters), "chapter")
        if not self.invalid:
            return f"nothing of the older folder's evidence is invalid: it answers {had}"
        return (
            f"the older folder answers {had}, of which {len(self.invalid)} {self._is} invalid now: "
            f"{', '.join(self.invalid)}; {counted(len(self.layers), 'layer')} changed"
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "model_hash": self.model_hash,
            "compiled_by": self.compiled_by,
            "sha256": self.sha256,
            "summary": self.summary,
            "chapters": [
                {
                    "name": each.chapter,
                    "outcome": each.outcome.value,
                    "reasons": list(each.reasons),
                    "layers": list(each.layers),
                }
                for each in self.chapters
            ],
            "layers": [
                {"layer": each.layer, "changed": list(each.changed), "chapters": list(each.chapters)}
                for each in self.layers
            ],
        }


def changes_since(older: OlderEvidence, facts: Facts) -> Changes:
    """Compares the facts of evidence.json with older ones."""
    before, now = older.facts["rests_on"], facts["rests_on"]
    differing = _differing(before["grounds"], now["grounds"])
    layers = dict(_changed_layers(before["layers"], now["layers"]))
    had = {chapter["name"]: chapter for chapter in older.facts["chapters"]}
    chapters = tuple(
        _of_chapter(had.get(chapter["name"]), chapter, differing, layers) for chapter in facts["chapters"]
    )
    return Changes(
        older.facts["model_hash"],
        older.facts["compiled_by"],
        older.sha256,
        chapters,
        tuple(
            LayerChange(name, changed, tuple(each.chapter for each in chapters if name in each.layers))
            for name, changed in layers.items()
        ),
    )


def _of_chapter(
    before: Facts | None, now: Facts, differing: Sequence[str], layers: Mapping[str, tuple[str, ...]]
) -> ChapterChange:
    name, not_run = now["name"], Standing.NOT_RUN.value
    if before is None or before["verdict"] == not_run:
        return ChapterChange(name, Fate.NONE, (), ())
    rests_on = now["rests_on"]
    reasons = tuple(f"{ground} changed" for ground in differing if ground in rests_on)
    affected = tuple(layer for layer, changed in layers.items() if _concerns(changed, rests_on))
    if now["verdict"] == not_run:
        outcome = Fate.INVALID if reasons else Fate.SAME_TOOLS if before["tools"] else Fate.STANDS
        tools = f"its tools: {', '.join(before['tools'])}" if outcome is Fate.SAME_TOOLS else ""
        return ChapterChange(name, outcome, (*reasons, tools) if tools else reasons, affected)
    reasons += tuple(_other_tools(before["tools"], now["tools"]))
    if reasons:
        return ChapterChange(name, Fate.INVALID, reasons, affected)
    same = all(before[key] == now[key] for key in _SAME_ANSWER)
    return ChapterChange(name, Fate.STANDS if same else Fate.UNEXPLAINED, (), ())


def _other_tools(before: Sequence[str], now: Sequence[str]) -> Iterator[str]:
    gone, came = [t for t in before if t not in now], [t for t in now if t not in before]
    if gone or came:
        yield f"another tool: {', '.join(gone) or 'none'} became {', '.join(came) or 'none'}"


def _concerns(changed: Sequence[str], rests_on: Sequence[str]) -> bool:
    return any(ground in rests_on for ground in changed) or any(word in _CAME_OR_WENT for word in changed)


def _changed_layers(before: Sequence[Facts], now: Sequence[Facts]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yields the changed layers and what changed in each."""
    had, has = {_known(layer): layer for layer in before}, {_known(layer): layer for layer in now}
    for key, layer in has.items():
        earlier = had.get(key)
        changed = (_CAME,) if earlier is None else _differing(earlier["grounds"], layer["grounds"])
        if changed:
            yield _describe(layer), changed
    for key, layer in had.items():
        if key not in has:
            yield _describe(layer), (_WENT,)


def _known(layer: Facts) -> tuple[str, ...]:
    return layer["op"], layer["name"], layer["value"]


def _describe(layer: Facts) -> str:
    return f"layer {layer['layer']}, {layer['op']} {layer['name']}"


def _differing(before: Sequence[Facts], now: Sequence[Facts]) -> tuple[str, ...]:
    """Returns the grounds with a different hash, including those on only one side."""
    had, has = ({each["ground"]: each["sha256"] for each in side} for side in (before, now))
    return tuple(ground for ground in {**has, **had} if had.get(ground) != has.get(ground))
