"""Disassembles a block of code with capstone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aot.errors import ToolError
from platforms.cycles.instruction import MachineInstruction

Block = tuple[MachineInstruction, ...]


def disassembled(
    disassembler: Any, code: bytes, address: int, instruction: Callable[[Any], MachineInstruction]
) -> Block:
    """Returns all instructions of a block. Raises ToolError for invalid ones."""
    found = tuple(instruction(each) for each in disassembler.disasm(code, address))
    end = found[-1].end if found else address
    if end != address + len(code):
        raise ToolError(f"capstone knows no instruction {code[end - address :][:4].hex()}", f"at {end:#x}")
    return found
