"""The memory that a kernel demands: alignment of its buffers, and the memories that it can access.

The caller's buffers, inputs and outputs of the model, have no guaranteed alignment. A kernel with a demand
gets a copy. The distance of rows follows from their format.
"""

from __future__ import annotations

from dataclasses import dataclass

from aot.plan.model import ANY_POOL

WORD = 4
MOST_ALIGN = 64  # a cache line; arenas of all platforms can have this alignment


@dataclass(frozen=True, slots=True)
class MemoryDemand:
    align: int = WORD  # a power of two; for tensors, scratch and constants
    memories: frozenset[str] = ANY_POOL  # names of the board, for tensors and scratch; empty: all

    def __post_init__(self) -> None:
        if not WORD <= self.align <= MOST_ALIGN or self.align & (self.align - 1):
            raise ValueError(
                f"alignment must be a power of two from {WORD} to {MOST_ALIGN}, not {self.align}"
            )


ANYWHERE = MemoryDemand()
