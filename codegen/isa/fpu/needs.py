"""What all code for the FPU needs of a core."""

from __future__ import annotations

from aot.target import Feature

NEEDS = frozenset({Feature.FPU})
