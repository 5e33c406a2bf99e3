"""Tells the machines apart whose runs are recorded: how their code is decoded, how QEMU ends its blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from platforms.cycles import riscv, thumb
from platforms.cycles.instruction import MachineInstruction


@dataclass(frozen=True, slots=True)
class MachineCode:
    """The facts about a machine that recording and reading its runs need."""

    decode: Callable[[bytes, int], tuple[MachineInstruction, ...]]
    is_long: Callable[[bytes], bool]  # True for the first two bytes of an instruction of four
    page_bytes: int  # of QEMU's pages: a block ends with its page, or before an instruction across its end
    changes_mode: tuple[str, ...]  # beginnings of names: what may end a block and is not a jump
    argument: int  # numbers of registers at QEMU's debug port: a function's first argument,
    link: int  # the address that it returns to,
    pc: int  # and the next instruction's


MACHINE_CODES: Mapping[str, MachineCode] = {
    "arm": MachineCode(
        decode=thumb.decode,
        is_long=lambda head: head[1] >> 3 in (0b11101, 0b11110, 0b11111),
        page_bytes=1024,
        changes_mode=("vctp", "vpst", "vpt", "vpnot", "vmsr", "msr", "cps", "isb"),
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
