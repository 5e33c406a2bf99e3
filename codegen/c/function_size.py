"""Estimates the code bytes of functions from the kinds of their parts.

The size of a part depends on the kind of core (`core_kinds.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from codegen.c.core_kinds import PartBytes
from codegen.c.tree import AnyHelper, DeclareVariables, ForLoop, FunctionCall, InstructionCall, TypedName
from codegen.c.tree_walk import Node, walk
from codegen.loops.ir import Instruction, ScalarFunction

_OPERATORS = frozenset("-+*/%&|^~!<>=?")
_INLINED_OPERATORS = 12  # a compiler inlines shorter functions


def estimate_bytes(node: Node, each: PartBytes) -> float:
    """Returns the code bytes of a kernel's function, without its callees."""
    return sum(_bytes_of(part, each) for part in walk(node))


def _bytes_of(part: Node, each: PartBytes) -> float:
    match part:
        case InstructionCall():
            return part.helper.machine_instructions * each.instruction
        case DeclareVariables():
            return len(part.names) * each.variable
        case TypedName():
            return each.named
        case ForLoop():
            return each.loop
        case FunctionCall() if isinstance(part.helper, ScalarFunction):
            return each.scalar_call
    return 0.0


def estimate_helper_bytes(helpers: Iterable[AnyHelper], each: PartBytes) -> float:
    """Returns the code bytes of hand-written functions, each once, except inlined ones."""
    counts = (
        _operators(helper.definition.partition("{")[2])
        for helper in helpers
        if not isinstance(helper, Instruction)
    )
    return sum(count for count in counts if count >= _INLINED_OPERATORS) * each.operator


def _operators(text: str) -> int:
    """Counts the operators in C text; operators of several characters count once."""
    return sum(is_operator for is_operator, _ in groupby(text, _OPERATORS.__contains__))
