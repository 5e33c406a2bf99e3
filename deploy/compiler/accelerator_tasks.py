"""Kinds of layers that an accelerator computes, and their tuning records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from aot.ir.region import DeviceRegion
from codegen.accelerators.choice import ON_CPU, ON_DEVICE, choice_task, choices_among
from codegen.fit.plan_job import plan_job
from codegen.job import Job
from codegen.kernels.knobs import NOT_TUNED, Point
from codegen.kernels.tuning_records import TuningRecord, select
from platforms.tuning.search import Setting

SIDES = (ON_DEVICE, ON_CPU)


@dataclass(frozen=True, slots=True)
class DeviceTask:
    """A kind of layer that an accelerator computes; costs are minima over whole model runs."""

    name: str
    layers: int
    on_device: int | None = None
    on_cpu: int | None = None
    measured: int = 0  # number of sides with records: device, CPU

    @property
    def is_open(self) -> bool:
        return self.measured < len(SIDES)

    @property
    def stays_on_cpu(self) -> bool:
        return self.on_cpu is not None and (self.on_device is None or self.on_cpu < self.on_device)


def device_tasks(job: Job, records: Iterable[TuningRecord], setting: Setting) -> tuple[DeviceTask, ...]:
    """Returns the tasks of a job with their records, the one with the most work first."""
    if not job.options.accelerators:
        return ()
    planned = plan_job(replace(job, tuned=NOT_TUNED))
    layers: dict[str, list[int]] = {}
    for stage in planned.lowered.stages:
        node, device = stage.node, stage.kernel.device
        if node is not None and device and not isinstance(node.op, DeviceRegion):
            types = planned.graph.input_types(node), planned.graph.output_types(node)
            cost = node.op.cost(*types)
            layers.setdefault(choice_task(device, node.op, *types), []).append(cost.macs + cost.elementwise)
    by_work = sorted(layers.items(), key=lambda each: -sum(each[1]))
    mine = _of_setting(records, setting)
    return tuple(
        _task(name, len(work), [each for each in mine if each.task == name]) for name, work in by_work
    )


def _task(name: str, layers: int, records: Sequence[TuningRecord]) -> DeviceTask:
    on_device, on_cpu = ([r.cost for r in records if r.knobs == side] for side in SIDES)
    return DeviceTask(name, layers, _least(on_device), _least(on_cpu), bool(on_device) + bool(on_cpu))


def _least(costs: Iterable[int | None]) -> int | None:
    return min((cost for cost in costs if cost is not None), default=None)


def _of_setting(records: Iterable[TuningRecord], setting: Setting) -> list[TuningRecord]:
    wanted = (setting.core, setting.compiler, setting.board)
    return [each for each in records if (each.core, each.compiler, each.board) == wanted]


def chosen_devices(records: Iterable[TuningRecord], setting: Setting) -> Mapping[str, Point]:
    """Returns the choices that these records imply for a compile."""
    return choices_among(select(records, setting.core, setting.compiler).points)
