"""Strategies that leave loops unscheduled, as a start for other strategies, and for debugging."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from aot.ir.types import DType
from codegen.kernels import conv2d, dense
from codegen.kernels.conv_site import fitted_conv_tail
from codegen.kernels.depthwise_conv2d import NEST as DEPTHWISE_NEST
from codegen.kernels.dot_product import DotProblem, ScheduledDot, in_stored_rows
from codegen.kernels.dot_product import nest as dot_nest
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.knobs import Knob, Point, Space
from codegen.kernels.strategy import Strategy, choose_strategy
from codegen.kernels.table import KERNELS
from codegen.loops.ir import Proc
from codegen.loops.sketches import Nest, apply, is_sound, nest_of
from codegen.loops.tensorize import Lanes


def _unscheduled(_site: Site, p: DotProblem) -> ScheduledDot:
    return ScheduledDot("plain", "unscheduled", dot_nest(p, p.w_dtype))


# Op -> the strategy without steps, if the plain strategy has some.
_NESTS: Mapping[str, Strategy] = {
    "conv2d": conv2d.conv2d_strategy("nest", in_stored_rows(_unscheduled, fitted_conv_tail)),
    "conv2d+add": conv2d.conv2d_strategy("nest", in_stored_rows(_unscheduled, fitted_conv_tail)),
    "dense": dense.dense_strategy("nest", in_stored_rows(_unscheduled, dense.fitted_dense_tail)),
    "depthwise_conv2d": DEPTHWISE_NEST,
}


def unscheduled(op_name: str, site: Site) -> Strategy:
    """Returns the strategy without steps; for floats and rarer ops, the plain strategy."""
    return choose_strategy(plain_strategies(op_name, site), site).strategy


def plain_strategies(op_name: str, site: Site) -> tuple[Strategy, ...]:
    """Returns the strategy without steps alone; for floats and rarer ops, all strategies for any core."""
    in_order = None if site.input(0).dtype is DType.F32 else _NESTS.get(op_name)
    return KERNELS[op_name].strategies if in_order is None else (in_order,)


_AS_IT_IS: Point = MappingProxyType({})


def sketch_space(proc: Proc, nest: Nest, sketch: Point = _AS_IT_IS) -> Space:
    """Returns the nest's open numbers as knobs. Those not in `sketch` are 1 by default."""
    knobs = tuple(Knob(name, values) for name, values in nest.open_numbers.items())

    def is_legal(point: Point) -> bool:
        return nest.allows(point) and is_sound(proc, nest.steps(point))

    task = f"{proc.name} nest {proc.params[0].dtype.value}"
    default = {**dict.fromkeys((k.name for k in knobs), 1), **sketch}
    return Space(task, knobs, default, is_legal, nest.extents)


def with_sketches(kernel: Kernel, tuned: Mapping[str, Point], lanes: Lanes | None = None) -> Kernel:
    """Returns the kernel with sketch knobs, or unchanged if it has knobs, irregular rows or no plain nest."""
    nest = nest_of(kernel.proc, lanes)
    is_ruled = not kernel.row_cycles and not any(access.given for access in kernel.access)
    if kernel.space is not None or nest is None or not is_ruled:
        return kernel
    space = sketch_space(kernel.proc, nest, kernel.sketch)
    point = space.chosen(tuned)
    return replace(kernel, proc=apply(kernel.proc, nest.steps(point)), space=space, point=point)
