"""The core features that all FPU code needs."""

from __future__ import annotations

from aot.target import Feature

NEEDS = frozenset({Feature.FPU})
