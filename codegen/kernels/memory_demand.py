"""The demand of a kernel on the memory that it works in: where buffers begin, and which memories it reaches.

Nothing is promised of what lies at the caller's, inputs and outputs of the model: a kernel
with a demand gets a copy. Rows follow one another as their format says.
"""

from __future__ import annotations

from dataclasses import dataclass

from aot.plan.model import ANY_POOL

WORD = 4
MOST_ALIGN = 64  # a cache line, which the arenas of all platforms can begin at


@dataclass(frozen=True, slots=True)
class MemoryDemand:
    align: int = WORD  # a power of two; of where tensors, scratch and constants begin
    memories: frozenset[str] = ANY_POOL  # of the board, for tensors and scratch; empty: all

    def __post_init__(self) -> None:
        if not WORD <= self.align <= MOST_ALIGN or self.align & (self.align - 1):
            raise ValueError(
                f"alignment must be a power of two from {WORD} to {MOST_ALIGN}, not {self.align}"
            )


ANYWHERE = MemoryDemand()
