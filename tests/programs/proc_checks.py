"""A proc printed as C and run on the inputs that the interpreter ran it on, as a check."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from c_checks import Check, c_array
from nests import random_rows, result

from aot.ir.graph import Array
from codegen.instr.instruction import Function, Instruction
from codegen.loops.ir import Buffer, Proc, Role
from codegen.loops.print_c import PrintedProc, expand_unrolled, print_expanded


def print_proc(proc: Proc, comment: str) -> PrintedProc:
    """The proc as `static void name(...)`, with what it uses; a model's come out of its kernel library."""
    return print_expanded(replace(proc, body=expand_unrolled(proc.body)), comment, {})


def proc_check(name: str, proc: Proc, constants: Mapping[str, Array] | None = None) -> Check:
    """The printed proc on the inputs that the interpreter ran it on: random, but for those given."""
    given = dict(constants or {})
    printed = print_proc(proc, name)
    wanted = result(proc, given)
    helpers = [h for user in (*printed.functions, *printed.instructions) for h in with_needs(user)]
    definitions = dict.fromkeys(h.definition for h in helpers)
    includes = sorted({f"#include <{name}>" for h in helpers for name in h.includes})
    lines, arguments = [], []
    for number, param in enumerate(proc.params):
        rows = _rows(param, 5 + number, given)
        lines += [c_array(f"{param.name}{r}", row) for r, row in enumerate(rows)]
        lines.append(_argument(param))
        arguments.append(param.name)
    (out,) = wanted
    size = wanted[out][0].nbytes
    lines.append(c_array("wanted", wanted[out][0]))
    call = f"{proc.name}({', '.join(arguments)});"
    body = f"uint32_t CHECK(void)\n{{\n    {call}\n    return check_bytes({out}, wanted, {size}u);\n}}\n"
    return Check(name, "\n".join([*includes, "#define KERNEL", *definitions, printed.text, *lines, body]))


def _rows(param: Buffer, seed: int, given: Mapping[str, Array]) -> list[Array]:
    if param.role is Role.OUTPUT:
        return []
    return [given[param.name]] if param.name in given else random_rows(param, seed)


def _argument(param: Buffer) -> str:
    c_type, name = param.dtype.c_name, param.name
    if param.role is Role.OUTPUT:
        return f"static {c_type} {name}[{param.elements}];"
    if param.is_rows and param.rows > 1:
        rows = ", ".join(f"{name}{r}" for r in range(param.rows))
        return f"static const {c_type} *const {name}[{param.rows}] = {{{rows}}};"
    return f"static const {c_type} *const {name} = {name}0;"


def with_needs(helper: Function | Instruction) -> Iterator[Function | Instruction]:
    """What a helper's definition calls, then the helper: the order of a generated file."""
    for needed in helper.needs:
        yield from with_needs(needed)
    yield helper
