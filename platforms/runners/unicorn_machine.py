"""A small Cortex-M board around the unicorn CPU emulator: memory, UART on stdin and stdout, counter.

unicorn_runner starts it as a process. It implements reset and faults, because unicorn emulates instructions
but not exceptions.
"""

from __future__ import annotations

import argparse
import os
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import unicorn
from elftools.elf.elffile import ELFFile
from unicorn import arm_const as arm

from codegen.accelerators.emulated import SYMBOL, EmulatedBoard, EmulatedDevice, OutsideMemory
from platforms.runners.unicorn_devices import EmulatedUart, EndOfInput, SysTick

if TYPE_CHECKING:
    from platforms.cycles.recorder import Recorder
    from platforms.cycles.trace import TracePoints

PAGE = 0x1000
SCS = 0xE000E000  # system control space, one page
CPUID, CFSR, HFSR, BFAR, AIRCR, ICSR = 0xD00, 0xD28, 0xD2C, 0xD38, 0xD0C, 0xD04  # offsets in SCS
CPUID_ARM, CPUID_PART_SHIFT = 0x410F_0000, 4  # Arm's implementer, and the place of the part number
AIRCR_RESET = 0x05FA0004
HFSR_FORCED = 1 << 30
CFSR_STKERR, CFSR_BFARVALID = 1 << 12, 1 << 15
# Fault status bits for each reason why unicorn stops.
CFSR_OF = {
    unicorn.UC_ERR_READ_UNMAPPED: 1 << 9 | CFSR_BFARVALID,
    unicorn.UC_ERR_WRITE_UNMAPPED: 1 << 9 | CFSR_BFARVALID,
    unicorn.UC_ERR_WRITE_PROT: 1 << 9 | CFSR_BFARVALID,
    unicorn.UC_ERR_FETCH_UNMAPPED: 1 << 8,
    unicorn.UC_ERR_FETCH_PROT: 1 << 8,
    unicorn.UC_ERR_INSN_INVALID: 1 << 16,
    unicorn.UC_ERR_EXCEPTION: 1 << 16,
}
INVALID_STATE = 1 << 17  # default: an instruction that this processor does not support
STACK_LIMIT = 1 << 20
EXCP_STKOF = 19  # unicorn's number of the exception for a stack pointer below its limit
HARD_FAULT_VECTOR = 3
SYSTICK_VECTOR = 15
RETURN_TO_THREAD = 0xFFFFFFF9
PSR_PADDED = 1 << 9
SEMIHOSTING = b"\xab\xbe"  # bkpt 0xAB
SYS_OPEN, SYS_CLOSE, SYS_READ, SYS_EXIT_EXTENDED = 0x01, 0x02, 0x06, 0x20
RANDOM = b"/dev/urandom"  # the only file, on all hosts
FAILED = 0xFFFFFFFF
STATUS_LOCKUP = 71
WORD_BYTES = 4
FRAME = (
    arm.UC_ARM_REG_R0,
    arm.UC_ARM_REG_R1,
    arm.UC_ARM_REG_R2,
    arm.UC_ARM_REG_R3,
    arm.UC_ARM_REG_R12,
    arm.UC_ARM_REG_LR,
    arm.UC_ARM_REG_PC,
    arm.UC_ARM_REG_XPSR,
)


