"""Finds importers in modules: each has a table by operator, named like the module in capitals."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from aot.extensions import LazyTable


def importers_in(package: str, files: Mapping[str, str]) -> Mapping[str, Any]:
    """Returns the importers of the operators that `files` lists for each module of a package.

    A module is imported when one of its operators is looked up. "quantised.MICROSOFT" is another table in
    quantised.py.
    """
    places = {operator: file for file, listed in files.items() for operator in listed.split(", ")}

    def load(operator: str) -> Any:
        stem, _, table = places[operator].partition(".")
        return getattr(import_module(f"{package}.{stem}"), table or stem.upper())[operator]

    return LazyTable(places, load)
