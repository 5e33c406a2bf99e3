"""Derives facts about a user's C code from its text, once, when it is passed in.

Only estimates of code size and stack use them. The project's C code declares them directly.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from codegen.c.library_size import SIZED

_WORD = re.compile(r"\w+")
_ASM = "__asm__ volatile"
_OF_ITS_OWN = '"=&r"'  # the constraint of a scratch register in an assembly statement
_WITH_ALL_REGISTERS = "#else"  # follows the assembly, if a version without it needs fewer registers


@dataclass(frozen=True, slots=True)
class FactsOfC:
    """The facts, under the names of the fields of a function or an instruction."""

    library_calls: tuple[str, ...]
    is_inline: bool
    is_asm: bool
    own_registers: int


def facts_of(name: str, definition: str) -> FactsOfC:
    before, call, _ = definition.partition(f"{name}(")
    _, static, head = before.rpartition("static")
    usual, _, whole = definition.partition(_WITH_ALL_REGISTERS)
    return FactsOfC(
        library_calls=tuple(sorted(SIZED.intersection(_WORD.findall(definition)))),
        is_inline=not (call and static) or "inline" in head.split(),
        is_asm=_ASM in definition,
        own_registers=(whole or usual).count(_OF_ITS_OWN),
    )
