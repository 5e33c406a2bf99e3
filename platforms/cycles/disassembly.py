"""Takes a block of code apart with the capstone disassembler, to its end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aot.errors import ToolError
from platforms.cycles.instruction import MachineInstruction

Block = tuple[MachineInstruction, ...]


def disassembled(
    disassembler: Any, code: bytes, address: int, instruction: Callable[[Any], MachineInstruction]
) -> Block:
    """The instructions of a block. Raises ToolError for bytes that are not an instruction."""
    found = tuple(instruction(each) for each in disassembler.disasm(code, address))
    end = found[-1].end if found else address
    if end != address + len(code):
        raise ToolError(f"capstone knows no instruction {code[end - address :][:4].hex()}", f"at {end:#x}")
    return found
