"""The accelerators, which compute layers in the place of generated kernels: each has a folder here."""

from __future__ import annotations

from aot.extensions import ACCELERATORS as GROUP
from aot.extensions import loaded

ACCELERATORS: tuple[str, ...] = ("vanilla",)


def accelerator_names() -> tuple[str, ...]:
    """All that can be asked for: the tree's own, then those of extensions."""
    return (*ACCELERATORS, *loaded(GROUP))
