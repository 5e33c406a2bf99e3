"""Architecture-specific facts for recording runs: how to decode code, and how QEMU ends blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from platforms.cycles import riscv, thumb
from platforms.cycles.instruction import MachineInstruction


@dataclass(frozen=True, slots=True)
class MachineCode:
    """Facts about an architecture."""

    decode: Callable[[bytes, int], tuple[MachineInstruction, ...]]
    is_long: Callable[[bytes], bool]  # for the first two bytes: whether the instruction has four
    page_bytes: int  # QEMU's page size: blocks end at a page end, or before an instruction that crosses it
    changes_mode: tuple[str, ...]  # mnemonic prefixes of instructions that end a block without being jumps
    argument: int  # QEMU's debug-port number of the register for a function's first argument,
    link: int  # of the return address register,
    pc: int  # and of the program counter


MACHINE_CODES: Mapping[str, MachineCode] = {
    "arm": MachineCode(
        decode=thumb.decode,
        is_long=lambda head: head[1] >> 3 in (0b11101, 0b11110, 0b11111),
        page_bytes=1024,
        changes_mode=("vctp", "vcmp", "vpst", "vpt", "vpnot", "vmsr", "msr", "cps", "isb"),
        argument=0,
        link=14,
        pc=15,
    ),
    "riscv": MachineCode(
        decode=riscv.decode,
        is_long=lambda head: head[0] & 0b11 == 0b11,
        page_bytes=4096,
        changes_mode=("csr", "fence", "ecall", "ebreak", "mret", "wfi"),
        argument=10,
        link=1,
        pc=32,
    ),
}
