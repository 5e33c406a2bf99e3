"""The sizes of the device's memories and its timings, used by the compiler and both models."""

from __future__ import annotations

from dataclasses import dataclass

LANES = 16  # of a vector; a tile of weights is LANES x LANES


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory of the device. An index selects an entry."""

    entries: int
    entry_bytes: int

    @property
    def bytes(self) -> int:
        return self.entries * self.entry_bytes


MEMORIES = {
    "INPUT": Memory(1024, LANES),  # vectors of int8
    "WEIGHT": Memory(256, LANES * LANES),  # tiles of int8, [output][input]
    "ACCUMULATOR": Memory(512, 4 * LANES),  # vectors of int32
    "MICROCODE": Memory(256, 4),  # micro-operations
    "OUTPUT": Memory(512, LANES),  # vectors of int8
}


@dataclass(frozen=True, slots=True)
class DeviceTiming:
    """Cycles of the device clock. Loads and stores share one port to external memory."""

    issue_cycles: int = 4  # to fetch and decode an instruction
    dma_latency_cycles: int = 16  # before the first byte of a transfer
    dma_bytes_per_cycle: int = 8
    tiles_per_cycle: int = 1  # micro-operations of the GEMM core: 256 products each
    vectors_per_cycle: int = 1  # micro-operations of the ALU: 16 results each


TIMING = DeviceTiming()
