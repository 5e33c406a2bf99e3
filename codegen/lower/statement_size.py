"""The code of statements, a loop's body among them: what a cache of code has to hold of it on a Cortex-M4.

Each statement counts, as a loop is a choice among few; `function_size.py` tells a whole function's bytes.
"""

from __future__ import annotations

from codegen.c.tree import FunctionCall, InstructionCall
from codegen.c.tree_walk import Node, statements_of, walk
from codegen.loops.ir import ScalarFunction

_BYTES_PER_INSTRUCTION = 4.0
_BYTES_PER_STATEMENT = 9.6


def statement_bytes(node: Node) -> float:
    """The machine code of a function, a statement or some statements."""
    statements = sum(1 for _ in statements_of(node))
    instructions = sum(_instructions(part) for part in walk(node))
    return instructions * _BYTES_PER_INSTRUCTION + statements * _BYTES_PER_STATEMENT


def _instructions(part: Node) -> int:
    """The machine instructions of one use of an instruction, or of one call of a function."""
    is_scalar = isinstance(part, FunctionCall) and isinstance(part.helper, ScalarFunction)
    is_told = is_scalar or isinstance(part, InstructionCall)
    return part.helper.machine_instructions if is_told else 0
