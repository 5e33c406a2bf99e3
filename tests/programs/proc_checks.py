"""A proc printed as C and run on the inputs that the interpreter ran it on, as a check; sums to run it on."""

from collections.abc import Mapping

import numpy as np
from c_checks import Check, c_array
from nests import random_rows, result

from aot.ir.types import Array
from codegen.c.kernel_function import kernel_function
from codegen.c.kernel_library import Helpers, collect_helpers
from codegen.c.printer import Printer
from codegen.c.tree_walk import helpers_of
from codegen.loops.ir import Buffer, Proc, Role


def print_proc(proc: Proc, comment: str) -> str:
    """The proc as `static void name(...)`."""
    return Printer().function(kernel_function(proc, comment).function) + "\n"


def helpers_of_proc(proc: Proc) -> Helpers:
    """What its function calls."""
    return collect_helpers(helpers_of(kernel_function(proc, "").function))


def proc_check(name: str, proc: Proc, constants: Mapping[str, Array] | None = None) -> Check:
    """The printed proc on the inputs that the interpreter ran it on: random, except those given."""
    given = dict(constants or {})
    helpers = helpers_of_proc(proc)
    printer = Printer(names=helpers.names)
    printed = printer.function(kernel_function(proc, name).function)
    wanted = result(proc, given)
    includes = [f"#include <{name}>" for name in helpers.includes]
    lines, arguments = [], []
    for number, param in enumerate(proc.params):
        rows = _rows(param, 5 + number, given)
        lines += [c_array(f"row{r}_of_{param.name}", row) for r, row in enumerate(rows)]
        lines.append(_argument(param))
        arguments.append(param.name)
    (out,) = wanted
    size = wanted[out][0].nbytes
    lines.append(c_array("wanted", wanted[out][0]))
    call = f"{proc.name}({', '.join(arguments)});"
    body = f"uint32_t CHECK(void)\n{{\n    {call}\n    return check_bytes({out}, wanted, {size}u);\n}}\n"
    return Check(
        name, "\n".join([*includes, "#define KERNEL", *helpers.texts(printer), printed, *lines, body])
    )


def _rows(param: Buffer, seed: int, given: Mapping[str, Array]) -> list[Array]:
    if param.role is Role.OUTPUT:
        return []
    return [given[param.name]] if param.name in given else random_rows(param, seed)


def _argument(param: Buffer) -> str:
    c_type, name = param.dtype.c_name, param.name
    if param.role is Role.OUTPUT:
        return f"static {c_type} {name}[{param.elements}];"
    if param.is_rows and param.rows > 1:
        rows = ", ".join(f"row{r}_of_{name}" for r in range(param.rows))
        return f"static const {c_type} *const {name}[{param.rows}] = {{{rows}}};"
    return f"static const {c_type} *const {name} = row0_of_{name};"


def around_results(mult: int, right: int) -> Array:
    """Returns the sums next to each change of an 8-bit result, halves among them, and the ends of 32 bits."""
    levels = np.arange(-260, 261)
    changes = [-((-((int(level) * 2 - 1) << (30 + right))) // mult) for level in levels]
    sums = np.array([c + d for c in changes for d in (-1, 0)] + [-(2**31), -1, 0, 2**31 - 1])
    return sums.clip(-(2**31), 2**31 - 1).astype(np.int32)
