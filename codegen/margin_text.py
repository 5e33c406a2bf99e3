"""The C that fills rows, and what lies beside the pixels of one, with zero points."""

from __future__ import annotations

from codegen.formats import has_margins
from codegen.model import RowFormat


def filled_row(fmt: RowFormat, row: str) -> str:
    """All of a row that has no pixels."""
    return f"{_name(fmt)}({row}, {fmt.row_elements}, {_value(fmt)});"


def filled_margins(fmt: RowFormat) -> list[str]:
    """What is beside the pixels of the row y."""
    if not has_margins(fmt):
        return []
    return _beside_pixels(fmt) if fmt.c_step == 1 else _beside_planes(fmt)


def _beside_pixels(fmt: RowFormat) -> list[str]:
    first, end = fmt.left * fmt.x_step, (fmt.left + fmt.width) * fmt.x_step
    return [*_filled(fmt, 0, first), *_filled(fmt, end, fmt.row_elements)]


def _beside_planes(fmt: RowFormat) -> list[str]:
    end, gap = fmt.left + fmt.channels * fmt.c_step, fmt.c_step - fmt.width
    given = f"{fmt.channels}, {fmt.c_step}, {gap}, {_value(fmt)}"
    between = f"fill_between_{8 * fmt.dtype_bytes}(y + {fmt.left + fmt.width}, {given});"
    return [
        *_filled(fmt, 0, fmt.left),
        *([between] if gap else []),
        *_filled(fmt, end, fmt.row_elements),
    ]


def _filled(fmt: RowFormat, first: int, end: int) -> list[str]:
    """The elements of y from `first` to before `end`, where there are any."""
    place = f"y + {first}" if first else "y"
    return [f"{_name(fmt)}({place}, {end - first}, {_value(fmt)});"] if end > first else []


def _name(fmt: RowFormat) -> str:
    return f"fill_{8 * fmt.dtype_bytes}"


def _value(fmt: RowFormat) -> str:
    """What margins hold, as a number in C; only real numbers have four bytes and margins."""
    return f"{fmt.fill}.0f" if fmt.dtype_bytes == 4 else str(fmt.fill)
