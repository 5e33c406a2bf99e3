"""hybrid_dense: the range of a vector, the vector in steps of it, then dot products in integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aot.ir.types import Array, DType
from aot.ops.activation import Activation
from aot.ops.dense import steps_of
from aot.ops.hybrid_dense import HybridDense
from codegen.formats import RowFormat, RowRequest
from codegen.isa.plain.f32 import clamp_f32
from codegen.isa.plain.own_range import (
    IN_OWN_STEPS,
    INVERSE_OF_REACH,
    INVERSE_OF_STEP,
    SCALED_SUM,
    ZERO_OF_RANGE,
    step_of,
)
from codegen.kernels.kernel import Kernel, RowAccess, Site
from codegen.kernels.schedule import OpKernel, Schedule
from codegen.loops.affine import variable
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Binary,
    Buffer,
    Const,
    Declare,
    Expr,
    For,
    Load,
    Proc,
    Role,
    Stmt,
    Store,
    at,
    load,
)
from codegen.loops.schedule import privatize, reorder, split, unroll

_OUTPUTS = 4  # sums in registers, so that each number is loaded once for all of them
_F32, _I32 = DType.F32, DType.I32


def _op(site: Site) -> HybridDense:
    assert isinstance(site.node.op, HybridDense)
    return site.node.op


def _requests(site: Site) -> tuple[RowRequest | None, ...]:
    return (RowRequest(dtype_bytes=4),)


def _local(name: str, dtype: DType) -> Buffer:
    return Buffer(name, dtype, 1, Role.LOCAL)


_LEAST, _MOST, _STEP, _INVERSE = (_local(name, _F32) for name in ("least", "most", "step", "inverse"))
_LOW, _HIGH, _SUM = (_local(name, _I32) for name in ("low", "high", "sum"))


@dataclass(frozen=True)
class _HybridLayer:
    """The buffers of a layer, and its loops in their order."""

    site: Site
    x: RowFormat
    y: RowFormat

    @property
    def xs(self) -> Buffer:
        return Buffer("x", _F32, self.x.row_elements, Role.ROWS)

    @property
    def ys(self) -> Buffer:
        return Buffer("y", _F32, self.y.row_elements, Role.OUTPUT)

    @property
    def depth(self) -> int:
        return self.site.input(1).shape[1]

    @property
    def outputs(self) -> int:
        return self.site.input(1).shape[0]

    @property
    def in_steps(self) -> Buffer:
        return Buffer("in_steps", DType.I16, self.depth, Role.SCRATCH)

    @property
    def tables(self) -> dict[Buffer, Array]:
        w, scales = self.site.constants[1], steps_of(self.site.input(1)).astype(np.float32)
        found: dict[Buffer, Array] = {
            Buffer("w", DType.I8, w.size, Role.CONSTANT): w.reshape(-1),
            Buffer("scales", _F32, self.outputs, Role.CONSTANT): np.broadcast_to(scales, (self.outputs,)),
        }
        bias = self.site.constants.get(2)
        return found if bias is None else {**found, Buffer("bias", _F32, self.outputs, Role.CONSTANT): bias}

    def _element(self, k: str) -> Load:
        return load(self.xs, variable(k) * self.x.c_step + self.x.left * self.x.x_step)

    def ranged(self) -> tuple[Stmt, ...]:
        """The least and the most of the vector and 0, and what follows from them."""
        value, is_asymmetric = self._element("i"), _op(self.site).is_asymmetric
        ends = (load(_LEAST), load(_MOST))
        wider = (
            Store(at(_LEAST), Binary("min", load(_LEAST), value)),
            Store(at(_MOST), Binary("max", load(_MOST), value)),
        )
        of_step, of_ends = Apply(INVERSE_OF_STEP, (load(_STEP),)), Apply(INVERSE_OF_REACH, ends)
        return (
            *_set(_LEAST, Const(0.0)),
            *_set(_MOST, Const(0.0)),
            For("i", self.depth, wider),
            *_set(_STEP, Apply(step_of(is_asymmetric), ends)),
            *_set(_INVERSE, of_step if is_asymmetric else of_ends),
            *(_asymmetric(ends) if is_asymmetric else ()),
        )

    def stepped(self) -> Stmt:
        limits: tuple[Expr, Expr] = (Const(-127), Const(127))
        if _op(self.site).is_asymmetric:
            limits = (load(_LOW), load(_HIGH))
        steps = Apply(IN_OWN_STEPS, (self._element("j"), load(_INVERSE), *limits))
        return For("j", self.depth, (Store(at(self.in_steps, variable("j")), steps),))

    def summed(self) -> Stmt:
        o, k = variable("o"), variable("k")
        w, scales, *bias = self.tables
        product = Binary("*", load(self.in_steps, k), load(w, o * self.depth + k))
        factor = Binary("*", load(_STEP), load(scales, o))
        value: Expr = Apply(SCALED_SUM, (load(_SUM), factor))
        start: Expr = load(bias[0], o) if bias else Const(0.0)
        value, activation = Binary("+", start, value), _op(self.site).activation
        if activation is not Activation.NONE:
            value = Apply(clamp_f32(activation), (value,))
        body = (
            *_set(_SUM, Const(0)),
            For("k", self.depth, (Accumulate(at(_SUM), product),)),
            Store(at(self.ys, o * self.y.c_step + self.y.left * self.y.x_step), value),
        )
        return For("o", self.outputs, body)

    @property
    def proc(self) -> Proc:
        kind = "_asymmetric" if _op(self.site).is_asymmetric else ""
        params = (self.xs, *self.tables, self.ys, self.in_steps)
        body = (*self.ranged(), self.stepped(), self.summed())
        return Proc(f"hybrid_dense_{self.depth}_to_{self.outputs}{kind}", params, body)


def _set(buffer: Buffer, value: Expr) -> tuple[Stmt, ...]:
    return (Declare(buffer), Store(at(buffer), value))


def _asymmetric(ends: tuple[Expr, Expr]) -> tuple[Stmt, ...]:
    """The steps of both ends, counted from the zero point."""
    zero = _local("zero", _I32)
    return (
        *_set(zero, Apply(ZERO_OF_RANGE, ends)),
        *_set(_LOW, Binary("-", Const(-128), load(zero))),
        *_set(_HIGH, Binary("-", Const(127), load(zero))),
    )


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    layer = _HybridLayer(site, inputs[0], output)
    return Kernel(
        schedule="plain",
        why="as it is meant" if site.is_plain else f"{_OUTPUTS} outputs at a time",
        proc=layer.proc if site.is_plain else _tiled(layer.proc),
        summary=f"A dense layer in steps of its vector's range: {layer.depth} -> {layer.outputs}.",
        access=(RowAccess(stride=1, first=0, count=1),),
        constants={buffer.name: array for buffer, array in layer.tables.items()},
    )


def _tiled(proc: Proc) -> Proc:
    """Several outputs side by side in the innermost loop."""
    proc = split(proc, "o", _OUTPUTS, "ob", "oi")
    return reorder(unroll(privatize(proc, ("sum",), "oi"), "oi"), "oi", "k")


KERNEL = OpKernel((Schedule("plain", _requests, _lower),), frozenset({_F32}))
