"""Energy of a run, from the CSV file of a power analyser.

The file has a heading and one row per sample, while the model runs again and again:

    model,time_s,current_a,voltage_v
    keywords,0.000000,0.01210,3.301

`voltage_v` may be left out if the supply is known. Other columns are ignored. Files of a Joulescope and of a
Power Profiler Kit II have other columns and no model: the file is named after it.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aot.errors import InputError

_COLUMNS = ("model", "time_s", "current_a")
_VOLTAGE = "voltage_v"
_LEAST_SAMPLES = 10
_MOST_WATTS = 100.0  # more is a wrong unit: a column in milliamperes
_HINT = "deploy docs measure-your-board describes the columns"

Sample = tuple[float, float]  # seconds, watts


@dataclass(frozen=True, slots=True)
class Analyser:
    """The columns of a power analyser's files, and their units."""

    time: str
    current: str
    voltage: str = ""  # "": not in the file
    seconds: float = 1.0
    amperes: float = 1.0


_ANALYSERS = (
    Analyser("time_s", "current_a", _VOLTAGE),
    Analyser("#time", "current", "voltage"),  # Joulescope
    Analyser("Timestamp(ms)", "Current(uA)", "", 1e-3, 1e-6),  # Nordic's Power Profiler Kit II
)


def joined(files: Mapping[str, bytes]) -> bytes:
    """Joins files of one model each into a file of energy_of. Keys are paths. Raises InputError."""
    (first, data), *others = files.items()
    text = io.StringIO()
    try:
        if not others and "model" in (_table(data, first).fieldnames or ()):
            return data
        rows = (row for where, each in files.items() for row in _rows(each, where))
        csv.writer(text, lineterminator="\n").writerows([(*_COLUMNS, _VOLTAGE), *rows])
    except csv.Error as error:
        raise InputError(f"this is not a CSV file: {error}", ", ".join(files), _HINT) from None
    return text.getvalue().encode()


def _rows(data: bytes, where: str) -> Iterator[tuple[str, ...]]:
    table = _table(data, where)
    found = next(
        (each for each in _ANALYSERS if {each.time, each.current} <= {*(table.fieldnames or ())}), None
    )
    if found is None:
        known = "; ".join(f"{each.time}, {each.current}" for each in _ANALYSERS)
        raise InputError("this is no file of a known power analyser", where, f"columns: {known}")
    for number, row in enumerate(table, 2):
        try:
            time_s, current = (
                repr(float(row[name] or "") * unit)
                for name, unit in ((found.time, found.seconds), (found.current, found.amperes))
            )
        except ValueError:
            raise InputError("a number is missing", f"{where}, line {number}", _HINT) from None
        yield row.get("model") or Path(where).stem, time_s, current, row.get(found.voltage) or ""


def _table(data: bytes, where: str) -> csv.DictReader[str]:
    try:
        return csv.DictReader(data.decode("utf-8-sig").splitlines(), strict=True)
    except UnicodeDecodeError as error:
        raise InputError(f"this is not a CSV file: {error}", where, _HINT) from None


def energy_of(data: bytes, figures: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Returns the mean power and the energy of a run, by model. Raises InputError."""
    times = {model["model"]: model.get("time_s") for model in figures["models"]}
    supply = figures["measurement"]["conditions"]["supply_v"]
    return {
        name: _one(name, samples, times, where) for name, samples in _samples(data, supply, where).items()
    }


def _samples(data: bytes, supply: float | None, where: str) -> dict[str, list[Sample]]:
    try:
        rows = _table(data, where)
        heads = rows.fieldnames or ()
        missing = [column for column in _COLUMNS if column not in heads]
        if missing:
            raise InputError(f"the columns {', '.join(missing)} are missing", where, _HINT)
        found: dict[str, list[Sample]] = {}
        for number, row in enumerate(rows, 2):
            found.setdefault(row["model"], []).append(_sample(row, supply, f"{where}, line {number}"))
    except csv.Error as error:
        raise InputError(f"this is not a CSV file: {error}", where, _HINT) from None
    return found


def _sample(row: Mapping[str, str | None], supply: float | None, where: str) -> Sample:
    try:
        time_s, current = (float(row[column] or "") for column in ("time_s", "current_a"))
        volts = float(row[_VOLTAGE] or "") if row.get(_VOLTAGE) else supply
    except ValueError:
        raise InputError("a number is missing", where, _HINT) from None
    if volts is None:
        raise InputError(f"the voltage is not known: no {_VOLTAGE}, no supply", where, _HINT)
    watts = current * volts
    if not math.isfinite(time_s) or not 0 <= watts <= _MOST_WATTS:
        raise InputError(f"{watts:g} W are not the power of a board", where, _HINT)
    return time_s, watts


def _one(name: str, samples: Sequence[Sample], times: Mapping[str, Any], where: str) -> dict[str, Any]:
    if name not in times:
        raise InputError(f'"{name}" was not measured', where, f"measured: {', '.join(times)}")
    if times[name] is None:
        raise InputError("energy needs the time of a run, and this board counts instructions", where)
    if len(samples) < _LEAST_SAMPLES:
        raise InputError(f'"{name}" has {len(samples)} samples, at least {_LEAST_SAMPLES} are needed', where)
    span = samples[-1][0] - samples[0][0]
    if any(after[0] <= before[0] for before, after in itertools.pairwise(samples)):
        raise InputError(f'the times of "{name}" do not grow', where, _HINT)
    pairs = itertools.pairwise(samples)
    joules = sum((after[0] - before[0]) * (before[1] + after[1]) / 2 for before, after in pairs)
    return {
        "samples": len(samples),
        "seconds": span,
        "watts": joules / span,
        "joules_per_run": joules / span * times[name],
    }
