"""Verifies a compile by execution: graphs before and after passes, and loops before and after user schedules.

Integers must be equal; floats may differ by the order of sums.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from aot.errors import CheckError
from aot.interpret import run_series
from aot.ir.graph import Graph
from aot.ir.types import Array
from aot.passes.outcome import Rewritten
from aot.passes.pipeline import PassStep
from codegen.fit.variant import CompiledPlan
from codegen.kernels.kernel import Kernel

_RUNS = 2  # consecutive, so that states matter
_SEED = 7
_REAL_TOLERANCE = 1e-5  # relative to the largest number
Outputs = Mapping[str, Array]


def check_plan(planned: CompiledPlan) -> None:
    """Raises CheckError for the first pass or schedule that changes the result."""
    model = planned.job.model.source_name
    known: dict[int, Outputs] = {}  # of graphs that several steps share, by identity
    for step in planned.steps:
        if isinstance(step.outcome, Rewritten):
            _check_step(step, model, known)
    for stage in planned.lowered.stages:
        _check_kernel(stage.kernel, stage.name)


def _check_step(step: PassStep, model: str, known: dict[int, Outputs]) -> None:
    before, after = (_outputs(graph, known) for graph in (step.before, step.after))
    for name, wanted in before.items():
        if not _are_same(wanted, after[name]):
            raise CheckError(
                f'the pass {step.what.name} changes what the model computes: output "{name}", '
                f"{_first_difference(wanted, after[name])}",
                model,
                f"--disable {step.what.name} skips it",
            )


def _outputs(graph: Graph, known: dict[int, Outputs]) -> Outputs:
    """Returns the outputs of some runs on random inputs, which are equal for all graphs with these inputs."""
    if id(graph) not in known:
        random = np.random.default_rng(_SEED)
        samples = [{name: _random(graph, name, random) for name in graph.inputs} for _ in range(_RUNS)]
        runs = list(run_series(graph, samples))
        known[id(graph)] = {name: np.stack([run[name] for run in runs]) for name in graph.outputs}
    return known[id(graph)]


def _random(graph: Graph, name: str, random: np.random.Generator) -> Array:
    kind = graph.types[name]
    if not kind.dtype.is_integer:
        return random.standard_normal(kind.shape).astype(kind.dtype.numpy)
    low, high = kind.dtype.limits
    return random.integers(low, high, kind.shape, np.int64, endpoint=True).astype(kind.dtype.numpy)


def _check_kernel(kernel: Kernel, layer: str) -> None:
    if kernel.scheduled_from is None:
        return
    from codegen.lang.outcome import outcome  # imported late: only user schedules need the language

    its = kernel.scheduled_from
    before, after = outcome(its.meaning, {}, its.meaning), outcome(kernel.proc, its.packings, its.meaning)
    for name, wanted in before.items():
        if not _are_same(wanted, after[name]):
            raise CheckError(
                f"the schedule {kernel.strategy} changes what {its.meaning.name} computes: "
                f"{_first_difference(wanted, after[name])}",
                layer,
                "this is a bug in Solder: please report it",
            )


def _are_same(wanted: Array, found: Array) -> bool:
    if np.issubdtype(wanted.dtype, np.floating):
        most = np.max(np.abs(wanted), initial=0, where=np.isfinite(wanted))
        return np.allclose(wanted, found, rtol=0, atol=_REAL_TOLERANCE * most, equal_nan=True)
    return np.array_equal(wanted, found)


def _first_difference(wanted: Array, found: Array) -> str:
    differs = wanted != found
    at = tuple(np.argwhere(differs)[0].tolist())
    return (
        f"{np.count_nonzero(differs)} of {differs.size} elements, first at {list(at)}: "
        f"{found[at]}, instead of {wanted[at]}"
    )
