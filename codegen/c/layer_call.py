"""The call of a kernel by a layer, with arguments in the order of its parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from codegen.c.kernel_function import HALF
from codegen.c.kernel_library import SharedKernel
from codegen.c.printer import shape_struct
from codegen.c.tree import (
    DefinePointers,
    DefineShape,
    DefineTable,
    Do,
    Expr,
    FunctionCall,
    Name,
    Prefix,
    Stmt,
    TypedName,
)
from codegen.kernels.kernel import Kernel
from codegen.loops.ir import Buffer, Role

_SHAPE = "shape"


@dataclass(frozen=True, slots=True)
class Operands:
    """The C expressions of a kernel's inputs. Its output is a variable with the parameter's name."""

    row: Callable[[Buffer, int], Expr]  # a pointer to a row, by the pointer's number
    constant: Callable[[str], Expr]  # the array for a parameter
    tables: Callable[[Buffer], Sequence[DefineTable]]  # needed by the pointers to rows


def layer_call(kernel: Kernel, called: SharedKernel, operands: Operands) -> tuple[Stmt, ...]:
    """Returns the arrays that the call needs, and the call."""
    before: list[Stmt] = []
    arguments: list[Expr] = []
    # The function may belong to another layer, in which a row is a constant or the other way round.
    mine = {p.name: p for proc in kernel.procs for p in proc.params}
    for param in (mine[p.name] for p in called.params):
        if param.role is Role.ROWS:
            before += operands.tables(param)
        if param.role is Role.ROWS and param.rows > 1:
            before.append(_pointers(param, operands))
        arguments.append(_argument(param, operands))
    if kernel.in_halves:
        arguments.append(HALF)
    if called.numbers:  # the numbers that distinguish layers that share the function
        before.append(DefineShape(shape_struct(called.name), _SHAPE, tuple(called.numbers.items())))
        arguments.append(Prefix("&", Name(_SHAPE)))
    return (*before, Do(FunctionCall(called.name, tuple(arguments))))


def _argument(param: Buffer, operands: Operands) -> Expr:
    if param.role is Role.ROWS and param.rows == 1:
        return operands.row(param, 0)
    if param.role in (Role.ROWS, Role.OUTPUT, Role.STATE, Role.SCRATCH):
        return Name(param.name)
    return operands.constant(param.name)


def _pointers(param: Buffer, operands: Operands) -> Stmt:
    variable = TypedName(f"const {param.dtype.c_name} *const", param.name, param.rows)
    return DefinePointers(variable, tuple(operands.row(param, number) for number in range(param.rows)))
