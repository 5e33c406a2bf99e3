"""The choice between an accelerator and the CPU for a layer that both can compute, in tuning records.

A requested accelerator computes every layer that it supports, unless a record shows that the CPU is faster. A
task is a kind of layer: all layers of one op and shapes are computed alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from aot.ir.types import TensorType
from aot.ops.op import Op
from codegen.kernels.kernel import PassedOver, Site
from codegen.kernels.knobs import Point
from codegen.kernels.strategy import Strategy

KNOB = "computed_by"
ON_DEVICE: Point = {KNOB: 1}
ON_CPU: Point = {KNOB: 2}
FASTER_ON_CPU = "the CPU was measured faster"


def choice_task(
    device: str, op: Op, inputs: Sequence[TensorType | None], outputs: Sequence[TensorType]
) -> str:
    """Returns the name of the task, such as "cmsis-nn:conv2d 1x8x8x4 6x3x3x4 6 -> 1x8x8x6 i8"."""
    given = [_shape(tensor) for tensor in inputs if tensor is not None]
    made = [_shape(tensor) for tensor in outputs]
    return " ".join((f"{device}:{op.name}", *given, "->", *made, outputs[0].dtype.value))


def _shape(tensor: TensorType) -> str:
    return "x".join(map(str, tensor.shape)) or "1"


def is_choice(point: Point) -> bool:
    return point.keys() == {KNOB}


def choices_among(tuned: Mapping[str, Point]) -> Mapping[str, Point]:
    return {task: point for task, point in tuned.items() if is_choice(point)}


def left_to_cpu(strategies: Iterable[Strategy], site: Site) -> tuple[PassedOver, ...]:
    """Returns the devices' strategies to skip, because the CPU was measured to be faster here."""
    return tuple(
        PassedOver(each.name, FASTER_ON_CPU, each.device)
        for each in strategies
        if each.device
        and site.tuned.get(choice_task(each.device, site.node.op, site.inputs, site.outputs)) == ON_CPU
    )
