"""The figures of a result file as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from deploy.cli.console import count_text, table
from deploy.silicon.check_kit import KitReport
from deploy.silicon.replay import Facts

NOT_HARDWARE = "NOT HARDWARE"
_HEADS = (
    "model",
    "instructions",
    "cycles",
    "time, ms",
    "runs differ by",
    "model's cycles",
    "error",
    "mJ a run",
)
_LAYER_HEADS = ("", "op", "kernel", "MACs", "count", "model's cycles", "error", "origin")


def kit_page(report: KitReport, layers: bool = False) -> str:
    """Returns the page of a checked file."""
    figures = report.figures
    lines = [*_head(figures), "", _models(report)] if figures else []
    if figures and layers:
        lines += [line for model in figures["models"] for line in _layers(model, report)]
    lines += ["", *(f"not compared: {note}" for note in report.notes)]
    lines += [f"PROBLEM: {problem}" for problem in report.problems] or [_sound(report)]
    return "\n".join(lines).strip()


def _sound(report: KitReport) -> str:
    fine = f"{report.path.name} is sound: hashes, log, figures, outputs, clock and models fit"
    if report.is_hardware:
        return f"{fine}; measured on hardware"
    return f"{fine}; {NOT_HARDWARE}, so it says nothing about a board"


def _head(figures: Facts) -> Iterator[str]:
    head = figures["measurement"]
    board, solder, conditions = head["board"], head["solder"], head["conditions"]
    yield f"{board['name']} ({board['mcu']}, {board['core']}) at {board['clock_hz'] / 1e6:g} MHz"
    why = figures["not_hardware"]
    yield f"origin       {f'{NOT_HARDWARE}: ' + '; '.join(why) if why else 'hardware'}"
    yield f"date         {head['date']}, {head['computer']}"
    yield f"Solder       {solder['version']} {solder['commit'][:8]}".rstrip()
    yield f"firmware     {head['platform']}, {figures['models'][0]['toolchain']}"
    words = (f"{name} 0x{value:08x}" for name, value in figures["chip"].items())
    yield f"chip         {', '.join(words) or '-'}"
    yield f"clock        {_clock(figures['clock'])}"
    room = "?" if conditions["temperature_c"] is None else f"{conditions['temperature_c']:g}"
    volts = "?" if conditions["supply_v"] is None else f"{conditions['supply_v']:g}"
    yield f"conditions   {room} degrees Celsius, {volts} V, as the user says"


def _clock(clock: Facts) -> str:
    if clock["is_virtual"]:
        return "the emulator's, which is not compared with the computer's"
    return (
        f"counter {clock['counter_hz']:,} Hz, {clock['measured_hz']:,} Hz by the computer's clock over "
        f"{clock['computer_s']:.1f} s ({clock['off']:+.2%})"
    )


def _models(report: KitReport) -> str:
    figures = report.figures
    energy: Mapping[str, Any] = figures.get("energy", {})
    rows = []
    for model in figures["models"]:
        found = _estimate(report, model["model"])
        joules = energy.get(model["model"], {}).get("joules_per_run")
        spread = (max(model["runs"]) - min(model["runs"])) / max(model["ticks"], 1)
        time_s = model.get("time_s")
        rows.append(
            (
                model["model"],
                count_text(model.get("instructions")),
                count_text(model.get("cycles")),
                "-" if time_s is None else f"{time_s * 1e3:.4g}",
                f"{spread:.2%}",
                count_text(found.get("cycles")),
                error_text(model.get("cycles"), found.get("cycles")),
                "-" if joules is None else f"{joules * 1e3:.4g}",
            )
        )
    return table(_HEADS, rows)


def _estimate(report: KitReport, model: str) -> Facts:
    models = report.estimates.get("models") if isinstance(report.estimates, dict) else None
    found: Facts = models.get(model, {}) if isinstance(models, dict) else {}
    return found


def error_text(measured: int | None, estimated: int | None) -> str:
    """Formats how far the cycle model is off: +10 % is an estimate a tenth too high."""
    return f"{estimated / measured - 1:+.1%}" if measured and estimated else "-"


def _layers(model: Facts, report: KitReport) -> Iterator[str]:
    estimated = _estimate(report, model["model"]).get("layers", {})
    rows = []
    for layer in model["layers"]:
        count = layer.get("instructions", layer.get("cycles"))
        found = estimated.get(str(layer["index"]))
        rows.append(
            (
                str(layer["index"]),
                layer["op"],
                layer["kernel"],
                f"{layer['macs']:,}",
                count_text(count) if count is not None else f"{layer['time_s'] * 1e6:.4g} us",
                count_text(found),
                error_text(layer.get("cycles"), found),
                layer["origin"],
            )
        )
    yield from ("", f"{model['model']} (in a build that reports each row)", table(_LAYER_HEADS, rows))
