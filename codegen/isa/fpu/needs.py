"""The features of a core that all code for the FPU needs."""

from __future__ import annotations

from aot.target import Feature

NEEDS = frozenset({Feature.FPU})
