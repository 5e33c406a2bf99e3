"""sums: a device that runs regions of float sums and products by a program, for tests of regions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from aot.ir.graph import Graph, Node
from aot.ir.types import DType
from aot.ops.activation import Activation
from aot.ops.binary import Add, Mul
from aot.passes.outcome import Miss
from aot.passes.partition.claims import Claims, claims_by_node
from codegen.accelerators.accelerator import Accelerator, AcceleratorOption, Regions, region_of, whole_inputs
from codegen.formats import RowFormat
from codegen.kernels.kernel import CFile, CFunction, CLibrary, Kernel, MemoryDemand, RowAccess, Site
from codegen.kernels.strategy import Condition, Strategy
from codegen.loops.ir import Buffer, Proc, Role
from codegen.option_kinds import Choice

ARITIES = [(inputs, outputs) for inputs in (1, 2, 3) for outputs in (1, 2)]
_CODES = {"add": 0, "mul": 1}


def _names(inputs: int, outputs: int) -> tuple[list[str], list[str]]:
    return [f"x{n}" for n in range(inputs)], ["y", *(f"y{n}" for n in range(1, outputs))]


def _declared(inputs: int, outputs: int) -> str:
    xs, ys = _names(inputs, outputs)
    tensors = [*(f"const float *{x}" for x in xs), *(f"float *{y}" for y in ys)]
    name = f"sums_{inputs}_{outputs}"
    tensors += ["const int32_t *program", "float *spare", f"const struct {name}_shape *s"]
    return f"void {name}({', '.join(tensors)})"


def _defined(inputs: int, outputs: int) -> str:
    xs, ys = _names(inputs, outputs)
    slots = ", ".join([*(f"(float *)(uintptr_t){x}" for x in xs), *ys])
    return f"""{_declared(inputs, outputs)}
{{
    float *const slots[] = {{{slots}}};
    run(slots, {inputs + outputs}, program, spare, s->elements, s->steps);
}}
"""


def _header() -> str:
    shapes = [
        f"struct sums_{i}_{o}_shape {{\n    int32_t elements, steps;\n}};\n{_declared(i, o)};"
        for i, o in ARITIES
    ]
    return "\n".join(["#ifndef SUMS_H", "#define SUMS_H", "#include <stdint.h>", *shapes, "#endif", ""])


_RUN = """#include "sums.h"

static float *place(float *const *slots, int32_t kept, float *spare, int32_t slot, int32_t elements)
{
    return slot < kept ? slots[slot] : spare + (slot - kept) * elements;
}

static void run(float *const *slots, int32_t kept, const int32_t *program, float *spare, int32_t elements,
    int32_t steps)
{
    for (const int32_t *step = program; step != program + 4 * steps; step += 4) {
        float *const y = place(slots, kept, spare, step[1], elements);
        const float *const a = place(slots, kept, spare, step[2], elements);
        const float *const b = place(slots, kept, spare, step[3], elements);
        for (int32_t i = 0; i < elements; ++i) {
            y[i] = step[0] != 0 ? a[i] * b[i] : a[i] + b[i];
        }
    }
}

"""
LIBRARY = CLibrary(
    CFile("sums.h", _header()), (CFile("sums.c", _RUN + "\n".join(_defined(i, o) for i, o in ARITIES)),)
)


def refusal(graph: Graph, node: Node) -> Miss | None:
    """Claims sums and products of two tensors of one shape that flow."""
    if not isinstance(node.op, Add | Mul):
        return Miss(f"it does not support {node.op.name}")
    if node.op.activation is not Activation.NONE:
        return Miss("only for sums without an activation")
    types = {graph.types[value] for value in (*node.reads, *node.outputs)}
    if len(types) > 1 or any(value in graph.constants for value in node.reads):
        return Miss("only for tensors of one shape that are not constants")
    return None


def claims(owner: str, graph: Graph) -> Claims:
    return claims_by_node(owner, refusal, graph)


def program(graph: Graph) -> tuple[np.ndarray[Any, Any], int]:
    """Four numbers for each node, and how many values lie in scratch."""
    inner = [v for node in graph.nodes for v in node.outputs if v not in graph.outputs]
    slots = {name: n for n, name in enumerate((*graph.inputs, *graph.outputs, *inner))}
    steps = ((_CODES[n.op.name], slots[n.outputs[0]], *(slots[v] for v in n.reads)) for n in graph.nodes)
    return np.array([*chain(*steps)], np.int32), len(inner)


def _lower(site: Site, _inputs: Sequence[RowFormat], _output: RowFormat) -> Kernel:
    graph, elements = region_of(site).graph, site.outputs[0].elements
    steps, inner = program(graph)
    xs, ys = _names(len(graph.inputs), len(graph.outputs))
    name = f"sums_{len(xs)}_{len(ys)}"
    params = (
        *(Buffer(x, DType.F32, elements, Role.ROWS) for x in xs),
        *(Buffer(y, DType.F32, elements, Role.OUTPUT) for y in ys),
        Buffer("program", DType.I32, steps.size, Role.CONSTANT),
        Buffer("spare", DType.F32, max(inner, 1) * elements, Role.SCRATCH),
    )
    return Kernel(
        strategy="sums",
        why="its program runs there",
        proc=Proc(name, params, ()),
        summary="",
        access=(RowAccess(stride=1, first=0, count=1),) * len(xs),
        constants={"program": steps},
        whole=True,
        calls=CFunction(name, LIBRARY, (("elements", elements), ("steps", len(graph.nodes)))),
    )


def _has_arity(site: Site) -> bool:
    graph = region_of(site).graph
    return (len(graph.inputs), len(graph.outputs)) in ARITIES


def made(demand: MemoryDemand, claim: Callable[[str, Graph], Claims] = claims) -> Accelerator:
    strategy = Strategy(
        "sums",
        whole_inputs,
        _lower,
        fits=(Condition("regions with 3 inputs and 2 results at most", _has_arity),),
        demand=demand,
    )
    return Accelerator("sums and products by a program", regions=Regions(claim, (strategy,)))


def _configured(settings: Mapping[str, Any]) -> Accelerator:
    return replace(made(MemoryDemand(settings["align"])), options=SUMS.options)


SUMS = replace(
    made(MemoryDemand()),
    options=(
        AcceleratorOption("align", Choice({str(n): n for n in (4, 8, 16)}), 4, "where its tensors begin"),
    ),
    configured=_configured,
)
