"""Choices of where results go, each of which takes memory in one network and saves it in another."""

from __future__ import annotations

from aot.records import dataclass

NO_LAYER: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ResultPlaces:
    spread: frozenset[str] = NO_LAYER  # layers that put each row of their input to its places as it comes
    copies_views: bool = False  # outputs that are views are copied, and not made where they lie


AT_ONCE = ResultPlaces()
