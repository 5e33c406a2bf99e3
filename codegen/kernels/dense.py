"""dense: dot products of one vector with every row of the weights, whole or one image row at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from aot.ir.types import Array, DType
from aot.ops.dense import Dense
from aot.target import Feature
from codegen.formats import RowFormat, RowRequest, storage_dtype
from codegen.kernels.dot_product import DotMethod, DotProblem, Tile, in_stored_rows, plain_dot
from codegen.kernels.f32_sums import DENSE
from codegen.kernels.kernel import Accumulation, Kernel, RowAccess, Site
from codegen.kernels.requantised import Requantised, fitted_tail, requantised, scale_constants
from codegen.kernels.strategy import Condition, OpKernel, RowRequests, Strategy, by_dtype, sums_of_32_bits
from codegen.loops.affine import variable
from codegen.loops.ir import Buffer, For, Proc, Role, Store, at, load

_ROWS = (RowAccess(stride=1, first=0, count=1),)


def _op(site: Site) -> Dense:
    return site.op_as(Dense)


def dense_tail(site: Site) -> Requantised:
    return requantised(site, _op(site), site.constants[1], site.outputs[0])


def fitted_dense_tail(site: Site) -> Requantised:
    return fitted_tail(dense_tail(site), site.constants[1], site.input(0).dtype)


@dataclass(frozen=True)
class DenseRows:
    """A dense layer over rows whose formats are known, and the method of its dot products."""

    site: Site
    x: RowFormat
    y: RowFormat
    method: DotMethod

    @property
    def weights(self) -> Array:
        return self.site.constants[1]

    def at_once(self) -> Kernel:
        """Returns the kernel that reads the whole vector."""
        w, tail = self.weights, self.method.tail
        made = self.method.dot(self.site, self._problem(tail, w.shape[1]))
        return Kernel(
            strategy=made.strategy,
            why=f"{self.x.dtype_bytes * 8}-bit input, read once",
            proc=made.proc,
            summary=f"A dense layer: {w.shape[1]} -> {w.shape[0]}.",
            access=_ROWS,
            constants={"w": made.stored(w), **tail.tables_of(made.proc.params)},
            space=made.space,
            point=made.point,
        )

    def by_rows(self, rows: int) -> Kernel:
        """Returns the kernel that adds row by row, so that the flattened image need not exist as a whole."""
        w, tail = self.weights, self.method.tail
        length = w.shape[1] // rows
        made = self.method.dot(self.site, self._problem(None, length))
        parts = [made.stored(part) for part in np.split(w, rows, axis=1)]
        start, finish = _start(w.shape[0]), self._finish()
        return Kernel(
            strategy=f"{made.strategy}-by-rows",
            why=f"the {rows} rows of the image are added as they arrive",
            proc=made.proc,
            summary=f"One row of {length} of a dense layer of {w.shape[1]} -> {w.shape[0]}.",
            access=_ROWS,
            constants={"w": np.concatenate(parts), **tail.tables_of((*start.params, *finish.params))},
            row_tables={"w": parts[0].size},
            space=made.space,
            point=made.point,
            accumulation=Accumulation(start, finish, w.shape[0], rows),
        )

    def _problem(self, tail: Requantised | None, length: int) -> DotProblem:
        """Returns the products of `length` elements; without a tail, sums are added to those in memory."""
        site, x, y, channels = self.site, self.x, self.y, self.weights.shape[0]
        return DotProblem(
            name=f"dense_{length}_to_{channels}",
            pixels=1,
            channels=channels,
            kernel_rows=1,
            taps=1,
            tap_step=0,
            length=length,
            x_dtype=storage_dtype(site.input(0), x),
            x_elements=x.row_elements,
            x_first=x.left * x.x_step,
            x_step=0,
            y_dtype=storage_dtype(site.outputs[0], y) if tail is not None else DType.I32,
            y_elements=y.row_elements if tail is not None else channels,
            y_first=y.left * y.x_step if tail is not None else 0,
            y_pixel_step=y.x_step if tail is not None else 0,
            y_channel_step=y.c_step if tail is not None else 1,
            tail=tail,
            w_dtype=site.input(1).dtype,
        )

    def _finish(self) -> Proc:
        y, storing, channels = self.y, self.method.tail.storing, self.weights.shape[0]
        sums = Buffer("sums", DType.I32, channels, Role.STATE)
        ys = Buffer("y", storage_dtype(self.site.outputs[0], y), y.row_elements, Role.OUTPUT)
        o = variable("o")
        channel = scale_constants(storing, channels, o)
        place = at(ys, o * y.c_step + y.left * y.x_step)
        body = (*channel.loads, Store(place, channel.stored(load(sums, o))))
        return Proc(f"dense_finish_{channels}", (sums, ys, *channel.tables), (For("o", channels, body),))


_IN_WORDS = sums_of_32_bits(dense_tail)  # for which the arena is aligned


def dense_strategy(
    name: str,
    method: Callable[[Site], DotMethod],
    needs: frozenset[Feature] = frozenset(),
    fits: tuple[Condition[Site], ...] = (),
    method_by_rows: Callable[[Site], DotMethod] | None = None,
) -> Strategy:
    """Returns a strategy over a vector; `method_by_rows` is for one that arrives in rows, if it differs."""

    def requests(site: Site) -> RowRequests:
        made = method(site)
        return (RowRequest(dtype_bytes=made.row_bytes, slack=-site.constants[1].shape[1] % made.group),)

    def lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
        (x,) = inputs
        rows = site.constants[1].shape[1] // (x.width * x.channels)
        if rows == 1:
            return DenseRows(site, x, output, method(site)).at_once()
        return DenseRows(site, x, output, (method_by_rows or method)(site)).by_rows(rows)

    return Strategy(name, requests, lower, needs, fits, reads_image_rows=_IN_WORDS.holds)


def _start(channels: int) -> Proc:
    sums = Buffer("sums", DType.I32, channels, Role.STATE)
    bias = Buffer("bias", DType.I32, channels, Role.CONSTANT)
    begin = Store(at(sums, variable("o")), load(bias, variable("o")))
    return Proc(f"dense_begin_{channels}", (sums, bias), (For("o", channels, (begin,)),))


_PLAIN = dense_strategy("plain", in_stored_rows(plain_dot(Tile(1, 2)), fitted_dense_tail))
_INTEGERS = OpKernel((_PLAIN,), frozenset({DType.I8, DType.I16}))
KERNEL = by_dtype(_INTEGERS, DENSE)
