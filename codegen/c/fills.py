"""The helpers that fill rows and padding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from codegen.c.tree import Helper

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
