"""The Cortex-M SysTick timer, limited to what deadlines need: an exception after a number of instructions."""

from __future__ import annotations

import math

CSR, RVR = 0x010, 0x014  # offsets in the system control space
ENABLED_WITH_EXCEPTION = 3
NEVER = math.inf


class SysTick:
    """Counts down from RVR at `hz`, repeatedly; each instruction lasts `instruction_ns`."""

    def __init__(self, hz: int, instruction_ns: int) -> None:
        self._instructions_per_tick = 1_000_000_000 / (hz * instruction_ns)
        self._reload = 0
        self.due_at = NEVER

    def write(self, offset: int, value: int, now: int) -> None:
        if offset == RVR:
            self._reload = value & 0xFFFFFF
        elif offset == CSR:
            runs = value & ENABLED_WITH_EXCEPTION == ENABLED_WITH_EXCEPTION
            self.due_at = now + self._period() if runs else NEVER

    def reset(self) -> None:
        self.due_at = NEVER

    def next(self) -> None:
        """Restarts counting when the exception is entered."""
        self.due_at += self._period()

    def _period(self) -> int:
        return math.ceil((self._reload + 1) * self._instructions_per_tick)
