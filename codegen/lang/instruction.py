"""Custom instructions: a loop nest as text that defines the meaning, and C code that implements it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import Formatter

from aot.errors import InputError
from aot.target import FEATURES, Feature
from codegen.lang.misuse import checks_arguments, misuse
from codegen.loops import text as printed
from codegen.loops.axes import goes_beyond
from codegen.loops.ir import Buffer, Instruction, Proc, Role
from codegen.loops.parse import parse_proc
from codegen.loops.text import Named

# Converts procs and instructions to text and back. Errors show the line of the user's program.


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


# Derives facts about a user's C code from its text, once, when it is passed in.
#
# Only estimates of code size and stack use them. The project's C code declares them directly.

_ASM = "__asm__ volatile"
_OF_ITS_OWN = '"=&r"'  # the constraint of a scratch register in an assembly statement
_WITH_ALL_REGISTERS = "#else"  # follows the assembly, if a version without it needs fewer registers


@dataclass(frozen=True, slots=True)
class FactsOfC:
    """The facts, under the names of the fields of a function or an instruction."""

    is_inline: bool
    is_asm: bool
    own_registers: int


def facts_of(name: str, definition: str) -> FactsOfC:
    before, call, _ = definition.partition(f"{name}(")
    _, static, head = before.rpartition("static")
    usual, _, whole = definition.partition(_WITH_ALL_REGISTERS)
    return FactsOfC(
        is_inline=not (call and static) or "inline" in head.split(),
        is_asm=_ASM in definition,
        own_registers=(whole or usual).count(_OF_ITS_OWN),
    )


@checks_arguments
def instruction(
    meaning: str,
    call: str,
    definition: str = "",
    includes: Sequence[str] = (),
    needs: Sequence[str] = (),
) -> Instruction:
    """Returns an instruction for `Schedule.tensorize`. `needs` lists required core features, such as "dsp".

    `meaning` is a proc as text, whose loops define the result of the C code. In `call`, a local parameter is
    written as its elements, {acc[0]}, {acc[1]}, ..., a parameter of several rows as its rows, and any other
    as a pointer, {x}. `definition` is C code that the call uses.

        smlad = instruction(
            '''
            def smlad(acc: local(i32[1]), x: input(i16[2]), w: constant(i16[2])):
                for i in range(2):
                    acc[0] += x[i] * w[i]
            ''',
            "{acc[0]} = smlad({x}, {w}, {acc[0]});",
            "static inline int32_t smlad(const int16_t *x, const int16_t *w, int32_t sum) ...",
        )
    """
    proc = parse(textwrap.dedent(meaning).strip())
    beyond = goes_beyond(proc)
    if beyond:
        raise misuse(beyond, "the extents of the loops determine which elements are accessed")
    _require_known(call, proc)
    pointers = {p.name: _pointer(p) for p in proc.params if p.role is not Role.LOCAL}
    known = {feature: feature for feature in FEATURES}
    features = frozenset(known.get(Feature(name), Feature(name)) for name in needs)
    told = facts_of(proc.name, definition)
    return Instruction(
        proc.name,
        proc.params,
        proc.body,
        _grouped(call, pointers),
        definition,
        includes=tuple(includes),
        needs=features,
        is_inline=told.is_inline,
        is_asm=told.is_asm,
        own_registers=told.own_registers,
    )


def _require_known(call: str, proc: Proc) -> None:
    """Raises InputError if the call uses a name that is not a parameter."""
    sizes = {p.name: p.elements for p in proc.params}
    try:
        named = [name for _, name, *_ in Formatter().parse(call) if name is not None]
    except ValueError as error:
        raise misuse(
            f"the call of {proc.name} is not text with names in braces: {error}", "{x}, {acc[0]}"
        ) from None
    for name in named:
        param, _, rest = name.partition("[")
        element = rest.rstrip("]")
        if param in sizes and _stands_as_elements(proc.param(param)) and not element.isdigit():
            raise misuse(
                f"the call of {proc.name} has {{{name}}}, and {param} is local: name its elements",
                f"{{{param}[0]}}",
            )
        if param not in sizes:
            raise misuse(
                f"the call of {proc.name} has {{{name}}}, but its meaning has no {param}",
                f"there are {', '.join(sizes)}",
            )
        if element.isdigit() and int(element) >= max(sizes[param], proc.param(param).rows):
            raise misuse(f"the call of {proc.name} has {{{name}}}, and {param} has {sizes[param]} elements")


def _stands_as_elements(param: Buffer) -> bool:
    return param.role is Role.LOCAL and not param.vector_type


def _pointer(param: Buffer) -> str:
    """Returns the pointer as calls use it; for a single row, the pointer to that row."""
    return f"{param.name}[0]" if param.role is Role.ROWS and param.rows == 1 else param.name


def _grouped(call: str, pointers: Mapping[str, str]) -> str:
    """Returns the call with parentheses around pointers, which may be sums, before [ and after *."""
    parts = [(literal, name) for literal, name, *_ in Formatter().parse(call)]
    behind = [*(literal for literal, _ in parts[1:]), ""]
    found = []
    for (literal, name), after in zip(parts, behind, strict=True):
        found.append(literal.replace("{", "{{").replace("}", "}}"))
        if name is not None:
            is_sum = name in pointers and (literal.endswith("*") or after.startswith("["))
            pointer = pointers.get(name, name)
            found.append(f"({{{pointer}}})" if is_sum else f"{{{pointer}}}")
    return "".join(found)
