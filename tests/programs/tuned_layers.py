"""What `deploy tune` measures of a model beside what is compiled of it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from codegen.compile import CompiledModel, compile_plan
from codegen.fit.variant import CompiledPlan
from codegen.kernels.kernel import Kernel
from platforms.tuning.tasks import tasks_of


@dataclass(frozen=True)
class TunedLayers:
    """Layers by the task of their kernel; the two must be equal."""

    tasks: Mapping[str, int]
    compiled: Mapping[str, int]  # whose kernels have knobs that a bench can measure


def tuned_layers(planned: CompiledPlan, model: CompiledModel | None = None) -> TunedLayers:
    """Of a plan, and the model that it became where that is there already."""
    compiled = layers_by_task(model or compile_plan(planned))
    for kernel in (stage.kernel for stage in planned.lowered.stages):
        if kernel.space is not None and cannot_be_tuned(kernel):
            compiled.pop(kernel.space.task, None)
    return TunedLayers({task.name: task.layers for task in tasks_of(planned)}, compiled)


def layers_by_task(model: CompiledModel) -> Counter[str]:
    """What `deploy inspect --layers` and the archive say of each layer's kernel."""
    said = (layer.why.rpartition("; task ") for layer in model.layers)
    return Counter(task for _, has_task, task in said if has_task)


def cannot_be_tuned(kernel: Kernel) -> bool:
    """Whether it has a single point here, or its results are not rows, which no bench measures."""
    scattered = kernel.whole or kernel.spread is not None
    return kernel.space is not None and (scattered or not kernel.space.has_choice)
