"""Columns of an exploration's tables, on the terminal and on its web page."""

from __future__ import annotations

from collections.abc import Sequence

from deploy.reporting.columns import Column

COLUMNS: Sequence[Column] = (
    ("model", "model", ""),
    ("board", "board", ""),
    ("core", "core", ""),
    ("options", "options", ""),
    ("fits", "fits", "yes_no"),
    ("RAM", "ram_bytes", "number"),
    ("flash", "flash_bytes", "number"),
    ("counted", "counts_firmware", "counted"),
    ("cycles", "cycles", "number"),
    ("time", "time_s", "milliseconds"),
    ("per second", "rate_hz", "real"),
    ("accuracy", "accuracy", "share"),
)
