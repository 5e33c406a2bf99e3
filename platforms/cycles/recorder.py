"""Records the code that an emulated board executes during the latest run of a model."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
import unicorn
from unicorn import arm_const as arm

from platforms.cycles.trace import HALF_WORD, ODD_WORD, WORD, Trace, TracePoints

IT_BITS = 0x0600_FC00  # the remaining IT block in XPSR


class Recorder:
    """Records every block, which unicorn reports before executing it, and monitors data accesses."""

    def __init__(self, uc: Any, where: TracePoints) -> None:
        self._uc, self._where = uc, where
        self._numbers: dict[tuple[int, int], int] = {}
        self._code: list[bytes] = []
        self._has_it: list[bool] = []
        self._current = 0  # the block being executed
        self._is_running = False  # inside a run, but not in a layer report
        self._returns_to: int | None = None  # return address of the run; None: no run in progress
        self._resumes_at: int | None = None  # return address of a layer report, which is not part of the run
        self._begin()
        accesses = unicorn.UC_HOOK_MEM_READ | unicorn.UC_HOOK_MEM_WRITE
        uc.hook_add(accesses, self._on_access, begin=1, end=0)

    def on_block(self, address: int, size: int) -> None:
        number = self._numbers.get((address, size))
        self._current = number = self._learn(address, size) if number is None else number
        self._follow(address)
        if self._is_running:
            self._order.append(number)
            self._reads_before.append(len(self._flash_reads))

    def trace(self) -> Trace:
        """Returns the latest run. The block list also contains blocks executed only outside it."""
        return Trace(
            machine="arm",
            addresses=np.array([address for address, _ in self._numbers], np.int64),
            code=tuple(self._code),
            order=np.array(self._order, np.int64),
            flash_reads=np.array(self._flash_reads, np.int64),
            reads_before=np.array(self._reads_before, np.int64),
            misaligned=np.array(self._misaligned, np.int64).reshape(-1, 2),
            layer_ends=np.array(self._layer_ends, np.int64).reshape(-1, 2),
        )

    def _begin(self) -> None:
        self._order = array("I")
        self._reads_before = array("I")
        self._flash_reads = array("I")
        self._layer_ends = array("I")
        self._misaligned = array("I")

    def _follow(self, address: int) -> None:
        """Tracks the start and end of runs and layer reports."""
        if self._returns_to is None:
            if address == self._where.run:
                self._begin()
                self._returns_to = self._link()
                self._is_running = True
        elif address == self._returns_to:
            self._returns_to = None
            self._is_running = False
        elif self._resumes_at is not None:
            if address == self._resumes_at:
                self._resumes_at = None
                self._is_running = True
        elif address == self._where.on_layer:
            self._layer_ends.extend((self._uc.reg_read(arm.UC_ARM_REG_R0), len(self._order)))
            self._resumes_at = self._link()
            self._is_running = False

    def _link(self) -> int:
        return int(self._uc.reg_read(arm.UC_ARM_REG_LR)) & ~1

    def _learn(self, address: int, size: int) -> int:
        number = self._numbers[address, size] = len(self._code)
        code = bytes(self._uc.mem_read(address, size))
        self._code.append(code)
        self._has_it.append(any(code[at + 1] == 0xBF and code[at] & 0xF for at in range(0, size, 2)))
        return number

    def _on_access(self, uc: Any, access: int, address: int, size: int, _value: int, _data: Any) -> None:
        if self._has_it[self._current]:
            _leave_it_block(uc)
        if not self._is_running:
            return
        if access == unicorn.UC_MEM_READ and address in self._where.flash:
            self._flash_reads.append(address)
        if address & (size - 1):
            kind = HALF_WORD if size == 2 else ODD_WORD if address & 1 else WORD
            self._misaligned.extend((kind, len(self._order) - 1))


def _leave_it_block(uc: Any) -> None:
    """Clears the IT state that unicorn sets before it reports an access, because unicorn never does.

    Otherwise the next block would start inside an IT block. The current block does not read the state.
    """
    status = uc.reg_read(arm.UC_ARM_REG_XPSR)
    if status & IT_BITS:
        uc.reg_write(arm.UC_ARM_REG_XPSR, status & ~IT_BITS)
