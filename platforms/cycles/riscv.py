"""Decodes 32-bit RISC-V code with capstone."""

from __future__ import annotations

from functools import cache
from typing import Any

from platforms.cycles.disassembly import disassembled
from platforms.cycles.instruction import MachineInstruction

_KIND = {
    **dict.fromkeys(("lw", "lh", "lhu", "lb", "lbu", "flw", "lr_w"), "load"),
    **dict.fromkeys(("sw", "sh", "sb", "fsw"), "store"),
    "mul": "multiply",
    **dict.fromkeys(("mulh", "mulhu", "mulhsu"), "multiply_long"),
    **dict.fromkeys(("div", "divu", "rem", "remu"), "divide"),
    **dict.fromkeys(("beq", "bne", "blt", "bge", "bltu", "bgeu", "beqz", "bnez"), "compare_branch"),
    "j": "branch",
    "jal": "call",
    "jr": "branch_register",
    "jalr": "call_register",
    **dict.fromkeys(("fadd_s", "fsub_s", "fmul_s"), "float"),
    **dict.fromkeys(("fmadd_s", "fmsub_s", "fnmadd_s", "fnmsub_s"), "float_multiply_add"),
    **dict.fromkeys(("fdiv_s", "fsqrt_s"), "float_divide"),
}
_SHORT = "c_"  # prefix of compressed instructions
_OF_STACK = {
    "lwsp": "lw",
    "swsp": "sw",
    "flwsp": "flw",
    "fswsp": "fsw",
    "addi16sp": "addi",
    "addi4spn": "addi",
}
_REACHES_MEMORY = ("load", "store")


def decode(code: bytes, address: int) -> tuple[MachineInstruction, ...]:
    """Decodes the instructions of a block. Raises ToolError for invalid ones."""
    return disassembled(_disassembler(), code, address, _instruction)


@cache
def _disassembler() -> Any:
    """Returns a shared instance, because creating one is slower than decoding most blocks."""
    import capstone

    mode = capstone.CS_MODE_RISCV32 | capstone.CS_MODE_RISCV_C
    for extension in ("FD", "A", "ZBA", "ZBB", "ZBS"):
        mode |= getattr(capstone, f"CS_MODE_RISCV_{extension}")
    made = capstone.Cs(capstone.CS_ARCH_RISCV, mode)
    made.detail = True
    return made


def _instruction(found: Any) -> MachineInstruction:
    from capstone import riscv

    read, written = (frozenset(found.reg_name(number) for number in each) for each in found.regs_access())
    short = str(found.insn_name()).removeprefix(_SHORT)
    name = _OF_STACK.get(short, short)
    kind = _KIND.get(name, "")
    bases = (found.reg_name(each.mem.base) for each in found.operands if each.type == riscv.RISCV_OP_MEM)
    return MachineInstruction(
        address=found.address,
        bytes=found.size,
        name=name,
        kind=kind,
        registers=1,
        reads=read,
        writes=written,
        address_of=frozenset(bases) if kind in _REACHES_MEMORY else frozenset(),
    )
