"""Code before there is a compiler: the bytes of statements, estimated from their instructions and calls.

The factors were fitted to builds of 57 models by gcc 12.2 for Cortex-M4.
"""

from __future__ import annotations

from codegen.c.tree import FunctionCall, InstructionCall
from codegen.c.tree_walk import Node, statements_of, walk
from codegen.loops.ir import ScalarFunction

_BYTES_PER_INSTRUCTION = 4.0
_BYTES_PER_STATEMENT = 9.6


def estimate_bytes(node: Node) -> float:
    """The machine code of a function, a statement or some statements."""
    statements = sum(1 for _ in statements_of(node))
    instructions = sum(_instructions(part) for part in walk(node))
    return instructions * _BYTES_PER_INSTRUCTION + statements * _BYTES_PER_STATEMENT


def _instructions(part: Node) -> int:
    """The machine instructions of one use of an instruction, or of one call of a function."""
    is_scalar = isinstance(part, FunctionCall) and isinstance(part.helper, ScalarFunction)
    is_told = is_scalar or isinstance(part, InstructionCall)
    return part.helper.machine_instructions if is_told else 0
