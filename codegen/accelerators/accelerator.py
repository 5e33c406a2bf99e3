"""The part that an accelerator adds to the compiler, where the user asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from codegen.kernels.schedule import Schedule


@dataclass(frozen=True)
class Accelerator:
    """One line of the table. Its schedules come before all others, for the layers that they fit."""

    summary: str  # one line, for `deploy accelerators`
    schedules: Mapping[str, tuple[Schedule, ...]]  # by op, best first
