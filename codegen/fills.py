"""C functions that fill margins: name -> definition, printed where it is called."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

_FILLED = {8: "int8_t", 16: "int16_t", 32: "float"}


def _fill_between(bits: int, c_type: str) -> str:
    return f"""\
/* The margins that planes share: `elements` after each plane, planes `step` apart. */
static inline void fill_between_{bits}(
    {c_type} *row, uint32_t planes, uint32_t step, uint32_t elements, {c_type} value)
{{
    for ({c_type} *const end = row + planes * step; row != end; row += step) {{
        for (uint32_t i = 0; i < elements; ++i) {{
            row[i] = value;
        }}
    }}
}}
"""


def _fill(bits: int, c_type: str) -> str:
    return f"""\
static inline void fill_{bits}({c_type} *row, uint32_t elements, {c_type} value)
{{
    for (uint32_t i = 0; i < elements; ++i) {{
        row[i] = value;
    }}
}}
"""


_FILL_BYTES = """\
static inline void fill_8(int8_t *row, uint32_t elements, int8_t value)
{
    memset(row, value, elements);
}
"""

FILLS: Mapping[str, str] = MappingProxyType(
    {
        **{f"fill_{bits}": _fill(bits, c_type) for bits, c_type in _FILLED.items()},
        "fill_8": _FILL_BYTES,
        **{f"fill_between_{bits}": _fill_between(bits, c_type) for bits, c_type in _FILLED.items()},
    }
)
