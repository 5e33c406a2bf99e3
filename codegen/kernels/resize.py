"""resize: interpolates each result between the four nearest pixels, whose positions are constant.

A row of the result is between two rows of the image. Batches are computed in one step, over flat memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from aot.ir.types import Array, DType
from aot.ops.resize import FRACTION_BITS, Resize
from aot.target import Optimize
from codegen.formats import RowFormat, RowRequest, storage_dtype
from codegen.isa.plain.scalar_math import ScalarMath, expression_function, rounded, rounded_share
from codegen.kernels.kernel import Kernel, RowAccess, Site
from codegen.kernels.row_nests import flat_kernel, flat_requests, operand, result
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.affine import variable
from codegen.loops.ir import (
    Apply,
    Buffer,
    Const,
    Declare,
    Element,
    Expr,
    For,
    Proc,
    Role,
    ScalarFunction,
    Stmt,
    Store,
    at,
    let,
    load,
    local,
)
from codegen.loops.schedule import unroll_by

_TURNS = 4  # unrolled iterations of the loop over channels
_DTYPES = frozenset({DType.I8, DType.I16, DType.F32})


def _op(site: Site) -> Resize:
    return site.op_as(Resize)


def _requests(site: Site) -> tuple[RowRequest | None, ...]:
    x = site.input(0)
    return (RowRequest(dtype_bytes=x.dtype.bytes),) if x.shape[0] == 1 else flat_requests(site)


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    if site.input(0).shape[0] > 1:
        return _flat(site)
    op, (x,), y = _op(site), inputs, output
    rows, columns = op.places(site.input(0))
    tables: dict[str, Array] = {
        "down": rows.share,
        "left": columns.first * x.x_step,
        "right": columns.second * x.x_step,
        "across": columns.share,
    }
    # The weight of the lower row is in a separate table with an element per step.
    stored = {name: Buffer(name, _dtype(array), array.size, Role.CONSTANT) for name, array in tables.items()}
    xs = Buffer("x", storage_dtype(site.input(0), x), x.row_elements, Role.ROWS, 2)
    ys = Buffer("y", storage_dtype(site.outputs[0], y), y.row_elements, Role.OUTPUT)
    column, c = variable("column"), variable("c")
    here = {name: local(f"{name}_here", b.dtype) for name, b in stored.items()}

    def known(name: str) -> tuple[Stmt, ...]:
        index = 0 if name == "down" else column
        return Declare(here[name]), Store(at(here[name]), load(stored[name], index))

    pixels = (
        Element(at(xs, c * x.c_step + x.left * x.x_step, line), load(here[side]))
        for line in (0, 1)
        for side in ("left", "right")
    )
    mix = _mix(site, load(here["down"]), load(here["across"]))
    place = Store(at(ys, (column + y.left) * y.x_step + c * y.c_step), mix.of(*pixels))
    along = (*known("left"), *known("right"), *known("across"), *mix.weights, For("c", y.channels, (place,)))
    body = (*known("down"), For("column", y.width, along))
    given = tuple(zip(rows.first.tolist(), rows.second.tolist(), strict=True))
    return Kernel(
        strategy="between",
        why="a row is interpolated from two",
        proc=_written_out(site, Proc(f"resize_{y.channels}_by_{y.width}", (xs, *stored.values(), ys), body)),
        summary=f"One row between two: {y.said}.",
        access=(RowAccess(0, 0, 2, given=given),),
        constants=tables,
        row_tables={"down": 1},
    )


def _flat(site: Site) -> Kernel:
    """Returns the kernel for several images."""
    op, x = _op(site), site.input(0)
    _, height, width, depth = x.shape
    (rows, columns), (wanted_rows, wanted_columns) = op.places(x), op.size
    tables: dict[str, Array] = {
        "above": rows.first * width * depth,
        "below": rows.second * width * depth,
        "down": rows.share,
        "left": columns.first * depth,
        "right": columns.second * depth,
        "across": columns.share,
    }
    stored = {name: Buffer(name, _dtype(array), array.size, Role.CONSTANT) for name, array in tables.items()}
    xs, ys = operand(site, 0, "x"), result(site)
    n, row, column, c = (variable(name) for name in ("n", "row", "column", "c"))
    image = at(xs, n * (height * width * depth) + c)
    locals_ = {name: local(f"{name}_here", b.dtype) for name, b in stored.items()}

    def known(index_of: str, names: Sequence[str]) -> list[Stmt]:
        index = row if index_of == "row" else column
        return [
            stmt
            for name in names
            for stmt in (Declare(locals_[name]), Store(at(locals_[name]), load(stored[name], index)))
        ]

    def pixel(line: str, side: str) -> Expr:
        return Element(image, load(locals_[line]) + load(locals_[side]))

    four = tuple(pixel(line, side) for line in ("above", "below") for side in ("left", "right"))
    mix = _mix(site, load(locals_["down"]), load(locals_["across"]))
    place = ((n * wanted_rows + row) * wanted_columns + column) * depth + c
    channels = For("c", depth, (Store(at(ys, place), mix.of(*four)),))
    along = (*known("column", ("left", "right", "across")), *mix.weights, channels)
    lines = (*known("row", ("above", "below", "down")), For("column", wanted_columns, along))
    body = For("n", x.shape[0], (For("row", wanted_rows, lines),))
    kernel = flat_kernel(site, (xs, *stored.values()), (body,), "a resized image")
    return replace(kernel, constants={**kernel.constants, **tables})


def _dtype(array: Array) -> DType:
    return DType.F32 if array.dtype == np.float32 else DType.I32


@dataclass(frozen=True)
class _Mix:
    """An interpolation function of four pixels and of column constants that `weights` load."""

    function: ScalarFunction
    known: tuple[Expr, ...]
    weights: tuple[Stmt, ...] = ()

    def of(self, *pixels: Expr) -> Expr:
        """Returns the interpolation of the pixels above left, above right, below left and below right."""
        return Apply(self.function, (*pixels, *self.known))


def _mix(site: Site, down: Expr, across: Expr) -> _Mix:
    dtype = site.input(0).dtype
    if dtype is DType.F32:
        text = "(a * (1.0f - f) + b * f) * (1.0f - e) + (c * (1.0f - f) + d * f) * e"
        return _Mix(expression_function("between_reals", dtype, (dtype,) * 6, text, _f32), (down, across))
    if _op(site).is_unsigned:
        return _Mix(_of_unsigned(), (down, across))
    one = Const(1 << FRACTION_BITS)
    up, back = one - down, one - across
    shares = [row * column for row in (up, down) for column in (back, across)]
    weights = [local(f"share{number}", DType.I32) for number in range(len(shares))]
    known = [let(w, share) for w, share in zip(weights, shares, strict=True)]
    return _Mix(
        _of_integers(dtype, site.math), tuple(map(load, weights)), tuple(s for pair in known for s in pair)
    )


def _of_integers(dtype: DType, math: ScalarMath) -> ScalarFunction:
    """f(four pixels, the weight of each) -> the result."""
    wide = DType.I32 if dtype is DType.I8 else DType.I64
    sum_text = " + ".join(
        f"({wide.c_name}){pixel} * {share}" for pixel, share in zip("abcd", "efgh", strict=True)
    )
    text = f"({dtype.c_name})rounded_share_{wide.value}({sum_text})"

    def compute(a: int, b: int, c: int, d: int, e: int, f: int, g: int, h: int) -> int:
        return rounded(a * e + b * f + c * g + d * h)

    types = (*(dtype,) * 4, *(DType.I32,) * 4)
    name = f"between_{dtype.value}"
    rounding = math.rounded_share if wide is DType.I32 else rounded_share(wide)
    return expression_function(name, dtype, types, text, compute, calls=(rounding,))


def _written_out(site: Site, proc: Proc) -> Proc:
    """Unrolls the loop, whose three instructions matter except for floats without an FPU."""
    is_short = site.optimize is Optimize.SIZE or site.outputs[0].shape[3] % _TURNS
    return proc if is_short else unroll_by(proc, "c", _TURNS)


def _of_unsigned() -> ScalarFunction:
    """Interpolates bytes stored minus 128, in single precision and in the references' order."""
    shares = (
        ("a", "(1.0f - e)", "(1.0f - f)"),
        ("c", "e", "(1.0f - f)"),
        ("b", "(1.0f - e)", "f"),
        ("d", "e", "f"),
    )
    terms = " + ".join(f"(float)({v} + 128) * {down} * {across}" for v, down, across in shares)

    def compute(a: int, b: int, c: int, d: int, e: float, f: float) -> int:
        one, down, across = np.float32(1), np.float32(e), np.float32(f)
        values = [np.float32(v + 128) for v in (a, c, b, d)]
        factors = ((one - down, one - across), (down, one - across), (one - down, across), (down, across))
        total = np.float32(0)
        for value, (first, second) in zip(values, factors, strict=True):
            total = total + value * first * second
        return int(total + np.float32(0.5)) - 128

    types = (*(DType.I8,) * 4, DType.F32, DType.F32)
    text = f"(int8_t)((int32_t)({terms} + 0.5f) - 128)"
    return expression_function("between_unsigned", DType.I8, types, text, compute)


def _f32(a: float, b: float, c: float, d: float, e: float, f: float) -> float:
    return (a * (1 - f) + b * f) * (1 - e) + (c * (1 - f) + d * f) * e


KERNEL = OpKernel((Strategy("plain", _requests, _lower),), _DTYPES)
