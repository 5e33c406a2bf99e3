"""The names that --accelerator takes; to list them, no accelerator is imported."""

from __future__ import annotations

from aot.extensions import ACCELERATORS as GROUP
from aot.extensions import loaded, shipped

ACCELERATORS = shipped("ACCELERATORS")  # with Solder, by name
EXAMPLES = shipped("EXAMPLES")  # of them, to copy


def accelerator_names() -> tuple[str, ...]:
    """All that can be asked for: those that come with Solder, then those of installed packages."""
    return (*ACCELERATORS, *loaded(GROUP))
