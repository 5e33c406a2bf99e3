"""The text of a pointer to a row: which row it is, and where that lies if it is part of another."""

from __future__ import annotations

from collections.abc import Callable

from codegen.kernels.kernel import RowAccess, Turns
from codegen.model import RowFormat
from codegen.stages import Tensor

RowOf = Callable[[str], str]  # the call of the tensor's accessor, for a row of its own


def ruled_row(access: RowAccess, number: int, view: RowFormat | None, tensor: Tensor, row_of: RowOf) -> str:
    """The pointer with that number, which is so many rows on for each row of the result."""
    stride, offset = access.stride, access.first + number * access.step
    base = "row" if stride == 1 else f"row * {stride}u"
    if view is None:
        return row_of(f"{base}{plus(offset + tensor.format.top)}")
    if tensor.whole:
        return _in_one_piece(f"{base}{plus(offset)}", view, row_of)
    parts, offset = tensor.format.row_elements // view.row_elements, offset + view.top
    if stride % parts:
        return _part_of_row(f"{base}{plus(offset)}", view, tensor, row_of)
    row, part = divmod(offset, parts)
    base = "row" if stride == parts else f"row * {stride // parts}u"
    within = f" + {part * view.row_elements}u" if part else ""
    return f"{row_of(f'{base}{plus(row)}')}{within}"


def given_row(number: str, view: RowFormat | None, tensor: Tensor, row_of: RowOf) -> str:
    """The row of that number, of the view or of the tensor itself."""
    if view is None:
        return row_of(f"{number}{plus(tensor.format.top)}")
    if tensor.whole:
        return _in_one_piece(number, view, row_of)
    return _part_of_row(f"{number}{plus(view.top)}", view, tensor, row_of)


def given_number(access: RowAccess, param: str, number: int) -> str:
    """Where rows come in turn, each for some rows of the result, they are reckoned; others are in a table."""
    if access.turns is None:
        place = f"row * {access.count}u{plus(number)}" if access.count > 1 else "row"
        return f"{param}_rows[{place}]"
    return turns_text(access.turns, len(access.given))


def turns_text(turns: Turns, firings: int) -> str:
    shared = f"row / {turns.each}u" if turns.each > 1 else "row"
    return shared if turns.rows * turns.each >= firings else f"{shared} % {turns.rows}u"


def _in_one_piece(number: str, view: RowFormat, row_of: RowOf) -> str:
    return f"{row_of('0')} + {factor(number)} * {view.row_elements}u"


def _part_of_row(number: str, view: RowFormat, tensor: Tensor, row_of: RowOf) -> str:
    parts, place = tensor.format.row_elements // view.row_elements, factor(number)
    if tensor.rows == 1:
        return _in_one_piece(number, view, row_of)
    return f"{row_of(f'{place} / {parts}u')} + {place} % {parts}u * {view.row_elements}u"


def factor(text: str) -> str:
    return f"({text})" if " " in text else text


def plus(number: int) -> str:
    if number == 0:
        return ""
    return f" + {number}u" if number > 0 else f" - {-number}u"
