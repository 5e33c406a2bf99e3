"""Reads the measured size of firmware without a model, written by `python -m benchmarks base-firmware`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from aot.target import BaseFirmware

TABLE = "base_firmware.json"


def base_firmware(board: str, platforms: Iterable[str]) -> BaseFirmware | None:
    """Returns the firmware of the first of these platforms that was measured, or None."""
    measured = _table().get(board, {})
    return next((BaseFirmware(name, **measured[name]) for name in platforms if name in measured), None)


@cache
def _table() -> Mapping[str, Any]:
    table: Mapping[str, Any] = json.loads(files("boards").joinpath(TABLE).read_text(encoding="utf-8"))
    return table
