"""C code that fills rows and their padding with zero points, and its helpers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from codegen.c.tree import Do, Expr, FunctionCall, Helper, Infix, Literal, Number, Stmt
from codegen.formats import RowFormat, has_padding

_FILLED = {16: "int16_t", 32: "float"}
_BETWEEN = {8: "int8_t", **_FILLED}


@dataclass(frozen=True, slots=True)
class FillHelper(Helper):
    """A function that stores one value many times: in consecutive elements, or between planes."""

    is_between: bool = False


def _fill_between(bits: int, c_type: str) -> FillHelper:
    return FillHelper(
        f"fill_between_{bits}",
        f"""\
/* Fills the gap after each plane with `value`: `elements` of padding per gap, planes `step` apart. */
static inline void fill_between_{bits}(
    {c_type} *row, uint32_t planes, uint32_t step, uint32_t elements, {c_type} value)
{{
    for ({c_type} *const end = row + planes * step; row != end; row += step) {{
        for (uint32_t i = 0; i < elements; ++i) {{
            row[i] = value;
        }}
    }}
}}
""",
        is_between=True,
    )


def _fill(bits: int, c_type: str) -> FillHelper:
    return FillHelper(
        f"fill_{bits}",
        f"""\
static inline void fill_{bits}({c_type} *row, uint32_t elements, {c_type} value)
{{
    for (uint32_t i = 0; i < elements; ++i) {{
        row[i] = value;
    }}
}}
""",
    )


_FILL_BYTES = FillHelper(
    "fill_8",
    """\
static inline void fill_8(int8_t *row, uint32_t elements, int8_t value)
{
    memset(row, value, (size_t)elements);
}
""",
    includes=("string.h",),
)

FILLS: Mapping[int, FillHelper] = MappingProxyType(
    {8: _FILL_BYTES, **{b: _fill(b, t) for b, t in _FILLED.items()}}
)
FILLS_BETWEEN: Mapping[int, FillHelper] = MappingProxyType(
    {b: _fill_between(b, t) for b, t in _BETWEEN.items()}
)


def filled_row(fmt: RowFormat, row: Expr, rows: int = 1) -> Stmt:
    """Returns the statement that fills one or several consecutive rows without pixels."""
    return _call(_row_fill(fmt), row, Number(fmt.row_elements * rows), _value(fmt))


def filled_padding(fmt: RowFormat, y: Expr) -> tuple[Stmt, ...]:
    """Returns statements that fill the padding of the row at y."""
    if not has_padding(fmt):
        return ()
    return _beside_pixels(fmt, y) if fmt.c_step == 1 else _beside_planes(fmt, y)


def _beside_pixels(fmt: RowFormat, y: Expr) -> tuple[Stmt, ...]:
    first, end = fmt.left * fmt.x_step, (fmt.left + fmt.width) * fmt.x_step
    return (*_filled(fmt, y, 0, first), *_filled(fmt, y, end, fmt.row_elements))


def _beside_planes(fmt: RowFormat, y: Expr) -> tuple[Stmt, ...]:
    end, gap = fmt.left + fmt.channels * fmt.c_step, fmt.c_step - fmt.width
    between = _call(
        FILLS_BETWEEN[8 * fmt.dtype_bytes],
        Infix("+", y, Number(fmt.left + fmt.width)),
        *(Number(n) for n in (fmt.channels, fmt.c_step, gap)),
        _value(fmt),
    )
    return (
        *_filled(fmt, y, 0, fmt.left),
        *((between,) if gap else ()),
        *_filled(fmt, y, end, fmt.row_elements),
    )


def _filled(fmt: RowFormat, y: Expr, first: int, end: int) -> tuple[Stmt, ...]:
    """Fills the elements of y from `first` to before `end`, if there are any."""
    place = Infix("+", y, Number(first)) if first else y
    return (_call(_row_fill(fmt), place, Number(end - first), _value(fmt)),) if end > first else ()


def _row_fill(fmt: RowFormat) -> Helper:
    return FILLS[8 * fmt.dtype_bytes]


def _call(helper: Helper, *arguments: Expr) -> Stmt:
    return Do(FunctionCall(helper.name, arguments, helper))


def _value(fmt: RowFormat) -> Expr:
    """Returns the padding value. Only floats have four bytes and padding."""
    return Literal(f"{fmt.fill}.0f") if fmt.dtype_bytes == 4 else Number(fmt.fill)
