"""Converts procs and instructions to text and back. Errors show the line of the user's program."""

from __future__ import annotations

from collections.abc import Mapping

from aot.errors import InputError
from codegen.lang.argument_checks import checks_arguments
from codegen.lang.misuse import misuse
from codegen.loops import text as printed
from codegen.loops.ir import Instruction, Proc
from codegen.loops.parse import parse_proc
from codegen.loops.text import Named


@checks_arguments
def parse(text: str, named: Mapping[str, Named] | None = None) -> Proc:
    """Returns the proc that a text describes. `named` has the instructions and functions that it calls.

    Raises InputError with the line of the text if it is not a valid proc.
    """
    try:
        return parse_proc(text, named)
    except InputError as error:
        where = f", in {error.where}" if error.where else ""
        raise misuse(f"{error.what}{where}", error.hint) from None


@checks_arguments
def print_proc(proc: Proc) -> str:
    """Returns the loops as text, which `parse` reads back."""
    return printed.print_proc(proc)


@checks_arguments
def print_instruction(instruction: Instruction) -> str:
    """Returns the meaning of an instruction as text."""
    return printed.print_instruction(instruction)


@checks_arguments
def named_in(proc: Proc) -> dict[str, Named]:
    """Returns the instructions and functions that a proc calls, by name, as `parse` needs them."""
    return printed.named_in(proc)
