"""Schedules from outside of this source tree: a user's file, Python code, or an installed package."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from codegen.kernels.strategy import Strategy


@dataclass(frozen=True)
class UserSchedules:
    """Schedules from one place outside of this source tree."""

    origin: str  # the file name as given, or the name of a schedule made in Python
    by_op: Mapping[str, tuple[Strategy, ...]] = field(repr=False, compare=False)  # best first
