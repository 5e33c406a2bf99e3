"""The NPU for emulators: registers in front of the C model, which is compiled for the host."""

from __future__ import annotations

import ctypes
import struct
import sys
from dataclasses import dataclass

import numpy as np

from codegen.accelerators.emulated import EmulatedBoard, OutsideMemory, Registers
from extensions.ethos_u.library import ROOM, model_files

REGISTERS_BYTES = 0x1000
# Offsets in bytes; ethos_u_by_registers.c has the same ones as indices of 32-bit registers.
STATUS, CMD, RESET, QBASE, QREAD, QSIZE, PROT, CONFIG = 0x04, 0x08, 0x0C, 0x10, 0x18, 0x20, 0x24, 0x28
REGIONCFG, BASEP = 0x3C, 0x80
RUN, CLEAR_IRQ = 1 << 0, 1 << 1  # of CMD
IRQ_RAISED, BUS_STATUS, CMD_PARSE_ERROR, CMD_END_REACHED = 1 << 1, 1 << 2, 1 << 4, 1 << 5  # of STATUS
_REGIONS = 8
_READ_ONLY = 2  # of the two bits of REGIONCFG: ports AXI1, which are read only
_FOURCC, _CONFIGURE, _COMMANDS, _STREAM_VERSION = 0x31504F43, 1, 2, 0x10066001
_HEAD_BYTES = 20
# Return values of the model: bus errors; other non-zero values are errors of the commands.
_OK, _ON_THE_BUS = 0, (5, 6)


class _Region(ctypes.Structure):
    _fields_ = (("bytes", ctypes.c_void_p), ("writable", ctypes.c_void_p), ("size", ctypes.c_uint32))


class _Job(ctypes.Structure):
    _fields_ = (
        ("payload", ctypes.c_void_p),
        ("payload_bytes", ctypes.c_uint32),
        ("regions", _Region * _REGIONS),
        ("weights", ctypes.c_void_p),
        ("weights_count", ctypes.c_uint32),
        ("most_steps", ctypes.c_uint64),
    )


class _Fault(ctypes.Structure):
    _fields_ = (("status", ctypes.c_int), ("position", ctypes.c_uint32), ("code", ctypes.c_uint16))


@dataclass(frozen=True)
class _Held:
    """A region as the device accesses it: from its base to the end of the board's memory."""

    base: int
    before: np.ndarray[tuple[int], np.dtype[np.uint8]]
    bytes: np.ndarray[tuple[int], np.dtype[np.uint8]]

    def store(self, memory: OutsideMemory) -> None:
        """Writes only the range of bytes that changed."""
        changed = np.flatnonzero(self.before != self.bytes)
        if changed.size:
            first, stop = int(changed[0]), int(changed[-1]) + 1
            memory.write(self.base + first, self.bytes[first:stop].tobytes())


class NpuRegisters:
    """The registers of one NPU. A run completes within the write that starts it."""

    def __init__(self, board: EmulatedBoard) -> None:
        (self._config,) = board.words
        self._memory = board.memory
        self._model = board.loaded(model_files())
        self._model.ethos_u_status_text.restype = ctypes.c_char_p
        self._values: dict[int, int] = {}
        self._room = np.zeros(ROOM, np.int16)

    def read(self, offset: int) -> int:
        return self._config if offset == CONFIG else self._values.get(offset, 0)

    def write(self, offset: int, value: int) -> None:
        if offset == RESET:
            self._values = {PROT: value}
        elif offset != CMD:
            self._values[offset] = value
        elif value & RUN:
            self._run()
        elif value & CLEAR_IRQ:
            self._values[STATUS] = self.read(STATUS) & ~IRQ_RAISED

    def _run(self) -> None:
        commands = self._memory.read(self._address(QBASE), self.read(QSIZE))
        words = len(commands) // 4
        follow = _COMMANDS | (words >> 16) << 8 | (words & 0xFFFF) << 16
        head = (_FOURCC, _CONFIGURE, self._config, _STREAM_VERSION, follow)
        payload = struct.pack("<5I", *head) + commands
        held = [self._held(number) for number in range(_REGIONS)]
        status, position = self._executed(payload, held)
        for number, region in enumerate(held):
            if region is not None and self._is_writable(number):
                region.store(self._memory)
        self._values[QREAD] = max(position - _HEAD_BYTES, 0)
        self._values[STATUS] = IRQ_RAISED | _status_bits(status)

    def _executed(self, payload: bytes, held: list[_Held | None]) -> tuple[int, int]:
        """Returns the model's result, and the position of the last command."""
        job, fault = _Job(), _Fault()
        content = ctypes.create_string_buffer(payload, len(payload))
        job.payload, job.payload_bytes = ctypes.addressof(content), len(payload)
        job.weights, job.weights_count = self._room.ctypes.data, ROOM
        for number, region in enumerate(held):
            if region is not None:
                place = region.bytes.ctypes.data
                job.regions[number] = _Region(
                    place, place if self._is_writable(number) else None, region.bytes.size
                )
        status = int(self._model.ethos_u_run(ctypes.byref(job), ctypes.byref(fault)))
        if status != _OK:
            text = self._model.ethos_u_status_text(status).decode()
            sys.stderr.write(f"ethos-u: command {fault.code:#06x}: {text}\n")
        return status, int(fault.position)

    def _address(self, offset: int) -> int:
        return self.read(offset) | self.read(offset + 4) << 32

    def _held(self, number: int) -> _Held | None:
        base = self._address(BASEP + 8 * number)
        size = self._memory.bytes_from(base) if BASEP + 8 * number in self._values else 0
        if size == 0:
            return None
        content = np.frombuffer(self._memory.read(base, size), np.uint8)
        return _Held(base, content, content.copy())

    def _is_writable(self, number: int) -> bool:
        return not (self.read(REGIONCFG) >> 2 * number) & _READ_ONLY


def _status_bits(status: int) -> int:
    if status == _OK:
        return CMD_END_REACHED
    return BUS_STATUS if status in _ON_THE_BUS else CMD_PARSE_ERROR


def mapped(board: EmulatedBoard) -> Registers:
    """Returns a device for an emulator to map."""
    device = NpuRegisters(board)
    return Registers(device.read, device.write)
