"""Energy of a run, from the CSV file of a power analyser.

The file has a heading and one row per sample, while the model runs again and again:

    model,time_s,current_a,voltage_v
    keywords,0.000000,0.01210,3.301

`voltage_v` may be left out if the supply is known. Other columns are ignored.
"""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from aot.errors import InputError

_COLUMNS = ("model", "time_s", "current_a")
_LEAST_SAMPLES = 10
_MOST_WATTS = 100.0  # more is a wrong unit: a column in milliamperes
_HINT = "deploy docs measure-your-board describes the columns"

Sample = tuple[float, float]  # seconds, watts


def energy_of(data: bytes, figures: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Returns the mean power and the energy of a run, by model. Raises InputError."""
    times = {model["model"]: model.get("time_s") for model in figures["models"]}
    supply = figures["measurement"]["conditions"]["supply_v"]
    return {
        name: _one(name, samples, times, where) for name, samples in _samples(data, supply, where).items()
    }


def _samples(data: bytes, supply: float | None, where: str) -> dict[str, list[Sample]]:
    try:
        rows = csv.DictReader(data.decode("utf-8-sig").splitlines(), strict=True)
        heads = rows.fieldnames or ()
        missing = [column for column in _COLUMNS if column not in heads]
        if missing:
            raise InputError(f"the columns {', '.join(missing)} are missing", where, _HINT)
        if "voltage_v" not in heads and supply is None:
            raise InputError("the voltage is not known: no column voltage_v, no supply", where, _HINT)
        found: dict[str, list[Sample]] = {}
        for number, row in enumerate(rows, 2):
            found.setdefault(row["model"], []).append(_sample(row, supply, f"{where}, line {number}"))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"this is not a CSV file: {error}", where, _HINT) from None
    return found


def _sample(row: Mapping[str, str | None], supply: float | None, where: str) -> Sample:
    try:
        time_s, current = (float(row[column] or "") for column in ("time_s", "current_a"))
        volts = float(row["voltage_v"] or "") if "voltage_v" in row else supply
    except ValueError:
        raise InputError("a number is missing", where, _HINT) from None
    assert volts is not None
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
