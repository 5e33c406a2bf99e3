"""The device for emulators: registers, the same results as the C model, and a clock.

Instructions run in the order in which they begin according to the timings.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from aot.errors import CheckError
from aot.ir.types import Array
from aot.ops.requant import Ints, rounding_divide_by_pot, saturating_rounding_doubling_high_mul
from codegen.accelerators.emulated import EmulatedBoard, OutsideMemory, Registers
from extensions.gemm_npu.assembly import line_of
from extensions.gemm_npu.encoding import (
    ALU_OPERATIONS,
    BYTES,
    MEMORY_NAMES,
    EncodingError,
    NpuCommand,
    micro_parts,
    program_in,
)
from extensions.gemm_npu.machine import LANES, MEMORIES
from extensions.gemm_npu.timing import timed

# Registers, as offsets in bytes; the same as in gemm_npu_registers.c.
STATUS, PROGRAM, COUNT, START, CYCLES, BASES = 0x00, 0x04, 0x08, 0x0C, 0x10, 0x20
DONE, FAULT = 1, 2
Places = npt.NDArray[np.intp]
_NOWHERE: Places = np.zeros(0, np.intp)
_AT_ONCE = {"ADD": np.add.at, "MAX": np.maximum.at}  # iterations that update one place, in any order
_DTYPES = {"ACCUMULATOR": np.int32, "MICROCODE": np.int32}


class NpuDevice:
    """The memories of the device; `run` executes a program."""

    def __init__(self, outside: OutsideMemory) -> None:
        self._outside = outside
        self._memories: dict[str, Array] = {
            name: np.zeros(memory.bytes, np.int8).view(_DTYPES.get(name, np.int8)).reshape(memory.entries, -1)
            for name, memory in MEMORIES.items()
        }

    def run(self, program: Sequence[NpuCommand], bases: Sequence[int]) -> int:
        """Executes a program and returns the number of cycles. Raises CheckError."""
        run = timed(program)
        for event in run.events:
            one = program[event.number]
            try:
                self._carry_out(one, bases)
            except IndexError:
                raise CheckError(
                    f"gemm-npu: instruction {event.number} of queue {event.queue} leaves the device's memory",
                    line_of(one),
                ) from None
        return run.cycles

    def _carry_out(self, one: NpuCommand, bases: Sequence[int]) -> None:
        _CARRIES_OUT[one.operation](self, one, bases)

    def _load(self, one: NpuCommand, bases: Sequence[int]) -> None:
        rows, columns, size = one["rows"], one["columns"], one["bytes"]
        name = MEMORY_NAMES[one["memory"]]
        entry = LANES if one["diagonal"] else MEMORIES[name].entry_bytes
        filled = -(-size // entry) * entry
        content = np.zeros((rows, columns, filled), np.int8)
        for row in range(rows):
            content[row, :, :size] = self._row(one, bases, row)
        around = ((one["top"], one["bottom"]), (one["left"], one["right"]))
        padded = np.full((rows + sum(around[0]), columns + sum(around[1]), filled), one["fill"], np.int8)
        padded[one["top"] : one["top"] + rows, one["left"] : one["left"] + columns] = content
        entries = padded.reshape(-1, entry)
        if one["diagonal"]:
            entries = (entries[:, :, None] * np.eye(LANES, dtype=np.int8)).reshape(-1, LANES * LANES)
        memory = self._memories[name]
        if one["index"] + len(entries) > len(memory):
            raise IndexError
        memory[one["index"] : one["index"] + len(entries)] = np.ascontiguousarray(entries).view(memory.dtype)

    def _row(self, one: NpuCommand, bases: Sequence[int], row: int) -> Array:
        columns, step, size = one["columns"], one["column_stride"], one["bytes"]
        if not columns or not size:
            return np.zeros((columns, size), np.int8)
        begin = bases[one["base"]] + one["offset"] + row * one["row_stride"]
        content = np.frombuffer(self._outside.read(begin, (columns - 1) * step + size), np.int8)
        return np.lib.stride_tricks.as_strided(content, (columns, size), (step, 1))

    def _store(self, one: NpuCommand, bases: Sequence[int]) -> None:
        size = one["bytes"]
        vectors, elements = -(-size // LANES), one["rows"] * one["columns"]
        stop = one["index"] + elements * vectors
        if stop > MEMORIES["OUTPUT"].entries:
            raise IndexError
        content = self._memories["OUTPUT"][one["index"] : stop].reshape(one["rows"], one["columns"], -1)
        for row in range(one["rows"]):
            begin = bases[one["base"]] + one["offset"] + row * one["row_stride"]
            for column in range(one["columns"]):
                element = content[row, column, :size].tobytes()
                self._outside.write(begin + column * one["column_stride"], element)

    def _gemm(self, one: NpuCommand, _bases: Sequence[int]) -> None:
        sums, image, weights = (self._memories[name] for name in ("ACCUMULATOR", "INPUT", "WEIGHT"))
        for to, source, tile in self._micro(one):
            places, sources = _places(one, "to", to), _places(one, "from", source)
            products = image[sources].astype(np.int32) @ weights[one["tile_base"] + tile].reshape(
                LANES, LANES
            ).T.astype(np.int32)
            np.add.at(sums, places, products)

    def _alu(self, one: NpuCommand, _bases: Sequence[int]) -> None:
        operation = ALU_OPERATIONS[one["alu"]]
        micro = self._micro(one)
        turns = [
            np.stack([_places(one, side, each[n]) for each in micro], axis=1).reshape(-1)
            for n, side in enumerate(("to", "from"))
        ]
        places, sources = turns if micro else (_NOWHERE, _NOWHERE)
        if operation == "CLIP":
            total = self._operand(one, sources).astype(np.int64) + one["value"]
            self._memories["OUTPUT"][places] = np.clip(total, one["least"], one["greatest"])
            return
        read = set() if one["immediate"] else set(sources.tolist())
        if operation == "SCALE":
            read |= set((sources + 1).tolist())
        written = set(places.tolist())
        is_free = operation in _AT_ONCE or len(written) == len(places)
        size = len(places) if is_free and read.isdisjoint(written) else 1  # else one iteration at a time
        for at in range(0, len(places), max(size, 1)):
            self._change(operation, one, places[at : at + size], sources[at : at + size])

    def _change(self, operation: str, one: NpuCommand, places: Places, sources: Places) -> None:
        sums, other = self._memories["ACCUMULATOR"], self._operand(one, sources)
        if operation in _AT_ONCE:
            _AT_ONCE[operation](sums, places, other)
        elif operation == "MOVE":
            sums[places] = other
        elif operation == "SHIFT_LEFT":
            sums[places] = sums[places].astype(np.int64) << np.bitwise_and(other, 31)
        else:
            own, right = (sums[each].astype(np.int64) for each in (places, sources + 1))
            sums[places] = scaled(own, other.astype(np.int64), right)

    def _operand(self, one: NpuCommand, sources: Places) -> Array:
        if one["immediate"]:
            return np.full((len(sources), LANES), one["value"], np.int32)
        return self._memories["ACCUMULATOR"][sources]

    def _micro(self, one: NpuCommand) -> list[tuple[int, int, int]]:
        words = self._memories["MICROCODE"][one["first"] : one["first"] + one["count"], 0]
        if len(words) != one["count"]:
            raise IndexError
        return [micro_parts(int(word)) for word in words.view(np.uint32)]


def scaled(sums: Ints, multiplier: Ints, right: Ints) -> Ints:
    """Rounds twice, as the reference does. A negative shift is a left shift first. Shifts are modulo 32."""
    left, right = (np.maximum(each, 0) & 31 for each in (-right, right))
    shifted = (sums << left).astype(np.int32).astype(np.int64)
    return rounding_divide_by_pot(saturating_rounding_doubling_high_mul(shifted, multiplier), right)


def _places(one: NpuCommand, side: str, first: int) -> Places:
    outer = np.arange(one["outer"])[:, None] * one[f"{side}_outer"]
    inner = np.arange(one["inner"])[None, :] * one[f"{side}_inner"]
    return np.asarray(one[f"{side}_base"] + first + outer + inner, np.intp).reshape(-1)


_CARRIES_OUT = {
    "LOAD": NpuDevice._load,
    "STORE": NpuDevice._store,
    "GEMM": NpuDevice._gemm,
    "ALU": NpuDevice._alu,
}


class _Mapped:
    """The registers of one device."""

    def __init__(self, outside: OutsideMemory) -> None:
        self._outside = outside
        self._device = NpuDevice(outside)
        self._values: dict[int, int] = {}

    def read(self, offset: int) -> int:
        return self._values.get(offset, 0)

    def write(self, offset: int, value: int) -> None:
        self._values[offset] = value
        if offset == START:
            self._values[STATUS] = DONE if self._run() else FAULT

    def _run(self) -> bool:
        words = self._outside.read(self.read(PROGRAM), self.read(COUNT) * BYTES)
        bases = [self.read(BASES + 4 * n) for n in range(4)]
        try:
            cycles = self._device.run(program_in(np.frombuffer(words, np.uint32)), bases)
        except (CheckError, EncodingError) as error:
            sys.stderr.write(f"{error}\n")
            return False
        self._values[CYCLES] = self.read(CYCLES) + cycles & 0xFFFFFFFF
        return True


def mapped(board: EmulatedBoard) -> Registers:
    """Returns a device for an emulator to map."""
    device = _Mapped(board.memory)
    return Registers(device.read, device.write)
