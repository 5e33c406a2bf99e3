"""A graph compiled to C and run on samples, as a check: its outputs must be the references', bit for bit."""

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
from c_checks import Check, c_array
from graphs import GRAPHS
from op_case import OpCase
from row_machine import run_lowered

from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ir.types import Array
from aot.passes.pipeline import run_meaning
from aot.target import Feature, Optimize, Target
from codegen.c.arenas import arenas_of
from codegen.compile import CompiledModel, compile_job
from codegen.job import ImportedModel, Job
from codegen.lower.lower import lower_graph
from codegen.lower.stages import LoweredStage
from codegen.model import TensorInfo
from codegen.options import CompileOptions

_DSP = frozenset({Feature.DSP, Feature.FPU, Feature.UNALIGNED})
PLAIN = Target("cortex-m3", frozenset({Feature.UNALIGNED}), machine="arm")
DSP = Target("cortex-m4", _DSP, machine="arm")
MVE = Target("cortex-m55", _DSP | {Feature.MVE}, machine="arm")
VECTORS = Target("rv32imac-zve32x", frozenset({Feature.VECTORS}), registers=26, machine="riscv")
OPTIONS = {
    "speed": CompileOptions(),
    "ram": CompileOptions(Optimize.RAM),
    "size": CompileOptions(Optimize.SIZE),
    "whole_tensors": CompileOptions(rows=False),
}
Sample = Mapping[str, Array]


def compiled(graph: Graph, target: Target, options: CompileOptions, name: str) -> CompiledModel:
    return compile_job(Job(ImportedModel(graph, "case.tflite", "00" * 32, name), target, options))


@cache
def compiled_graph(name: str, target: Target, options: str) -> CompiledModel:
    """Of GRAPHS, under its own name: once for all tests that ask."""
    return compiled(GRAPHS[name](), target, OPTIONS[options], name)


def graph_checks(target: Target, options: str) -> list[Check]:
    """Of all GRAPHS."""
    checks = []
    for name, maker in GRAPHS.items():
        samples = samples_of(OpCase(name, maker()))
        model = compiled_graph(name, target, options)
        wanted = [run_graph(maker(), sample) for sample in samples]
        checks.append(check_of(f"{name}.{options}", model, samples, wanted))
    return checks


def only_stage(
    graph: Graph, target: Target = DSP, options: CompileOptions = OPTIONS["speed"]
) -> LoweredStage:
    """The stage of the one layer of a graph that multiplies by weights."""
    lowered = lower_graph(run_meaning(graph).graph, target, options)
    return next(stage for stage in lowered.stages if stage.op in ("dense", "conv2d", "depthwise_conv2d"))


def require_the_reference_in_loops(case: OpCase, target: Target = DSP) -> None:
    """The loop nests of the case give its reference's bits, for random values."""
    lowered = lower_graph(run_meaning(case.graph).graph, target, OPTIONS["speed"])
    inputs, _ = samples_of(case)
    assert np.array_equal(run_lowered(lowered, inputs)["y"], run_graph(case.graph, inputs)["y"])


def samples_of(case: OpCase) -> tuple[Sample, Sample]:
    """Random values, and nothing but extremes."""
    return case.inputs(0), {name: _extremes(values) for name, values in case.inputs(1).items()}


def _extremes(values: Array) -> Array:
    if values.dtype.kind == "b":
        return ~values  # type: ignore[misc]
    low, high = (-300.0, 300.0) if values.dtype.kind == "f" else _limits(values)
    return np.where(values < np.median(values), low, high).astype(values.dtype)  # type: ignore[type-var]


def _limits(values: Array) -> tuple[int, int]:
    info = np.iinfo(values.dtype)  # type: ignore[type-var]
    return int(info.min), int(info.max)


