"""Checks a result file of the kit without the board, from what is in the file and in Solder.

What it cannot know: whether somebody wrote a whole consistent log by a program. Therefore a file says where
it is from, and a repository that collects files trusts the person who sends one.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from aot.errors import DeployError, FiguresError, FitError, InputError
from aot.ir.tensor_spec import graph_specs
from aot.wording import counted
from boards.board import Board
from codegen.job import import_model
from codegen.options import CompileOptions
from codegen.version import VERSION
from deploy.compiler.compile_model import compile_for_firmware
from deploy.silicon.chip_words import other_chip, words_of
from deploy.silicon.energy import energy_of
from deploy.silicon.kit_file import ENERGY, ESTIMATES, LOG, RESULT, KitFile, as_json, read_kit
from deploy.silicon.kit_models import KIT, kit_inputs, sha256_of
from deploy.silicon.line_log import read_log
from deploy.silicon.measure_kit import (
    board_identity,
    expected_outputs,
    firmware_source,
    models_of,
    solder_commit,
)
from deploy.silicon.replay import CLOCK_TOLERANCE, Facts, figures_of
from platforms.board_files import load_board
from platforms.layout import build_id_of
from platforms.project import ProjectSource, project_source

_BATCH_TOLERANCE = 0.1  # of a run in a batch against a single run
_FIRST_DATE = datetime(2026, 1, 1, tzinfo=timezone.utc)
_CLOCKS_DIFFER = timedelta(days=1)
_MOST_SHOWN = 5


@dataclass(frozen=True, slots=True)
class KitReport:
    """What a check found."""

    path: Path
    figures: Facts  # derived from the log; {} if it cannot be read
    estimates: Facts
    problems: tuple[str, ...]
    notes: tuple[str, ...]  # what could not be compared, and why

    @property
    def is_hardware(self) -> bool:
        """True for a sound file that was measured on a board."""
        return not self.problems and not self.figures["not_hardware"]

    def as_json(self) -> Facts:
        return {
            "file": str(self.path),
            "is_hardware": self.is_hardware,
            "problems": list(self.problems),
            "not_compared": list(self.notes),
            "figures": self.figures,
            "estimates": self.estimates,
        }

    def require_sound(self) -> None:
        """Raises FiguresError if there are problems."""
        if self.problems:
            raise FiguresError(
                f"{self.path.name} is not sound: {counted(len(self.problems), 'problem')}",
                "\n".join(self.problems),
                "measure again: deploy bench --kit --board B",
            )


def check_kit(path: Path, more: Sequence[Path] = ()) -> KitReport:
    """Checks a result file. `more` are the files of models measured in addition. Raises InputError."""
    return check_parts(read_kit(path), more)


def check_parts(kit: KitFile, more: Sequence[Path] = ()) -> KitReport:
    problems = [*kit.damages()]
    try:
        figures = figures_of(read_log(kit.parts[LOG], LOG), LOG)
        if ENERGY in kit.parts:
            figures["energy"] = energy_of(kit.parts[ENERGY], figures, ENERGY)
        stated, estimates = kit.json(RESULT), kit.json(ESTIMATES)
    except InputError as error:
        return KitReport(kit.path, {}, {}, (*problems, f"{error.where}: {error.what}"), ())
    notes: list[str] = []
    problems += [f"{RESULT}: {text}" for text in _differences(stated, figures)]
    try:
        problems += [*_judged(figures, more, notes)]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        problems.append(f"{LOG}: a note is incomplete: {type(error).__name__} {error}")
    return KitReport(kit.path, figures, estimates, tuple(problems), tuple(notes))


def _differences(stated: Any, derived: Any) -> Iterator[str]:
    """Yields where the stated figures are not those of the log."""
    found = list(_unequal(stated, derived, ""))
    yield from found[:_MOST_SHOWN]
    if len(found) > _MOST_SHOWN:
        yield f"{len(found) - _MOST_SHOWN} more figures are not those of the log"


def _unequal(stated: Any, derived: Any, place: str) -> Iterator[str]:
    if isinstance(stated, dict) and isinstance(derived, dict):
        for key in sorted({*stated, *derived}):
            yield from _unequal(stated.get(key), derived.get(key), f"{place}.{key}".lstrip("."))
    elif isinstance(stated, list) and isinstance(derived, list) and len(stated) == len(derived):
        for number, (left, right) in enumerate(zip(stated, derived, strict=True)):
            yield from _unequal(left, right, f"{place}[{number}]")
    elif type(stated) is not type(derived) or stated != derived:
        yield f"{place} is {_short(stated)}, by the log it is {_short(derived)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _judged(figures: Facts, more: Sequence[Path], notes: list[str]) -> Iterator[str]:
    yield from _models(figures, more, notes)
    yield from _date(figures["measurement"]["date"])
    yield from _clock(figures)
    for model in figures["models"]:
        yield from _consistent(model, figures)
    try:
        board = load_board(figures["measurement"]["board"]["name"])
    except DeployError:
        notes.append("the board, which is not known here, and the firmware")
        return
    yield from _board(board, figures)
    yield from _builds(board, figures, more, notes)


def _models(figures: Facts, more: Sequence[Path], notes: list[str]) -> Iterator[str]:
    measured = {model["model"]: model for model in figures["models"]}
    skipped = {each["model"]: each["why"] for each in figures["skipped"]}
    planned = figures["measurement"]["models"]
    if list(planned[: len(KIT)]) != list(KIT):
        yield f"the models are not those of the kit: {', '.join(planned)}"
    if sorted([*measured, *skipped]) != sorted(planned):
        yield f"measured: {', '.join(measured)}; planned: {', '.join(planned)}"
    notes += [f"{name}, which was not measured: {why}" for name, why in skipped.items()]
    files = models_of(more)
    for name, model in measured.items():
        if name not in files:
            notes.append(f"the outputs of {name}: give its file, too")
            continue
        if model["sha256"] != sha256_of(files[name].read_bytes()):
            yield f"{name} is another file than here: its SHA-256 differs"
        elif model["outputs_sha256"] != expected_outputs(name, files[name]):
            yield f"{name}: the outputs are wrong"
        elif model["inputs_sha256"] != _inputs_of(files[name]):
            yield f"{name}: the inputs are not those of the kit"


@functools.cache
def _inputs_of(path: Path) -> str:
    graph = import_model(path, CompileOptions()).graph
    specs = graph_specs(graph, graph.inputs)
    return sha256_of(*(spec.to_bytes(array) for spec, array in zip(specs, kit_inputs(specs), strict=True)))


def _date(text: str) -> Iterator[str]:
    try:
        date = datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)
    except (TypeError, ValueError):
        yield f"the date {text!r} is none"
        return
    if not _FIRST_DATE <= date <= datetime.now(timezone.utc) + _CLOCKS_DIFFER:
        yield f"the date {text} is impossible: there was no kit, or it is in the future"


def _clock(figures: Facts) -> Iterator[str]:
    clock = figures["clock"]
    if not clock["is_virtual"] and abs(clock["off"]) > CLOCK_TOLERANCE:
        yield (
            f"the clock does not fit: the counter ran at {clock['measured_hz']:,} Hz by the computer, "
            f"the board's file says {clock['counter_hz']:,} ({clock['off']:+.1%}, "
            f"at most {CLOCK_TOLERANCE:.0%} is plausible)"
        )


def _consistent(model: Facts, figures: Facts) -> Iterator[str]:
    """Yields what a board cannot have measured."""
    name, batch = model["model"], model["batch"]
    if set(model["reported_build_ids"]) != {model["build_id"]}:
        yield f"{name}: the firmware reports build {', '.join(model['reported_build_ids'])}"
    if figures["unit"] == "time":  # another program may have run meanwhile
        return
    single, mean = model["ticks"], batch["ticks"] / batch["runs"]
    if abs(mean / max(single, 1) - 1) > _BATCH_TOLERANCE:
        yield f"{name}: a run takes {single:,} ticks alone and {mean:,.0f} in a batch"
    layers = sum(layer["ticks"] for layer in model["layers"])
    if not single / 2 <= layers <= 2 * single:
        yield f"{name}: the layers take {layers:,} ticks, the run {single:,}"


def _board(board: Board, figures: Facts) -> Iterator[str]:
    stated, known = figures["measurement"]["board"], board_identity(board)
    for key in sorted({*stated, *known}):
        if stated.get(key) != known.get(key):
            yield f"{board.name} has {key} {_short(known.get(key))}, the file says {_short(stated.get(key))}"
    for text in other_chip(board, figures["chip"]):
        yield f"this is no {board.title}: {text}"
    if set(figures["chip"]) != set(words_of(board, figures["measurement"]["platform"]).names):
        yield f"the words that identify the chip of a {board.name} are missing"


def _builds(board: Board, figures: Facts, more: Sequence[Path], notes: list[str]) -> Iterator[str]:
    """Compiles the models again. Their build ids depend on the C and on the facts of the measurement."""
    head = figures["measurement"]
    ours = {"version": VERSION, "commit": solder_commit()}
    if head["solder"] != ours:
        there, here = (f"{each['version']} {each['commit'][:8]}".strip() for each in (head["solder"], ours))
        notes.append(f"the firmware, which Solder {there} made; this is {here}")
        return
    words, files = words_of(board, head["platform"]), models_of(more)
    skipped = {each["model"] for each in figures["skipped"]}
    stated = {model["model"]: model["build_id"] for model in figures["models"]}
    for name in [each for each in head["models"] if each in files]:
        try:
            source = _compiled(files[name], board.name)
        except FitError:
            if name not in skipped:
                yield f"{name} does not fit a {board.name}"
            continue
        if name in stated and stated[name] != build_id_of(firmware_source(source, head, words)):
            yield f"{name}: the firmware was not made of this model for this board with these facts"


@functools.cache
def _compiled(path: Path, board: str) -> ProjectSource:
    compiled = compile_for_firmware(import_model(path, CompileOptions()), load_board(board), CompileOptions())
    return project_source(compiled.artifact)


def with_energy(kit: KitFile, report: KitReport, data: bytes, where: str) -> Mapping[str, bytes]:
    """Returns the parts of a sound file with the samples of a power analyser. Raises DeployError."""
    report.require_sound()
    figures = {key: value for key, value in report.figures.items() if key != "energy"}
    figures |= {"energy": energy_of(data, figures, where)}
    return {**kit.parts, RESULT: as_json(figures), ENERGY: data}
