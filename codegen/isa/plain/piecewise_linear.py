"""Linear interpolation between the 513 points of a 16-bit curve, in C."""

from __future__ import annotations

import numpy as np

from aot.ir.types import DType
from aot.ops.piecewise_linear import Table, on_lines
from codegen.isa.names import mangle
from codegen.loops.ir import ScalarFunction

_PER_LINE = 14


def line_function(what: str, table: Table) -> ScalarFunction:
    """f(stored input) -> stored result."""
    name = mangle(f"{what}_line", table.tobytes())
    numbers = [f"{v}," for v in table.tolist()]
    lines = [" ".join(numbers[i : i + _PER_LINE]) for i in range(0, len(numbers), _PER_LINE)]
    listed = "\n".join(f"    {line}" for line in lines)
    definition = f"""\
static const int16_t {name}_points[513] = {{
{listed}
}};

/* {what}, by lines between points that lie 128 stored steps apart. */
static inline int32_t {name}(int32_t v)
{{
    const int32_t first = {name}_points[(v >> 7) + 256];
    const int32_t slope = (int16_t)({name}_points[(v >> 7) + 257] - first);
    return (int16_t)(first + ((slope * (v & 127) + 64) >> 7));
}}
"""
    return ScalarFunction(
        name, DType.I32, definition, lambda v: int(on_lines(np.asarray(v, np.int64), table))
    )
