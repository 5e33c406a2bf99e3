"""demosaic: a row of colors from three rows of the mosaic, two pixels per iteration as the mosaic repeats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aot.ir.types import DType
from aot.ops.demosaic import Demosaic, PixelPlace
from codegen.formats import RowFormat, storage_dtype
from codegen.isa.plain.scalar_math import expression_function
from codegen.kernels.kernel import Kernel, RowAccess, Site
from codegen.kernels.row_nests import requests_anything
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.affine import Affine, to_affine, variable
from codegen.loops.ir import Apply, Buffer, Declare, Expr, For, Proc, Role, Stmt, Store, at, load, local
from codegen.loops.schedule import unroll

_U8 = DType.U8
_MEAN_OF_2 = expression_function(
    "mean_of_2", _U8, (_U8,) * 2, "(uint8_t)(((uint32_t)a + b + 1u) >> 1)", lambda a, b: (a + b + 1) >> 1
)
_MEAN_OF_4 = expression_function(
    "mean_of_4",
    _U8,
    (_U8,) * 4,
    "(uint8_t)(((uint32_t)a + b + c + d + 2u) >> 2)",
    lambda a, b, c, d: (a + b + c + d + 2) >> 2,
)
_COLOUR = expression_function(
    "colour_at",
    _U8,
    (_U8,) * 5,
    "a == 0 ? b : a == 1 ? c : a == 2 ? d : e",
    lambda a, b, c, d, e: (b, c, d, e)[a],
    "Red at the place a: of the pixel itself, of those beside it, of those above and below, of the corners.",
)
_GREEN = expression_function(
    "green_at",
    _U8,
    (_U8,) * 3,
    "a == 1 || a == 2 ? b : c",
    lambda a, b, c: b if a in (PixelPlace.GREEN_IN_RED_ROW, PixelPlace.GREEN_IN_BLUE_ROW) else c,
)


@dataclass(frozen=True)
class _Rows:
    """Rows of the mosaic, the row of colors, and the candidates for each pixel's colors."""

    x: RowFormat
    y: RowFormat
    xs: Buffer
    ys: Buffer
    places: Buffer  # at odd and at even columns, for each row of the result


def _lower(site: Site, inputs: Sequence[RowFormat], y: RowFormat) -> Kernel:
    op, (x,) = site.op_as(Demosaic), inputs
    height, width = site.input(0).shape[1:3]
    rows = _Rows(
        x,
        y,
        Buffer("x", storage_dtype(site.input(0), x), x.row_elements, Role.ROWS, 3),
        Buffer("y", storage_dtype(site.outputs[0], y), y.row_elements, Role.OUTPUT),
        Buffer("places", _U8, 2 * height, Role.CONSTANT),
    )
    proc = Proc(f"demosaic_by_{y.width}", (rows.xs, rows.places, rows.ys), _loops(rows, width))
    middles = [min(max(row, 1), height - 2) for row in range(height)]
    return Kernel(
        proc=proc if site.is_plain or width <= 3 else unroll(proc, "side"),
        summary=f"One row of colors: {y.said}.",
        access=(RowAccess(0, 0, 3, given=tuple((row - 1, row, row + 1) for row in middles)),),
        constants={"places": np.array([op.mosaic.places[row & 1][::-1] for row in middles]).reshape(-1)},
        row_tables={"places": 2},
    )


def _loops(rows: _Rows, width: int) -> tuple[Stmt, ...]:
    """Returns loops over pairs of inner pixels, and the pixels at the ends."""
    side, end = variable("side"), variable("end")
    inner = variable("pair") * 2 + side + 1
    loops: list[Stmt] = []
    if width > 3:
        loops.append(For("pair", (width - 2) // 2, (For("side", 2, _pixel(rows, inner, inner, side)),)))
    if width % 2:
        last = to_affine(width - 2)
        loops.append(For("last", 1, _pixel(rows, last, last, to_affine(0))))
    at_end = _pixel(rows, end * (width - 1), end * (width - 3) + 1, end * ((width - 3) % 2))
    return (*loops, For("end", 2, at_end))


def _pixel(rows: _Rows, to: Affine, of: Affine, side: Affine) -> tuple[Stmt, ...]:
    """Computes the three colors of the pixel in column `to` from pixels around column `of`."""

    def near(row: int, column: int) -> Expr:
        return load(rows.xs, (of + (rows.x.left + column)) * rows.x.x_step, 1 + row)

    left, right, above, below = near(0, -1), near(0, 1), near(-1, 0), near(1, 0)
    values = {
        "across": Apply(_MEAN_OF_2, (left, right)),
        "down": Apply(_MEAN_OF_2, (above, below)),
        "corners": Apply(_MEAN_OF_4, (near(-1, -1), near(-1, 1), near(1, -1), near(1, 1))),
    }
    means = {name: local(name, _U8) for name in values}
    kept = [
        s for name, value in values.items() for s in (Declare(means[name]), Store(at(means[name]), value))
    ]
    four = near(0, 0), *map(load, means.values())
    place = load(rows.places, side)
    colours = (
        Apply(_COLOUR, (place, *four)),
        Apply(_GREEN, (place, near(0, 0), Apply(_MEAN_OF_4, (left, right, above, below)))),
        Apply(_COLOUR, (place, *four[::-1])),
    )
    y, first = rows.y, (to + rows.y.left) * rows.y.x_step
    return (*kept, *(Store(at(rows.ys, first + c * y.c_step), colour) for c, colour in enumerate(colours)))


KERNEL = OpKernel((Strategy("plain", requests_anything, _lower),), frozenset({_U8}))
