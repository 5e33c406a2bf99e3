"""Automatic schedules for unscheduled nests: the sketches of a nest become the knobs of its kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from codegen.kernels.kernel import Kernel
from codegen.kernels.knobs import Knob, Point, Space
from codegen.loops.ir import Proc
from codegen.loops.lanes import Lanes
from codegen.loops.sketches import Nest, apply, is_sound, nest_of

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
