"""biquads: one step per row. The state of the sections is in the arena."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aot.ir.types import DType
from aot.ops.biquads import COEFFICIENTS
from aot.ops.op import required
from codegen.formats import RowFormat, storage_dtype
from codegen.kernels.kernel import Carried, Kernel, Site
from codegen.kernels.row_nests import every_pixel, pixel_element, requests_anything
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.affine import variable
from codegen.loops.ir import Buffer, Const, Expr, For, Proc, Role, Stmt, Store, at, load


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    x, size = inputs[0], output.width * output.channels
    sections = np.ascontiguousarray(required(site.constants[1]), np.float32)
    count, elements = len(sections), output.width * output.channels * (2 * len(sections) + 2)
    xs = Buffer("x", storage_dtype(site.input(0), x), x.row_elements, Role.ROWS)
    table = Buffer("sections", DType.F32, sections.size, Role.CONSTANT)
    state = Buffer("state", DType.F32, elements, Role.STATE)
    ys = Buffer("y", storage_dtype(site.outputs[0], output), output.row_elements, Role.OUTPUT)
    place, section = variable("column") * output.channels + variable("c"), variable("s")
    first, second = section * (2 * size) + place, section * (2 * size) + (place + size)
    given, made = place + 2 * count * size, place + (2 * count + 1) * size

    def times(coefficient: int, element: Expr) -> Expr:
        return load(table, section * COEFFICIENTS + coefficient) * element

    def less(coefficients: tuple[int, int]) -> Expr:
        forward, back = coefficients
        return times(forward, load(state, given)) - times(back, load(state, made))

    each: tuple[Stmt, ...] = (
        Store(at(state, made), times(0, load(state, given)) + load(state, first)),
        Store(at(state, first), less((1, 3)) + load(state, second)),
        Store(at(state, second), less((2, 4))),
        Store(at(state, given), load(state, made)),
    )
    body = every_pixel(
        output,
        Store(at(state, given), load(xs, pixel_element(x))),
        For("s", count, each),
        Store(at(ys, pixel_element(output)), load(state, given)),
    )
    name = f"biquads_{count}_of_{output.channels}_by_{output.width}"
    rest = For("i", elements, (Store(at(state, variable("i")), Const(0.0)),))
    return Kernel(
        strategy="steps",
        why="its only strategy",
        proc=Proc(name, (xs, table, state, ys), (body,)),
        summary=f"One row, filtered by {count} sections: {output.said}.",
        constants={"sections": sections.reshape(-1)},
        carried=Carried(Proc(f"{name}_begin", (state,), (rest,)), state),
    )


KERNEL = OpKernel((Strategy("steps", requests_anything, _lower),), frozenset({DType.F32}))
