"""The second core of a board, and the reason if firmware cannot use it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aot.target import Feature


@dataclass(frozen=True, slots=True)
class SecondCore:
    """A core in addition to the one that the other fields of a board describe."""

    core: str
    features: frozenset[Feature]  # in addition to the features of every such core
    shares_memory: bool  # both cores see the same flash and RAM at the same addresses
    start: str  # the file project_templates/baremetal/second_core_<start>.c starts it; "": not supported
    reason: str  # if it is not supported

    def lacks(self, core: str, features: frozenset[Feature]) -> str:
        """Returns why it cannot assist a first core with these features, or "" if it can."""
        missing = ", ".join(sorted(features - self.features))
        wrong: tuple[tuple[bool, Callable[[], str]], ...] = (
            (not self.shares_memory, lambda: f"its second, a {self.core}, has separate flash and RAM"),
            (self.core != core, lambda: f"its second is a {self.core}, not a {core}"),
            (bool(missing), lambda: f"its second, a {self.core}, has no {missing}"),
            (not self.start, lambda: f"its second is not started: {self.reason}"),
        )
        return next((says() for is_so, says in wrong if is_so), "")
