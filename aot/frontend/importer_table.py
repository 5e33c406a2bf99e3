"""Gathers importers from files: each has a table, operator by operator, of the file's name in capitals."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any


def importers_in(package: str, files: Iterable[str]) -> dict[str, Any]:
    """The importers in these files of a package; "quantised.MICROSOFT" is another table in quantised.py."""
    found: dict[str, Any] = {}
    for each in files:
        stem, _, table = each.partition(".")
        found |= getattr(import_module(f"{package}.{stem}"), table or stem.upper())
    return found