@dataclass(frozen=True, slots=True)
class EmulatedCounter:
    address: int
    hz: int
    bits: int
    instruction_ns: int

    def ticks(self, instructions: int) -> int:
        return (instructions * self.instruction_ns * self.hz // 1_000_000_000) & ((1 << self.bits) - 1)


class Machine:
    """A board with one program. run() returns the program's exit status."""

    def __init__(self, cpu: str, ram: Sequence[tuple[int, int]], flash: Sequence[tuple[int, int]]) -> None:
        self._uc = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
        self._uc.ctl_set_cpu_model(getattr(arm, f"UC_CPU_{cpu}"))
        self._ram = ram
        self._memories = (*ram, *flash)
        self._vectors = flash[0][0]
        for origin, size in ram:
            self._uc.mem_map(origin, size, unicorn.UC_PROT_ALL)
        for origin, size in flash:
            self._uc.mem_map(origin, size, unicorn.UC_PROT_READ | unicorn.UC_PROT_EXEC)
        self._scs: dict[int, int] = {}
        self._cpuid = 0
        self._uc.mmio_map(SCS, PAGE, self._read_scs, None, self._write_scs, None)
        self._instructions = 0
        self._systick = SysTick(1, 1)
        self._length_of: dict[tuple[int, int], int] = {}
        self._in_ram: list[tuple[int, int]] = []  # blocks in RAM, which loaded code may replace
        self._fault_address = 0
        self._exception = 0
        self._reset_asked = False
        self._status: int | None = None
        self._on_block: Callable[[int, int], None] | None = None
        self._uc.hook_add(unicorn.UC_HOOK_BLOCK, self._count)
        self._uc.hook_add(unicorn.UC_HOOK_INTR, self._on_interrupt)
        self._uc.hook_add(unicorn.UC_HOOK_MEM_INVALID, self._note_address)

    def load(self, elf: Path) -> None:
        """Loads the program to the addresses in its ELF file."""
        with elf.open("rb") as file:
            for segment in ELFFile(file).iter_segments():
                if segment["p_type"] == "PT_LOAD" and segment["p_filesz"]:
                    self._uc.mem_write(segment["p_paddr"], segment.data())

    def add_counter(self, counter: EmulatedCounter) -> None:
        """Adds the board's counter, and SysTick, which runs at the same rate."""
        page = counter.address & -PAGE
        self._systick = SysTick(counter.hz, counter.instruction_ns)

        def read(_uc: Any, offset: int, _size: int, _data: Any) -> int:
            at_counter = page + offset == counter.address
            return counter.ticks(self._instructions) if at_counter else 0

        self._uc.mmio_map(page, PAGE, read, None, None, None)

    def set_part(self, number: int) -> None:
        """Sets the part number of the core, which a program can read in CPUID."""
        self._cpuid = CPUID_ARM | number << CPUID_PART_SHIFT

    def add_uart(self, address: int, uart: EmulatedUart) -> None:
        uart.on_received = self._forget_loaded_code

        def read(_uc: Any, offset: int, _size: int, _data: Any) -> int:
            try:
                return uart.read(offset)
            except EndOfInput:
                self._stop(0)
                return 0

        def write(_uc: Any, offset: int, _size: int, value: int, _data: Any) -> None:
            uart.write(offset, value)

        self._uc.mmio_map(address & -PAGE, PAGE, read, None, write, None)

    def add_device(self, words: Sequence[int], device: EmulatedDevice) -> None:
        """Adds an accelerator's registers. The accelerator can access all memory of the board."""
        from platforms.native_code import loaded  # slow to import, and few boards have a device

        address, *more = words
        memory = OutsideMemory(
            lambda at, size: bytes(self._uc.mem_read(at, size)), self._uc.mem_write, self._bytes_from
        )
        registers = device.made(EmulatedBoard(memory, tuple(more), loaded))

        def read(_uc: Any, offset: int, _size: int, _data: Any) -> int:
            return registers.read(offset)

        def write(_uc: Any, offset: int, _size: int, value: int, _data: Any) -> None:
            registers.write(offset, value)

        self._uc.mmio_map(address, device.bytes, read, None, write, None)

    def _bytes_from(self, address: int) -> int:
        ends = (origin + size for origin, size in self._memories if origin <= address < origin + size)
        return next((end - address for end in ends), 0)

    def record(self, where: TracePoints) -> Recorder:
        """Records every model run from now on."""
        from platforms.cycles.recorder import Recorder  # NumPy is slow to import

        recorder = Recorder(self._uc, where)
        self._on_block = recorder.on_block
        return recorder

    def run(self) -> int:
        pc = self._reset()
        while True:
            try:
                self._uc.emu_start(pc | 1, 0xFFFFFFFF)
            except unicorn.UcError as error:
                pc = self._enter_fault(error.errno)
                continue
            if self._status is not None:
                return self._status
            pc = self._reset() if self._reset_asked else self._enter_systick()

    def _stop(self, status: int) -> None:
        self._status = status
        self._uc.emu_stop()

    def _reset(self) -> int:
        """Resets the processor and returns the entry point from the vector table. Memory is unchanged."""
        self._reset_asked = False
        self._scs = {CPUID: self._cpuid}
        self._systick.reset()
        self._exception = self._fault_address = 0
        stack, entry = struct.unpack("<II", self._uc.mem_read(self._vectors, 8))
        self._uc.reg_write(arm.UC_ARM_REG_SP, stack)
        return int(entry)

    def _enter_fault(self, errno: int) -> int:
        """Handles a fault like the processor: pushes a frame if it fits and returns the handler's address."""
        if self._scs.get(HFSR):  # a fault in the fault handler locks up the processor
            raise SystemExit(STATUS_LOCKUP)
        if self._uc.reg_read(arm.UC_ARM_REG_PC) | 1 == RETURN_TO_THREAD & ~6 | 1:
            return self._leave_exception()
        room = self._push_frame()
        cause = STACK_LIMIT if self._exception == EXCP_STKOF else CFSR_OF.get(errno, INVALID_STATE)
        self._scs[CFSR] = cause | (0 if room else CFSR_STKERR)
        self._scs[HFSR] = HFSR_FORCED
        self._scs[BFAR] = self._fault_address
        return self._handler(HARD_FAULT_VECTOR)

    def _enter_systick(self) -> int:
        self._systick.next()
        self._push_frame()
        self._scs[ICSR] = SYSTICK_VECTOR
        return self._handler(SYSTICK_VECTOR)

    def _push_frame(self) -> bool:
        """Pushes a frame and returns whether it fits. The saved status records the stack's alignment."""
        sp = self._uc.reg_read(arm.UC_ARM_REG_SP)
        *registers, psr = (self._uc.reg_read(register) & 0xFFFFFFFF for register in FRAME)
        frame = struct.pack("<8I", *registers, psr & ~PSR_PADDED | (PSR_PADDED if sp & 4 else 0))
        sp = sp - len(frame) & ~7
        self._uc.reg_write(arm.UC_ARM_REG_SP, sp)
        room = any(origin <= sp and sp + len(frame) <= origin + size for origin, size in self._ram)
        if room:
            self._uc.mem_write(sp, frame)
        return room

    def _handler(self, vector: int) -> int:
        self._uc.reg_write(arm.UC_ARM_REG_LR, RETURN_TO_THREAD)
        return int.from_bytes(self._uc.mem_read(self._vectors + 4 * vector, 4), "little")

    def _leave_exception(self) -> int:
        """Restores all registers and returns the interrupted instruction's address."""
        sp = self._uc.reg_read(arm.UC_ARM_REG_SP)
        frame = struct.unpack("<8I", self._uc.mem_read(sp, 32))
        for register, value in zip(FRAME, frame, strict=True):
            if register != arm.UC_ARM_REG_PC:
                self._uc.reg_write(register, value)
        *_, pc, psr = frame
        self._uc.reg_write(arm.UC_ARM_REG_SP, sp + 32 + (4 if psr & PSR_PADDED else 0))
        self._scs[ICSR] = 0
        return int(pc)

    def _note_address(
        self, _uc: Any, _access: int, address: int, _size: int, _value: int, _data: Any
    ) -> bool:
        self._fault_address = address
        return False

    def _count(self, uc: Any, address: int, size: int, _data: Any) -> None:
        try:
            count = self._length_of[address, size]
        except KeyError:
            count = self._learn(address, size)
        if self._instructions >= self._systick.due_at:
            uc.emu_stop()  # stops before this block, which is counted when it runs later
            return
        self._instructions += count
        if self._on_block is not None:
            self._on_block(address, size)

    def _learn(self, address: int, size: int) -> int:
        count = self._length_of[address, size] = thumb_instructions(self._uc.mem_read(address, size))
        if any(origin <= address < origin + length for origin, length in self._ram):
            self._in_ram.append((address, size))
        return count

    def _forget_loaded_code(self) -> None:
        for block in self._in_ram:
            del self._length_of[block]
        self._in_ram.clear()

    def _read_scs(self, _uc: Any, offset: int, _size: int, _data: Any) -> int:
        return self._scs.get(offset, 0)

    def _write_scs(self, uc: Any, offset: int, _size: int, value: int, _data: Any) -> None:
        if offset == AIRCR and value == AIRCR_RESET:
            self._reset_asked = True
            uc.emu_stop()
        self._systick.write(offset, value, self._instructions)
        self._scs[offset] = value

    def _on_interrupt(self, uc: Any, number: int, _data: Any) -> None:
        pc = uc.reg_read(arm.UC_ARM_REG_PC)
        if bytes(uc.mem_read(pc & ~1, 2)) != SEMIHOSTING:
            self._exception = number
            raise unicorn.UcError(unicorn.UC_ERR_EXCEPTION)
        operation, block = uc.reg_read(arm.UC_ARM_REG_R0), uc.reg_read(arm.UC_ARM_REG_R1)
        if operation == SYS_EXIT_EXTENDED:
            self._stop(struct.unpack("<2I", uc.mem_read(block, 8))[1] & 0xFF)
            return
        uc.reg_write(arm.UC_ARM_REG_R0, self._answer(uc, operation, block))
        uc.reg_write(arm.UC_ARM_REG_PC, (pc & ~1) + len(SEMIHOSTING) | 1)

    def _answer(self, uc: Any, operation: int, block: int) -> int:
        """Handles a semihosting request. Only random numbers can be read."""
        if operation == SYS_OPEN:
            place, _, count = struct.unpack("<3I", uc.mem_read(block, 12))
            return 1 if count == len(RANDOM) and bytes(uc.mem_read(place, count)) == RANDOM else FAILED
        if operation == SYS_READ:
            _, place, count = struct.unpack("<3I", uc.mem_read(block, 12))
            uc.mem_write(place, os.urandom(count))
            return 0
        return 0 if operation == SYS_CLOSE else FAILED


def thumb_instructions(code: bytes) -> int:
    """Counts Thumb instructions: those that start with 11101, 11110 or 11111 have 4 bytes."""
    count = at = 0
    while at < len(code):
        at += 4 if code[at + 1] >> 3 in (0b11101, 0b11110, 0b11111) else 2
        count += 1
    return count


def devices_of(elf: Path) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yields the accelerators that a program uses: name, then addresses and parameters."""
    with elf.open("rb") as file:
        program = ELFFile(file)
        table = program.get_section_by_name(".symtab")
        for symbol in table.iter_symbols() if table is not None else ():
            words = symbol["st_size"] // WORD_BYTES
            if symbol.name.startswith(SYMBOL) and words:
                name = symbol.name[len(SYMBOL) :].replace("_", "-")
                yield name, _words_at(program, symbol["st_value"], words)


def _words_at(program: ELFFile, address: int, count: int) -> tuple[int, ...]:
    segments = (each for each in program.iter_segments() if each["p_type"] == "PT_LOAD")
    found = next(s for s in segments if s["p_vaddr"] <= address < s["p_vaddr"] + s["p_filesz"])
    begin = address - found["p_vaddr"]
    return struct.unpack_from(f"<{count}I", found.data(), begin)


def _range(text: str) -> tuple[int, int]:
    origin, size = (int(part, 0) for part in text.split(":"))
    return origin, size


def _counter(text: str) -> EmulatedCounter:
    return EmulatedCounter(*(int(part, 0) for part in text.split(":")))


def _arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="unicorn_machine", description=__doc__)
    parser.add_argument("elf", type=Path)
    parser.add_argument("--cpu", required=True, help="as unicorn names it: ARM_CORTEX_M4")
    parser.add_argument("--part", type=lambda text: int(text, 0), required=True, help="number of the core")
    parser.add_argument("--flash", type=_range, action="append", required=True, metavar="ORIGIN:BYTES")
    parser.add_argument("--ram", type=_range, action="append", required=True, metavar="ORIGIN:BYTES")
    parser.add_argument("--uart", type=lambda text: int(text, 0), required=True, metavar="ADDRESS")
    parser.add_argument("--counter", type=_counter, required=True, metavar="ADDRESS:HZ:BITS:INSTRUCTION_NS")
    parser.add_argument("--record", type=Path, metavar="FILE", help="write what the last run executed")
    parser.add_argument("--run", type=lambda text: int(text, 0), metavar="ADDRESS")
    parser.add_argument("--on-layer", type=lambda text: int(text, 0), metavar="ADDRESS")
    return parser.parse_args(argv)


def _where(arguments: argparse.Namespace) -> TracePoints:
    from platforms.cycles.trace import TracePoints  # NumPy is slow to import

    origin, size = arguments.flash[0]
    return TracePoints(arguments.run, arguments.on_layer, range(origin, origin + size))


def _add_devices(machine: Machine, elf: Path) -> None:
    """Adds the program's accelerators, and imports their modules only if needed."""
    for name, words in devices_of(elf):
        from codegen.accelerators.table import accelerators

        device = accelerators()[name].emulated
        if device is not None:
            machine.add_device(words, device)


def main(argv: Sequence[str]) -> int:
    arguments = _arguments(argv)
    uart = EmulatedUart(sys.stdin.fileno(), sys.stdout.fileno())
    machine = Machine(arguments.cpu, arguments.ram, arguments.flash)
    machine.load(arguments.elf)
    machine.set_part(arguments.part)
    machine.add_counter(arguments.counter)
    machine.add_uart(arguments.uart, uart)
    _add_devices(machine, arguments.elf)
    recorder = machine.record(_where(arguments)) if arguments.record else None
    status = machine.run()
    uart.flush()
    if recorder is not None:
        recorder.trace().save(arguments.record)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
