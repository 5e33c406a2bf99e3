"""Pointers to rows: the row's number, and its address if it is part of another row."""

from __future__ import annotations

from collections.abc import Callable

from codegen.c.tree import Expr, Infix, Name, Number, Subscript, factor, plus, times, unsigned
from codegen.formats import RowFormat
from codegen.kernels.kernel import RowAccess, RowCycle
from codegen.lower.stages import LoweredTensor

RowOf = Callable[[Expr], Expr]  # the call of the tensor's accessor, for a whole row
ROW = Name("row")  # the layer's parameter: which of its rows it computes


def ruled_row(
    access: RowAccess, number: int, view: RowFormat | None, tensor: LoweredTensor, row_of: RowOf
) -> Expr:
    """Returns pointer `number`, which advances by the access's stride for each row of the result."""
    stride, offset = access.stride, access.first + number * access.step
    base = _strided(stride)
    if view is None:
        return row_of(plus(base, offset + tensor.format.top))
    if tensor.whole:
        return _in_one_piece(plus(base, offset), view, row_of)
    parts, offset = tensor.format.row_elements // view.row_elements, offset + view.top
    if stride % parts:
        return _part_of_row(plus(base, offset), view, tensor, row_of)
    row, part = divmod(offset, parts)
    return plus(row_of(plus(_strided(stride // parts), row)), part * view.row_elements)


def given_row(number: Expr, view: RowFormat | None, tensor: LoweredTensor, row_of: RowOf) -> Expr:
    """Returns the row of that number, of the view or of the tensor itself."""
    if view is None:
        return row_of(plus(number, tensor.format.top))
    if tensor.whole:
        return _in_one_piece(number, view, row_of)
    return _part_of_row(plus(number, view.top), view, tensor, row_of)


def given_number(access: RowAccess, param: str, number: int) -> Expr:
    """Returns the number of a row: computed if rows repeat in a cycle, otherwise from a table."""
    if access.cycle is None:
        place = plus(times(ROW, access.count), number) if access.count > 1 else ROW
        return Subscript(Name(f"{param}_rows"), place)
    return row_in_cycle(access.cycle, len(access.given))


def row_in_cycle(cycle: RowCycle, steps: int) -> Expr:
    """Returns the current row of a cycle over that many steps of the layer."""
    shared = Infix("/", ROW, unsigned(cycle.each)) if cycle.each > 1 else ROW
    return shared if cycle.rows * cycle.each >= steps else Infix("%", shared, unsigned(cycle.rows))


def _strided(stride: int) -> Expr:
    """Returns the previous rows; none for a device, whose second step uses the arguments of its first."""
    if stride == 0:
        return Number(0)
    return ROW if stride == 1 else times(ROW, stride)


def _in_one_piece(number: Expr, view: RowFormat, row_of: RowOf) -> Expr:
    return Infix("+", row_of(Number(0)), times(number, view.row_elements))


def _part_of_row(number: Expr, view: RowFormat, tensor: LoweredTensor, row_of: RowOf) -> Expr:
    if tensor.rows == 1:
        return _in_one_piece(number, view, row_of)
    parts, place = unsigned(tensor.format.row_elements // view.row_elements), factor(number)
    within = Infix("*", Infix("%", place, parts), unsigned(view.row_elements))
    return Infix("+", row_of(Infix("/", place, parts)), within)
