"""Loads the schedules of each op from an instruction set's table."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from codegen.kernels.schedule import Schedule


def listed_schedules(
    package: str, table: Mapping[str, tuple[str, ...]]
) -> Mapping[str, tuple[Schedule, ...]]:
    """The schedules by op, best first; `table` is the package's: module -> the ops that it is for."""
    found: dict[str, tuple[Schedule, ...]] = {}
    for module, ops in table.items():
        schedule = import_module(f"{package}.{module}").SCHEDULE
        for op in ops:
            found[op] = (*found.get(op, ()), schedule)
    return found
