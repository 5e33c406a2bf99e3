"""A graph compiled to C and run on samples, as a check: its outputs must be the references', bit for bit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from c_checks import Check, c_array
from op_case import OpCase

from aot.interpret import run_graph
from aot.ir.graph import Array, Graph
from aot.target import Feature, Optimize, Target
from codegen.arenas import arenas_of
from codegen.compile import compile_graph
from codegen.model import CompiledModel, CompileOptions, TensorInfo

PLAIN = Target("cortex-m3", frozenset({Feature.UNALIGNED}))
DSP = Target("cortex-m4", frozenset({Feature.DSP, Feature.FPU, Feature.UNALIGNED}))
MVE = Target("cortex-m55", frozenset({Feature.DSP, Feature.FPU, Feature.MVE, Feature.UNALIGNED}))
OPTIONS = {
    "speed": CompileOptions(),
    "ram": CompileOptions(Optimize.RAM),
    "size": CompileOptions(Optimize.SIZE),
    "whole_tensors": CompileOptions(rows=False),
}
Sample = Mapping[str, Array]


def compiled(graph: Graph, target: Target, options: CompileOptions, name: str) -> CompiledModel:
    return compile_graph(graph, target, options, "case.tflite", "00" * 32, name)


def samples_of(case: OpCase) -> tuple[Sample, Sample]:
    """Random values, and nothing but extremes."""
    return case.inputs(0), {name: _extremes(values) for name, values in case.inputs(1).items()}


def _extremes(values: Array) -> Array:
    if values.dtype.kind == "b":
        return ~values
    low, high = (-300.0, 300.0) if values.dtype.kind == "f" else _limits(values)
    return np.where(values < np.median(values), low, high).astype(values.dtype)


def _limits(values: Array) -> tuple[int, int]:
    info = np.iinfo(values.dtype)
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
    arrays = [_arrays("x", model.inputs, samples), _arrays("y", model.outputs, wanted)]
    files = {f.replace(".c", ".inc"): text for f, text in model.sources.items()}
    includes = [f'#include "{f}"\n' for f in sorted(files) if f.endswith(".inc")]
    body = _once(model, len(samples))
    return Check(name, "#include <string.h>\n" + "".join((*includes, *arrays, body)), files)


def _arrays(prefix: str, tensors: Sequence[TensorInfo], samples: Sequence[Sample]) -> str:
    return "".join(
        c_array(f"{prefix}{i}", np.concatenate([sample[t.name].reshape(-1) for sample in samples]))
        for i, t in enumerate(tensors)
    )


_COMPARE_INSIDE = (
    "wrong = wrong ? wrong : check_bytes(arenas[{arena}] + {offset}u, y{i} + sample * {elements}u, {bytes}u);"
)


def state_check(
    name: str, model: CompiledModel, samples: Sequence[Sample], wanted: Sequence[Sample]
) -> Check:
    """One run after the other in one arena, from a reset on; the whole series twice."""
    arrays = [_arrays("x", model.inputs, samples), _arrays("y", model.outputs, wanted)]
    files = {f.replace(".c", ".inc"): text for f, text in model.sources.items()}
    includes = [f'#include "{f}"\n' for f in sorted(files) if f.endswith(".inc")]
    body = f"""
uint32_t CHECK(void)
{{
    uint8_t *arenas[] = {{{_memories(model)}}};
    for (uint32_t turn = 0; turn < {2 * len(samples)}u; turn++) {{
        const uint32_t sample = turn % {len(samples)}u;
        if (sample == 0 && {model.name}_reset({_each_arena(model)}) != 0) {{
            return turn + 1u;
        }}
{_lines(model.inputs, "memcpy(arenas[{arena}] + {offset}u, x{i} + sample * {elements}u, {bytes}u);")}
        uint32_t wrong = (uint32_t){model.name}_model.run(arenas);
{_lines(model.outputs, _COMPARE_INSIDE)}
        if (wrong != 0) {{
            return turn * 1000000u + wrong;
        }}
    }}
    return 0;
}}
"""
    return Check(name, "#include <string.h>\n" + "".join((*includes, *arrays, body)), files)


def _once(model: CompiledModel, samples: int) -> str:
    return f"""
static uint32_t outside(uint32_t sample)
{{
{_lines(model.inputs, "{c_type} *const in{i} = check_memory({bytes}u);")}
{_lines(model.outputs, "{c_type} *const out{i} = check_memory({bytes}u);")}
    const struct {model.name}_inputs in = {{{_list("in", model.inputs)}}};
    const struct {model.name}_outputs out = {{{_list("out", model.outputs)}}};
{_lines(model.inputs, "memcpy(in{i}, x{i} + sample * {elements}u, {bytes}u);")}
    uint32_t wrong = (uint32_t){model.name}_run(&in, &out, {_memories(model)});
{_lines(model.outputs, "wrong = wrong ? wrong : check_bytes(out{i}, y{i} + sample * {elements}u, {bytes}u);")}
{_lines(model.inputs, "wrong = wrong ? wrong : check_bytes(in{i}, x{i} + sample * {elements}u, {bytes}u);")}
    return wrong;
}}

static uint32_t inside(uint32_t sample)
{{
    uint8_t *arenas[] = {{{_memories(model)}}};
{_lines(model.inputs, "memcpy(arenas[{arena}] + {offset}u, x{i} + sample * {elements}u, {bytes}u);")}
    uint32_t wrong = (uint32_t){model.name}_model.run(arenas);
{_lines(model.outputs, _COMPARE_INSIDE)}
    return wrong;
}}

uint32_t CHECK(void)
{{
    for (uint32_t sample = 0; sample < {samples}u; sample++) {{
        const uint32_t wrong_outside = outside(sample);
        const uint32_t wrong = wrong_outside ? wrong_outside : inside(sample);
        if (wrong != 0) {{
            return sample * 1000000u + wrong;
        }}
    }}
    return 0;
}}
"""


def _memories(model: CompiledModel) -> str:
    """As much as each arena takes, full of garbage."""
    names = (arena.name.upper() for arena in arenas_of(model.plan.pool_bytes))
    return ", ".join(f"check_memory({model.name.upper()}_{name}_BYTES)" for name in names)


def _each_arena(model: CompiledModel) -> str:
    return ", ".join(f"arenas[{number}]" for number in range(len(model.plan.pool_bytes)))


def _lines(tensors: Sequence[TensorInfo], line: str) -> str:
    """The line for each tensor, with its facts filled in."""
    return "\n".join(
        "    "
        + line.format(
            i=i,
            bytes=t.bytes,
            elements=t.type.elements,
            arena=t.arena,
            offset=t.arena_offset,
            c_type=t.type.dtype.c_name,
        )
        for i, t in enumerate(tensors)
    )


def _list(prefix: str, tensors: Sequence[TensorInfo]) -> str:
    return ", ".join(f"{prefix}{i}" for i in range(len(tensors)))
