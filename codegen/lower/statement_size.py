"""Estimates the code bytes of statements on a Cortex-M4, for the flash prefetch cache.

Every statement counts, because unrolled loops are compared with each other. `function_size.py` estimates
whole functions.
"""

from __future__ import annotations

from codegen.c.tree import FunctionCall, InstructionCall
from codegen.c.tree_walk import Node, statements_of, walk
from codegen.loops.ir import ScalarFunction

_BYTES_PER_INSTRUCTION = 4.0
_BYTES_PER_STATEMENT = 9.6


def statement_bytes(node: Node) -> float:
    """Returns the code bytes of a function, a statement or several statements."""
    statements = sum(1 for _ in statements_of(node))
    instructions = sum(_instructions(part) for part in walk(node))
    return instructions * _BYTES_PER_INSTRUCTION + statements * _BYTES_PER_STATEMENT


def _instructions(part: Node) -> int:
    """Returns the machine instructions of one use of an instruction, or of one call of a function."""
    is_scalar = isinstance(part, FunctionCall) and isinstance(part.helper, ScalarFunction)
    is_told = is_scalar or isinstance(part, InstructionCall)
    return part.helper.machine_instructions if is_told else 0
