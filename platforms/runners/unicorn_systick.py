"""The Cortex-M SysTick timer as far as deadlines need it: it is due after so many instructions."""

from __future__ import annotations

import math

CSR, RVR = 0x010, 0x014  # offsets in the system control space
ENABLED_WITH_EXCEPTION = 3
NEVER = math.inf


class SysTick:
    """Counts down from RVR, at `hz`, again and again; each instruction takes `instruction_ns`."""

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
        """Starts to count again when the exception is taken."""
        self.due_at += self._period()

    def _period(self) -> int:
        return math.ceil((self._reload + 1) * self._instructions_per_tick)
