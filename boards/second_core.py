"""The second core of a board, and why firmware for both of a board's cores is not made where it is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aot.target import Feature


@dataclass(frozen=True, slots=True)
class SecondCore:
    """A core beside the board's first, which its other facts are about."""

    core: str
    features: frozenset[Feature]  # that it has beside those of every such core
    shares_memory: bool  # it sees the flash and the RAM that the first core sees, at the same addresses
    start: str  # how firmware starts it: project_templates/baremetal/second_core_<start>.c; empty: none does
    reason: str  # why none does

    def lacks(self, core: str, features: frozenset[Feature]) -> str:
        """The reason why it cannot work for a first core with these features; empty where it can."""
        missing = ", ".join(sorted(features - self.features))
        wrong: tuple[tuple[bool, Callable[[], str]], ...] = (
            (not self.shares_memory, lambda: f"its second, a {self.core}, has flash and RAM of its own"),
            (self.core != core, lambda: f"its second is a {self.core} and no {core}"),
            (bool(missing), lambda: f"its second, a {self.core}, has no {missing}"),
            (not self.start, lambda: f"its second is not started: {self.reason}"),
        )
        return next((says() for is_so, says in wrong if is_so), "")
