"""Columns and number formats of a report's tables, for the web page and Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from deploy.devices.board_filter import COUNTED

Facts = Mapping[str, Any]
Column = tuple[str, str, str]  # heading, key of the fact, format; "" for text

BOARDS: Sequence[Column] = (
    ("board", "board", ""),
    ("core", "core", ""),
    ("fits", "fits", "yes_no"),
    ("RAM", "ram_bytes", "number"),
    ("of RAM", "ram_there", "number"),
    ("flash", "flash_bytes", "number"),
    ("of flash", "flash_there", "number"),
    ("cycles", "cycles", "number"),
    ("time", "time_s", "milliseconds"),
)
PARTS: Sequence[Column] = (("memory", "region", ""), ("part", "part", ""), ("bytes", "bytes", "number"))
LAYERS: Sequence[Column] = (
    ("layer", "index", ""),
    ("op", "op", ""),
    ("in the model", "origin", ""),
    ("shapes", "shapes", ""),
    ("kernel", "kernel", ""),
    ("MACs", "macs", "number"),
    ("weights", "weight_bytes", "number"),
    ("RAM needed", "live_bytes", "number"),
    ("cycles", "cycles", "number"),
)
VALUES: Sequence[Column] = (
    ("layer", "index", ""),
    ("op", "op", ""),
    ("from", "low", "real"),
    ("to", "high", "real"),
    ("range used", "range_used", "share"),
    ("minimum", "at_least", "share"),
    ("maximum", "at_most", "share"),
    ("dB to float", "decibels", "decibels"),
    ("largest error", "largest_error", "real"),
)
OPTIONS: Sequence[Column] = (
    ("option", "flag", ""),
    ("purpose", "why", ""),
    ("RAM", "ram_bytes", "number"),
    ("RAM change", "ram_change", "change"),
    ("flash", "flash_bytes", "number"),
    ("flash change", "flash_change", "change"),
    ("cycles", "cycles", "number"),
    ("cycles change", "cycles_change", "share_change"),
)
MISTAKES: Sequence[Column] = (
    ("label", "label", ""),
    ("answer", "found", ""),
    ("samples", "samples", "number"),
)
OTHERS: Sequence[Column] = (
    ("board", "name", ""),
    ("core", "core", ""),
    ("RAM", "ram_bytes", "number"),
    ("RAM needed", "ram_needed", "number"),
    ("flash", "flash_bytes", "number"),
    ("flash needed", "flash_needed", "number"),
    ("counted", "counts_firmware", "counted"),
)


def with_facts(columns: Sequence[Column], rows: Sequence[Facts]) -> list[Column]:
    """Returns the columns for which at least one row has a value."""
    return [each for each in columns if any(row[each[1]] is not None for row in rows)]


def parts_of(uses: Iterable[Facts]) -> list[Facts]:
    """Returns a row for each part of each memory."""
    return [
        {"region": use["region"], "part": name, "bytes": size}
        for use in uses
        for name, size in use["parts"].items()
    ]


def watched(layers: Iterable[Facts]) -> list[Facts]:
    """Returns a row for each layer with recorded values."""
    return [{**layer, **layer["values"]} for layer in layers if layer["values"]]


def doubt(watched_layers: Sequence[Facts], float_model: str) -> str:
    """Returns a warning if the float model is probably not the origin of this model."""
    known = [each["decibels"] for each in watched_layers if each["decibels"] is not None]
    if 2 * sum(decibels < 0 for decibels in known) <= len(known):
        return ""
    return (
        f"Most layers differ from those of {float_model} by more than their own values: "
        "the float model is probably not its source."
    )


def mistakes(confusion: Iterable[Facts]) -> list[Facts]:
    """Returns the classes that differ from the label, most frequent first."""
    return sorted((each for each in confusion if each["label"] != each["found"]), key=_by_count)


def _by_count(row: Facts) -> int:
    return -int(row["samples"])


_ABSENT = "-"
_ALL_DIGITS_MS = 100  # from here, milliseconds are shown without decimals


def _number(value: int | None) -> str:
    return _ABSENT if value is None else f"{value:,}"


def _yes_no(value: bool) -> str:
    return "yes" if value else "no"


def _change(value: int) -> str:
    return f"{value:+,}" if value else "same"


def _share(value: float | None) -> str:
    return _ABSENT if value is None else f"{value:.1%}"


def _share_change(value: float | None) -> str:
    return _ABSENT if value is None else f"{value:+.1%}"


def _milliseconds(seconds: float | None) -> str:
    if seconds is None:
        return _ABSENT
    milliseconds = seconds * 1e3
    return f"{milliseconds:,.0f} ms" if milliseconds >= _ALL_DIGITS_MS else f"{milliseconds:.3g} ms"


def _real(value: float | None) -> str:
    return _ABSENT if value is None else f"{value:.4g}"


def _decibels(value: float | None) -> str:
    return _ABSENT if value is None else f"{value:.1f}"


FORMS: Mapping[str, Callable[[Any], str]] = {
    "number": _number,
    "yes_no": _yes_no,
    "counted": COUNTED.__getitem__,
    "change": _change,
    "share": _share,
    "share_change": _share_change,
    "milliseconds": _milliseconds,
    "real": _real,
    "decibels": _decibels,
}


def said(row: Facts, column: Column) -> str:
    """Returns the text of a cell."""
    _, key, form = column
    if form:
        return FORMS[form](row[key])
    return "" if row[key] is None else str(row[key])
