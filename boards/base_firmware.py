"""Reads what firmware takes before it has a model, from what `python -m benchmarks base-firmware` wrote."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from aot.target import BaseFirmware

TABLE = "base_firmware.json"


def base_firmware(board: str, platforms: Iterable[str]) -> BaseFirmware | None:
    """The firmware of the first of these platforms that was measured; None where none was."""
    measured = _table().get(board, {})
    return next((BaseFirmware(name, **measured[name]) for name in platforms if name in measured), None)


@cache
def _table() -> Mapping[str, Any]:
    table: Mapping[str, Any] = json.loads(files("boards").joinpath(TABLE).read_text(encoding="utf-8"))
    return table
