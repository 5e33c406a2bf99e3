"""hybrid_dense: computes the range of a vector, quantizes it, then computes integer dot products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from aot.ir.types import Array, DType
from aot.ops.activation import Activation
from aot.ops.dense import weight_scales
from aot.ops.hybrid_dense import HybridDense
from aot.target import Feature
from codegen.formats import RowFormat, RowRequest
from codegen.isa.plain.f32 import (
    DISTANCE,
    IN_OWN_STEPS,
    INVERSE_OF_REACH,
    INVERSE_OF_STEP,
    SCALED_SUM,
    STEP_OF_RANGE,
    STEP_OF_REACH,
    SYMMETRIC_LIMITS,
    ZERO_OF_RANGE,
    clamp_f32,
)
from codegen.kernels.dot_product import DotProblem, DotScheduler
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.strategy import Condition, OpKernel, Strategy
from codegen.loops.affine import variable
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Buffer,
    BufferPlace,
    Cast,
    Const,
    Expr,
    For,
    Load,
    Proc,
    Role,
    Stmt,
    Store,
    at,
    let,
    load,
    local,
    map_places,
    maximum,
    minimum,
)
from codegen.loops.schedule import privatize, reorder, split, unroll

_OUTPUTS = 4  # sums in registers, so that each number is loaded once for all of them
_F32, _I32 = DType.F32, DType.I32


def _op(site: Site) -> HybridDense:
    return site.op_as(HybridDense)


def _requests(site: Site) -> tuple[RowRequest | None, ...]:
    return (RowRequest(dtype_bytes=4),)


_LEAST, _MOST = (local(name, _F32) for name in ("least", "most"))
REACH, STEP, INVERSE = (local(name, _F32) for name in ("reach", "step", "inverse"))
_LOW, _HIGH, _SUM = (local(name, _I32) for name in ("low", "high", "sum"))


@dataclass(frozen=True)
class HybridLayer:
    """The buffers of a layer, and its loops in order."""

    site: Site
    x: RowFormat
    y: RowFormat
    group: int = 1  # quantized values read together
    step_dtype: DType = DType.I16  # of quantized values; 8 bits hold symmetric ones

    @property
    def xs(self) -> Buffer:
        return Buffer("x", _F32, self.x.row_elements, Role.ROWS)

    @property
    def ys(self) -> Buffer:
        return Buffer("y", _F32, self.y.row_elements, Role.OUTPUT)

    @property
    def is_asymmetric(self) -> bool:
        return _op(self.site).is_asymmetric

    @property
    def depth(self) -> int:
        return self.site.input(1).shape[1]

    @property
    def outputs(self) -> int:
        return self.site.input(1).shape[0]

    @property
    def in_steps(self) -> Buffer:
        elements = -(-self.depth // self.group) * self.group
        return Buffer("in_steps", self.step_dtype, elements, Role.SCRATCH)

    @property
    def tables(self) -> dict[Buffer, Array]:
        w, scales = self.site.constants[1], weight_scales(self.site.input(1)).astype(np.float32)
        found: dict[Buffer, Array] = {
            Buffer("w", DType.I8, w.size, Role.CONSTANT): w.reshape(-1),
            Buffer("scales", _F32, self.outputs, Role.CONSTANT): np.broadcast_to(scales, (self.outputs,)),
        }
        bias = self.site.constants.get(2)
        return found if bias is None else {**found, Buffer("bias", _F32, self.outputs, Role.CONSTANT): bias}

    def _element(self, k: str) -> Load:
        return load(self.xs, variable(k) * self.x.c_step + self.x.left * self.x.x_step)

    def ranged(self) -> tuple[Stmt, ...]:
        """Returns statements for the scale of the vector, and for the factor from floats to steps."""
        return (*self._ends(), *self.scaled()) if self.is_asymmetric else (*self.reached(), *self.scaled())

    def reached(self) -> tuple[Stmt, ...]:
        """Returns statements for the largest distance from 0."""
        farther = maximum(load(REACH), Apply(DISTANCE, (self._element("i"),)))
        return (*let(REACH, 0.0), For("i", self.depth, (Store(at(REACH), farther),)))

    def _ends(self) -> tuple[Stmt, ...]:
        """Returns statements for the minimum and maximum of the vector and 0."""
        value = self._element("i")
        wider = (
            Store(at(_LEAST), minimum(load(_LEAST), value)),
            Store(at(_MOST), maximum(load(_MOST), value)),
        )
        return (*let(_LEAST, 0.0), *let(_MOST, 0.0), For("i", self.depth, wider))

    def scaled(self) -> tuple[Stmt, ...]:
        """Returns statements for the scale and its inverse, given the ends or the reach."""
        if not self.is_asymmetric:
            reach = (load(REACH),)
            return (*let(STEP, Apply(STEP_OF_REACH, reach)), *let(INVERSE, Apply(INVERSE_OF_REACH, reach)))
        ends = (load(_LEAST), load(_MOST))
        return (
            *let(STEP, Apply(STEP_OF_RANGE, ends)),
            *let(INVERSE, Apply(INVERSE_OF_STEP, (load(STEP),))),
            *_asymmetric(ends),
        )

    def stepped(self) -> Stmt:
        limits: tuple[Expr, ...] = tuple(map(Const, SYMMETRIC_LIMITS))
        if self.is_asymmetric:
            limits = (load(_LOW), load(_HIGH))
        steps: Expr = Apply(IN_OWN_STEPS, (self._element("j"), load(INVERSE), *limits))
        steps = steps if self.step_dtype is DType.I16 else Cast(self.step_dtype, steps)
        return For("j", self.depth, (Store(at(self.in_steps, variable("j")), steps),))

    def summed(self) -> Stmt:
        o, k = variable("o"), variable("k")
        w, *_ = self.tables
        product = load(self.in_steps, k) * load(w, o * self.depth + k)
        body = (
            *let(_SUM, 0),
            For("k", self.depth, (Accumulate(at(_SUM), product),)),
            self.finished(load(_SUM)),
        )
        return For("o", self.outputs, body)

    def finished(self, total: Expr) -> Stmt:
        """Returns the statement that stores the result of output o, given its sum."""
        o = variable("o")
        _, scales, *bias = self.tables
        factor = load(STEP) * load(scales, o)
        value: Expr = Apply(SCALED_SUM, (total, factor))
        value, activation = load(bias[0], o) + value if bias else value, _op(self.site).activation
        if activation is not Activation.NONE:
            value = Apply(clamp_f32(activation), (value,))
        return Store(at(self.ys, o * self.y.c_step + self.y.left * self.y.x_step), value)

    def problem(self) -> DotProblem:
        """Returns the dot products over the quantized vector."""
        return DotProblem(
            name=self.name,
            pixels=1,
            channels=self.outputs,
            kernel_rows=1,
            taps=1,
            tap_step=0,
            length=self.depth,
            x_dtype=self.in_steps.dtype,
            x_elements=self.in_steps.elements,
            x_first=0,
            x_step=0,
            y_dtype=_I32,
            y_elements=self.outputs,
            y_first=0,
            y_pixel_step=0,
            y_channel_step=1,
            tail=None,
        )

    def scheduled(self, dot: DotScheduler) -> tuple[Proc, Array]:
        """Returns the loops with instructions for dot products, and the weights in their order."""
        made = dot(self.site, self.problem())
        return self.proc_by(made.proc), made.stored(self.site.constants[1])

    def proc_by(self, dots: Proc) -> Proc:
        """Returns the loops around dot products that another proc adds to sums in memory."""
        o, n, rest = variable("o"), variable("n"), self.in_steps.elements - self.depth
        sums = Buffer("sums", _I32, self.outputs, Role.SCRATCH)
        ours = {"x": self.in_steps, "sums": sums}

        def moved(place: BufferPlace) -> BufferPlace:
            return at(ours[place.buffer.name], place.index) if place.buffer.name in ours else place

        fill = Store(at(self.in_steps, n + self.depth), Const(0))  # for reads past the end by a group
        body = (
            *self.ranged(),
            self.stepped(),
            *((For("n", rest, (fill,)),) if rest else ()),
            For("o", self.outputs, (Store(at(sums, o), Const(0)),)),
            *(map_places(stmt, moved) for stmt in dots.body),
            For("o", self.outputs, (self.finished(load(sums, o)),)),
        )
        _, *tables = self.tables
        return Proc(self.name, (self.xs, dots.param("w"), *tables, self.ys, self.in_steps, sums), body)

    @property
    def name(self) -> str:
        kind = "_asymmetric" if self.is_asymmetric else ""
        return f"hybrid_dense_{self.depth}_to_{self.outputs}{kind}"

    @property
    def proc(self) -> Proc:
        params = (self.xs, *self.tables, self.ys, self.in_steps)
        body = (*self.ranged(), self.stepped(), self.summed())
        return Proc(self.name, params, body)


def _asymmetric(ends: tuple[Expr, Expr]) -> tuple[Stmt, ...]:
    """Returns the statements for both ends in steps from the zero point."""
    zero = local("zero", _I32)
    return (
        *let(zero, Apply(ZERO_OF_RANGE, ends)),
        *let(_LOW, Const(-128) - load(zero)),
        *let(_HIGH, Const(127) - load(zero)),
    )


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    layer = HybridLayer(site, inputs[0], output)
    why = "unscheduled" if site.is_plain else f"{_OUTPUTS} outputs at a time"
    return _kernel(layer, "plain", why, layer.proc if site.is_plain else _tiled(layer.proc), {})


_IS_SYMMETRIC = Condition[Site](
    "vectors quantized symmetrically, so that 8 bits hold their steps",
    lambda site: not _op(site).is_asymmetric,
)


def hybrid_strategy(
    name: str,
    dot: DotScheduler,
    group: int,
    needs: frozenset[Feature],
    step_dtype: DType = DType.I16,
    kind: type[HybridLayer] = HybridLayer,
) -> Strategy:
    """Returns a strategy with instructions for dot products, which read `group` values at a time.

    With steps of 8 bits it fits layers whose vectors are quantized symmetrically.
    """

    def lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
        layer = kind(site, inputs[0], output, group, step_dtype)
        proc, stored = layer.scheduled(dot)
        why = f"the vector in {step_dtype.bytes * 8} bits, read once"
        return _kernel(layer, name, why, proc, {"w": stored})

    fits = (_IS_SYMMETRIC,) if step_dtype is DType.I8 else ()
    return Strategy(name, _requests, lower, needs, fits)


def _kernel(layer: HybridLayer, strategy: str, why: str, proc: Proc, stored: Mapping[str, Array]) -> Kernel:
    return Kernel(
        strategy=strategy,
        why=why,
        proc=proc,
        summary=f"A dense layer in steps of its vector's range: {layer.depth} -> {layer.outputs}.",
        constants={**{buffer.name: array for buffer, array in layer.tables.items()}, **stored},
    )


def _tiled(proc: Proc) -> Proc:
    """Computes several outputs together in the innermost loop."""
    proc = split(proc, "o", _OUTPUTS, "ob", "oi")
    return reorder(unroll(privatize(proc, ("sum",), "oi"), "oi"), "oi", "k")


KERNEL = OpKernel((Strategy("plain", _requests, _lower),), frozenset({_F32}))
