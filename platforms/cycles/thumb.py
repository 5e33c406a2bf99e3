"""Decodes Thumb code with capstone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from platforms.cycles.disassembly import disassembled
from platforms.cycles.instruction import MachineInstruction

# Mnemonics and register names of Thumb code.

LOOP_ENDS = ("le", "letp", "wls", "wlstp")  # end or start hardware loops
USUAL_NAME = {"r13": "sp", "r14": "lr", "r15": "pc"}


_KIND = {
    **dict.fromkeys(("ldr", "ldrb", "ldrh", "ldrsb", "ldrsh"), "load"),
    **dict.fromkeys(("str", "strb", "strh"), "store"),
    "ldrd": "load_pair",
    "strd": "store_pair",
    **dict.fromkeys(("ldm", "ldmdb", "pop", "vldr", "vldmia", "vldmdb", "vpop"), "load_many"),
    **dict.fromkeys(("stm", "stmdb", "push", "vstr", "vstmia", "vstmdb", "vpush"), "store_many"),
    "mul": "multiply",
    **dict.fromkeys(("mla", "mls"), "multiply_add"),
    **dict.fromkeys(("smull", "umull"), "multiply_long"),
    **dict.fromkeys(("smlal", "umlal", "umaal"), "multiply_add_long"),
    **dict.fromkeys(("sdiv", "udiv"), "divide"),
    "b": "branch",
    **dict.fromkeys(("cbz", "cbnz"), "compare_branch"),
    "bl": "call",
    "bx": "branch_register",
    "blx": "call_register",
    **dict.fromkeys(("tbb", "tbh"), "table_branch"),
    **dict.fromkeys(
        ("vmla", "vmls", "vnmla", "vnmls", "vfma", "vfms", "vfnma", "vfnms"), "float_multiply_add"
    ),
    **dict.fromkeys(("vdiv", "vsqrt"), "float_divide"),
    **dict.fromkeys(("vadd", "vsub", "vmul", "vnmul", "vcvt"), "float"),
}
_VECTORS = (("vld", "load_vector"), ("vst", "store_vector"))  # Helium, by prefix
_HAS_ADDRESS = ("load", "store")  # prefixes of the kinds that access memory
_LISTS = {"ldm", "ldmdb", "stm", "stmdb", "vldmia", "vldmdb", "vstmia", "vstmdb"}  # list after the base
_SINGLE = {"ldr", "str"}
_STACK = {"push", "pop", "vpush", "vpop"}


def decode(code: bytes, address: int) -> tuple[MachineInstruction, ...]:
    """Decodes the instructions of a block. Raises ToolError for invalid ones."""
    return disassembled(disassembler(), code, address, _instruction)


@cache
def disassembler() -> Any:
    """Returns a shared instance, because creating one is slower than decoding most blocks."""
    import capstone

    mode = capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS | capstone.CS_MODE_V8
    made = capstone.Cs(capstone.CS_ARCH_ARM, mode)
    made.detail = True
    return made


def _instruction(found: Any) -> MachineInstruction:
    read, written = (frozenset(_name(found, number) for number in each) for each in found.regs_access())
    name = _instruction_name(found)
    kind = _KIND.get(name, "") or next((kind for start, kind in _VECTORS if name.startswith(start)), "")
    memory = tuple(_memory_registers(found))
    if kind == "store" and len(memory) > 1:
        kind = "store_indexed"
    if not kind and "pc" in written:
        kind = "move_pc"
    return MachineInstruction(
        address=found.address,
        bytes=found.size,
        name=name,
        kind=kind,
        registers=_registers(found, name),
        reads=read,
        writes=written,
        address_of=frozenset(memory) if kind.startswith(_HAS_ADDRESS) else frozenset(),
    )


def _instruction_name(found: Any) -> str:
    """Returns the full mnemonic; for pushes and pops the alias, which matches their operands."""
    name, short = str(found.insn_name()), str(found.mnemonic).partition(".")[0]
    return short if short in _STACK and name not in _SINGLE else name


def _name(found: Any, number: int) -> str:
    name = str(found.reg_name(number))
    return USUAL_NAME.get(name, name)


def _memory_registers(found: Any) -> Iterator[str]:
    """Yields the registers of an operand's address, or the base register of a multiple load or store."""
    from capstone import arm

    name = _instruction_name(found)
    if name in _STACK:
        yield "sp"
    elif name in _LISTS:
        yield _name(found, found.operands[0].reg)
    for operand in found.operands:
        if operand.type == arm.ARM_OP_MEM:
            yield from (_name(found, number) for number in (operand.mem.base, operand.mem.index) if number)


def _registers(found: Any, name: str) -> int:
    """Counts the words that an instruction transfers; a double-precision register counts as two."""
    count = len(found.operands)
    if name in ("vldr", "vstr"):
        return 2 if found.reg_name(found.operands[0].reg).startswith("d") else 1
    if name in _LISTS:
        count -= 1
    elif name not in _STACK:
        return 1
    return count * (2 if found.reg_name(found.operands[-1].reg).startswith("d") else 1)
