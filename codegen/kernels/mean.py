"""mean: over the columns of each row, or accumulated row by row if the axes include rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aot.ir.types import DType
from aot.ops.mean import COLUMNS, ROWS, Mean, mean_parameters
from aot.ops.requant import quant_of
from codegen.formats import RowFormat, geometry, storage_dtype
from codegen.isa.plain.f32 import f32_function, literal
from codegen.isa.plain.scalar import stored_mean
from codegen.kernels.kernel import Accumulation, Kernel, RowAccess, Site
from codegen.kernels.row_nests import every_pixel, grown, pixel_element, requests_anything, summed_window
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import Apply, Buffer, Const, Proc, Role, ScalarFunction, Store, at, let, load, local


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    (x,) = inputs
    grows = ROWS in _op(site).axes and geometry(site.input(0)).rows > 1 and not (output.top or output.bottom)
    return _by_rows(site, x, output) if grows else _at_once(site, x, output)


def _op(site: Site) -> Mean:
    return site.op_as(Mean)


def _at_once(site: Site, x: RowFormat, y: RowFormat) -> Kernel:
    """Computes each result from all its elements."""
    rows = geometry(site.input(0)).rows if ROWS in _op(site).axes else 1
    xs = Buffer("x", storage_dtype(site.input(0), x), x.row_elements, Role.ROWS, rows)
    ys = _y(site, y)
    total = local("sum", _sum_dtype(site))
    body = (
        *let(total, _nothing(site)),
        *summed_window(total, rows, _taps(site, x), lambda r, t: load(xs, _element(site, x, t), r)),
        Store(at(ys, pixel_element(y)), Apply(_mean(site), (load(total),))),
    )
    return Kernel(
        strategy="plain",
        why="one result at a time",
        proc=Proc(_name(site, x, y), (xs, ys), (every_pixel(y, *body),)),
        summary=f"Means of {rows}x{_taps(site, x)}: {y.said}.",
        access=(RowAccess(stride=1, first=0, count=rows),),
    )


def _by_rows(site: Site, x: RowFormat, y: RowFormat) -> Kernel:
    rows, elements = geometry(site.input(0)).rows, y.width * y.channels
    xs = Buffer("x", storage_dtype(site.input(0), x), x.row_elements, Role.ROWS)
    sums = Buffer("sums", _sum_dtype(site), elements, Role.STATE)
    place = at(sums, variable("column") * y.channels + variable("c"))
    ys, name = _y(site, y), _name(site, x, y)
    taps = grown(place, _taps(site, x), lambda t: load(xs, _element(site, x, t)))
    stored = Store(at(ys, pixel_element(y)), Apply(_mean(site), (load(sums, place.index),)))
    return Kernel(
        strategy="by-rows",
        why=f"the {rows} rows of the image are added as they arrive",
        proc=Proc(f"{name}_add", (xs, sums), (every_pixel(y, *taps),)),
        summary=f"Means of {rows}x{_taps(site, x)}: {y.said}.",
        accumulation=Accumulation(
            Proc(f"{name}_begin", (sums,), (every_pixel(y, Store(place, _nothing(site))),)),
            Proc(f"{name}_finish", (sums, ys), (every_pixel(y, stored),)),
            elements,
            rows,
            sums.dtype,
        ),
    )


def _y(site: Site, y: RowFormat) -> Buffer:
    return Buffer("y", storage_dtype(site.outputs[0], y), y.row_elements, Role.OUTPUT)


def _name(site: Site, x: RowFormat, y: RowFormat) -> str:
    return f"mean_{_taps(site, x)}_{y.channels}_by_{y.width}"


def _taps(site: Site, x: RowFormat) -> int:
    return x.width if COLUMNS in _op(site).axes else 1


def _element(site: Site, x: RowFormat, tap: Affine) -> Affine:
    pixel = tap if COLUMNS in _op(site).axes else variable("column")
    return (pixel + x.left) * x.x_step + variable("c") * x.c_step


def _sum_dtype(site: Site) -> DType:
    return DType.F32 if site.outputs[0].dtype is DType.F32 else DType.I32


def _nothing(site: Site) -> Const:
    return Const(0.0 if _sum_dtype(site) is DType.F32 else 0)


def _mean(site: Site) -> ScalarFunction:
    x, (out,), count = site.input(0), site.outputs, _op(site).count(site.input(0))
    if out.dtype is DType.F32:
        return f32_function(f"mean_of_{count}_reals", f"v / {literal(count)}", lambda v: v / count)
    zero_sum = quant_of(x).zero_point * count
    parameters = mean_parameters(x, out, count, _op(site).rounding)
    return stored_mean(parameters, zero_sum, quant_of(out).zero_point, out.dtype)


_KERNEL = OpKernel(
    (Strategy("plain", requests_anything, _lower),), frozenset({DType.I8, DType.I16, DType.F32})
)
KERNELS: Mapping[str, OpKernel] = {"mean": _KERNEL}
