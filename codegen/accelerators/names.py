"""The values of --accelerator. Listing them imports no accelerator."""

from __future__ import annotations

from aot.extensions import ACCELERATORS as GROUP
from aot.extensions import loaded, shipped

ACCELERATORS = shipped("ACCELERATORS")  # included in Solder, by name
EXAMPLES = shipped("EXAMPLES")  # the ones to copy


def accelerator_names() -> tuple[str, ...]:
    """Returns all available accelerators: those included in Solder, then those of installed packages."""
    return (*ACCELERATORS, *loaded(GROUP))