def case_checks(cases: Sequence[OpCase], target: Target, options: str) -> list[Check]:
    return [
        model_check(f"{case.name}.{options}", f"k{i}", case.graph, target, OPTIONS[options], samples_of(case))
        for i, case in enumerate(cases)
    ]


def model_check(
    name: str,
    c_name: str,
    graph: Graph,
    target: Target,
    options: CompileOptions,
    samples: Sequence[Sample],
) -> Check:
    wanted = [run_graph(graph, sample) for sample in samples]
    return check_of(name, compiled(graph, target, options, c_name), samples, wanted)


def check_of(name: str, model: CompiledModel, samples: Sequence[Sample], wanted: Sequence[Sample]) -> Check:
    """Every sample twice, each time in an arena full of garbage: with tensors outside it, and inside it."""
    return _check(name, model, samples, wanted, "check_each_sample")


def state_check(
    name: str, model: CompiledModel, samples: Sequence[Sample], wanted: Sequence[Sample]
) -> Check:
    """One run after the other in one arena, from a reset on; the whole series twice."""
    return _check(name, model, samples, wanted, "check_series")


def _check(
    name: str, model: CompiledModel, samples: Sequence[Sample], wanted: Sequence[Sample], how: str
) -> Check:
    files = {f.replace(".c", ".inc"): text for f, text in model.sources.items()}
    includes = [f'#include "{f}"\n' for f in sorted(files) if f.endswith(".inc")]
    tables = [_tensors("x", model.inputs, samples), _tensors("y", model.outputs, wanted)]
    return Check(name, "".join((*includes, *tables, _entries(model, len(samples), how))), files)


def _tensors(prefix: str, tensors: Sequence[TensorInfo], samples: Sequence[Sample]) -> str:
    """The samples of each tensor, and the table of the tensors."""
    arrays = "".join(
        c_array(f"check_{prefix}{i}", np.concatenate([sample[t.name].reshape(-1) for sample in samples]))
        for i, t in enumerate(tensors)
    )
    rows = (
        f"{{check_{prefix}{i}, {t.bytes}u, {t.arena}u, {t.arena_offset}u}}" for i, t in enumerate(tensors)
    )
    return f"{arrays}static const struct check_tensor check_{prefix}[] = {{{', '.join(rows)}}};\n"


def _entries(model: CompiledModel, samples: int, how: str) -> str:
    """The model's functions as device/model.c calls them: compiled for each case, so as little as can be."""
    names = [arena.name.upper() for arena in arenas_of(model.plan.pool_bytes)]
    arenas = ", ".join(f"arenas[{number}]" for number in range(len(names)))
    sizes = ", ".join(f"{model.name.upper()}_{name}_BYTES" for name in names)
    counts = ", ".join(f"{n}u" for n in (len(model.inputs), len(model.outputs), len(names), samples))
    has_states = how == "check_series"
    reset = f"return {model.name}_reset({arenas});" if has_states else "(void)arenas;\n    return 0;"
    return f"""
static int32_t check_outside(void *const *inputs, void *const *outputs, uint8_t *const *arenas)
{{
    const struct {model.name}_inputs in = {{{_pointers("inputs", model.inputs)}}};
    const struct {model.name}_outputs out = {{{_pointers("outputs", model.outputs)}}};
    return {model.name}_run(&in, &out, {arenas});
}}

static int32_t check_inside(uint8_t **arenas)
{{
    return {model.name}_model.run(arenas);
}}

static int32_t check_reset(uint8_t *const *arenas)
{{
    {reset}
}}

static const uint32_t check_arena_bytes[] = {{{sizes}}};
static const struct check_model check_it = {{
    check_x, check_y, check_arena_bytes, {counts},
    check_outside, check_inside, check_reset
}};

uint32_t CHECK(void)
{{
    return {how}(&check_it);
}}
"""


def _pointers(array: str, tensors: Sequence[TensorInfo]) -> str:
    return ", ".join(f"{array}[{number}]" for number in range(len(tensors)))
