"""What a pass is: a pure function from graph to graph, with a name and a reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aot.ir.graph import Graph


@dataclass(frozen=True, slots=True)
class Pass:
    """Takes a graph that keeps every rule and gives one with the same results that does too.

    Where there is nothing to do it gives the very same object.
    """

    name: str
    run: Callable[[Graph], Graph]
    why: str  # why it stands where it stands in the pipeline
