"""gain_control: a gain from a table by noise level, then the level after noise reduction."""

from __future__ import annotations

from collections.abc import Sequence

from aot.ir.types import DType
from aot.ops.gain_control import (
    RATIO_BITS,
    RESULT_BITS,
    GainControl,
    beyond,
    compressed,
    curved,
    place_of,
)
from codegen.formats import RowFormat, RowRequest, storage_dtype
from codegen.isa.plain.scalar_math import expression_function
from codegen.isa.plain.signal import BIT_LENGTH
from codegen.kernels.kernel import Kernel, RowAccess, Site
from codegen.kernels.row_nests import every_pixel, flat_kernel, flat_requests, operand, pixel_element, result
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.affine import variable
from codegen.loops.ir import (
    Apply,
    Buffer,
    BufferPlace,
    Declare,
    Element,
    For,
    Load,
    Proc,
    Role,
    ScalarFunction,
    Stmt,
    Store,
    at,
    load,
    local,
)

_PLACE = expression_function(
    "gain_place",
    DType.I32,
    (DType.U32,),
    "a <= 2 ? (int32_t)a : 4 * bit_length(a) - 6",
    place_of,
    calls=(BIT_LENGTH,),
)
_BEYOND = ScalarFunction(
    "gain_beyond",
    DType.I32,
    """\
/* How far a noise lies beyond the place of its gain: ten bits. */
static inline int32_t gain_beyond(uint32_t noise)
{
    if (noise <= 2) {
        return 0;
    }
    const int32_t size = bit_length(noise);
    return (int32_t)((size < 11 ? noise << (11 - size) : noise >> (size - 11)) & 0x3FF);
}
""",
    beyond,
    calls=(BIT_LENGTH,),
)
_CURVED = ScalarFunction(
    "gain_between",
    DType.I32,
    """\
/* A parabola through three gains. */
static inline int32_t gain_between(int32_t start, int32_t slope, int32_t bend, int32_t by)
{
    const int32_t line = ((bend * by) >> 5) + slope * 32;
    return (int16_t)(((line * by + 16384) >> 15) + start);
}
""",
    curved,
)


def _compressed(shift: int) -> ScalarFunction:
    down = 2 + 2 * RATIO_BITS - RESULT_BITS
    definition = f"""\
/* The level above its noise: a square where it is small, a line beyond. */
static inline uint32_t compressed_{shift}(uint32_t level, int32_t gain)
{{
    const uint32_t ratio = (uint32_t)(((uint64_t)level * (uint32_t)gain) >> {shift});
    if (ratio < {2 << RATIO_BITS}u) {{
        return (ratio * ratio) >> {down};
    }}
    return (ratio >> {RATIO_BITS - RESULT_BITS}) - {1 << RESULT_BITS}u;
}}
"""
    return ScalarFunction(
        f"compressed_{shift}", DType.U32, definition, lambda a, g: compressed(int(a), int(g), shift)
    )


def _requests(site: Site) -> tuple[RowRequest | None, ...]:
    """Requests any rows for images computed at run time, otherwise contiguous tensors."""
    return (None, None) if _goes_by_rows(site) else flat_requests(site)


def _goes_by_rows(site: Site) -> bool:
    out = site.outputs[0]
    return out.rank == 4 and out.shape[0] == 1 and not {0, 1} & site.constants.keys() and 2 in site.constants


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    if _goes_by_rows(site):
        return _by_rows(site, inputs, output)
    i = variable("i")
    xs, noise, gains = (operand(site, n, name) for n, name in enumerate(("x", "noise", "gains")))
    ys = result(site)
    body = _gained(site, load(xs, i), load(noise, i), gains, at(ys, i))
    return flat_kernel(site, (xs, noise, gains), (For("i", ys.elements, body),), "the gains")


def _by_rows(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    xs, noise = (
        Buffer(name, storage_dtype(site.input(n), fmt), fmt.row_elements, Role.ROWS)
        for n, (name, fmt) in enumerate(zip(("x", "noise"), inputs, strict=True))
    )
    gains = operand(site, 2, "gains")
    ys = Buffer("y", storage_dtype(site.outputs[0], output), output.row_elements, Role.OUTPUT)
    level, floor = (load(rows, pixel_element(fmt)) for rows, fmt in zip((xs, noise), inputs, strict=True))
    body = _gained(site, level, floor, gains, at(ys, pixel_element(output)))
    return Kernel(
        proc=Proc(
            f"gain_control_{output.channels}_by_{output.width}",
            (xs, noise, gains, ys),
            (every_pixel(output, *body),),
        ),
        summary=f"One row of the gains: {output.said}.",
        access=(RowAccess(stride=1, first=0, count=1),) * 2,
        constants={"gains": site.constants[2].reshape(-1)},
    )


def _gained(site: Site, level: Load, noise: Load, gains: Buffer, made: BufferPlace) -> tuple[Stmt, ...]:
    op = site.op_as(GainControl)
    place, by = (local(name, DType.I32) for name in ("place", "by"))
    three = tuple(Element(at(gains, n), load(place)) for n in range(3))
    gain = Apply(_CURVED, (*three, load(by)))
    return (
        Declare(place),
        Declare(by),
        Store(at(place), Apply(_PLACE, (noise,))),
        Store(at(by), Apply(_BEYOND, (noise,))),
        Store(made, Apply(_compressed(op.shift), (level, gain))),
    )


KERNEL = OpKernel((Strategy("plain", _requests, _lower),), frozenset(DType))
