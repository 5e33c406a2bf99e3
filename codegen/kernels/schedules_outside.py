"""Schedules of layers that are not in this tree: of a user's file, of Python, of an installed package."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from codegen.kernels.schedule import Schedule


@dataclass(frozen=True)
class OwnSchedules:
    """Schedules from one place outside the tree."""

    origin: str  # the file as it was given, or the name of a schedule that Python made
    by_op: Mapping[str, tuple[Schedule, ...]] = field(repr=False, compare=False)  # best first
