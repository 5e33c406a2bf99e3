"""The names that --accelerator takes; to list them, no accelerator is imported."""

from __future__ import annotations

from aot.extensions import ACCELERATORS as GROUP
from aot.extensions import loaded
from codegen.accelerators import ACCELERATORS


def accelerator_names() -> tuple[str, ...]:
    """All that can be asked for: the tree's own, then those of extensions."""
    return (*ACCELERATORS, *loaded(GROUP))
