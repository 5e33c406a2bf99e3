"""window, headroom, shift_up, whole_root, noise_estimate, without_noise, fixed_log: element by element."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aot.ir.types import DType
from aot.ops.signal import (
    FixedLog,
    Headroom,
    NoiseEstimate,
    Window,
    WithoutNoise,
)
from codegen.formats import RowFormat, RowRequest
from codegen.isa.plain import signal
from codegen.kernels.elements import element_op
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.row_nests import (
    AxisVector,
    Body,
    flat_kernel,
    flat_requests,
    last_axis_kernel,
    last_axis_requests,
    operand,
    result,
)
from codegen.kernels.strategy import OpKernel, Strategy
from codegen.loops.affine import variable
from codegen.loops.ir import Apply, For, ScalarFunction, Stmt, Store, at, let, load, local


def _headroom_requests(site: Site) -> tuple[RowRequest | None, ...]:
    return last_axis_requests(site) if _of_each_row(site) else flat_requests(site)


def _of_each_row(site: Site) -> bool:
    return site.op_as(Headroom).each_row


def _headroom(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    if _of_each_row(site):
        return last_axis_kernel(site, inputs, output, _row_headroom(site), "the unused bits")
    xs, i = operand(site, 0, "x"), variable("i")
    largest = local("largest", DType.I16)
    body: tuple[Stmt, ...] = (
        *let(largest, 0),
        For("i", xs.elements, (Store(at(largest), Apply(signal.LOUDER, (load(largest), load(xs, i)))),)),
        Store(at(result(site)), Apply(signal.FREE_BITS, (load(largest),))),
    )
    return flat_kernel(site, (xs,), body, "the unused bits above the loudest sample")


def _row_headroom(site: Site) -> Body:
    size = site.input(0).shape[-1]

    def body(x: AxisVector, y: AxisVector) -> Sequence[Stmt]:
        largest = local("largest", DType.I16)
        louder = Apply(signal.LOUDER_BUT_LOWEST, (load(largest), x.load(variable("i"))))
        return (
            *let(largest, 0),
            For("i", size, (Store(at(largest), louder),)),
            Store(y.at(0), Apply(signal.FREE_BITS, (load(largest),))),
        )

    return body


def _noise_estimate(site: Site) -> ScalarFunction:
    op = site.op_as(NoiseEstimate)
    return signal.noise_estimate(op.up, op.down, op.limited)


def _without_noise(site: Site) -> ScalarFunction:
    op = site.op_as(WithoutNoise)
    return signal.without_noise(op.up, op.down, op.least)


def _fixed_log(site: Site) -> ScalarFunction:
    op = site.op_as(FixedLog)
    return signal.fixed_log_function(op.up, op.scale)


KERNELS: Mapping[str, OpKernel] = {
    "fixed_log": element_op(_fixed_log, lambda site: "logarithms"),
    "headroom": OpKernel((Strategy("plain", _headroom_requests, _headroom),), frozenset(DType)),
    "noise_estimate": element_op(_noise_estimate, lambda site: "estimates of noise"),
    "shift_up": element_op(lambda site: signal.SHIFTED_UP, lambda site: "shifted samples"),
    "whole_root": element_op(lambda site: signal.SHIFTED_ROOT, lambda site: "square roots"),
    "window": element_op(
        lambda site: signal.windowed(site.op_as(Window).shift), lambda site: "windowed samples"
    ),
    "without_noise": element_op(_without_noise, lambda site: "channels without their noise"),
}
