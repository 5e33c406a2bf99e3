"""Arm's Ethos-U: Vela compiles regions, and the NPU runs them, or the model of it that comes with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from aot.ir.graph import Graph, Node
from aot.ir.types import Array, DType
from aot.plan.model import ANY_POOL
from codegen.accelerators.accelerator import Accelerator, AcceleratorOption, Regions, region_of, whole_inputs
from codegen.accelerators.ethos_u.claims import claims
from codegen.accelerators.ethos_u.configurations import CONFIGS, NpuConfig
from codegen.accelerators.ethos_u.library import ROOM, STACK_BYTES, function_name, library, tensor_names
from codegen.accelerators.ethos_u.program import NpuProgram, program_of
from codegen.formats import RowFormat
from codegen.kernels.c_function import CFunction
from codegen.kernels.kernel import Kernel, RowAccess, Site
from codegen.kernels.memory_demand import MemoryDemand
from codegen.kernels.schedule import Condition, Schedule
from codegen.loops.ir import Buffer, Proc, Role
from codegen.option_kinds import Choice, Text

_ANY = "any"  # memory of the board
ALIGN_BYTES = 16  # of all that the device reads and writes


_MOVES = frozenset({"rearrange", "reshape"})


def _computes(site: Site) -> bool:
    return any(node.op.name not in _MOVES for node in region_of(site).graph.nodes)


def _has_room(site: Site) -> bool:
    return all(
        _weights_of_a_channel(region_of(site).graph, node) <= ROOM for node in region_of(site).graph.nodes
    )


def _weights_of_a_channel(graph: Graph, node: Node) -> int:
    if node.op.name not in ("conv2d", "dense", "depthwise_conv2d"):
        return 0
    shape = graph.types[str(node.inputs[1])].shape
    return int(np.prod(shape[:2] if node.op.name == "depthwise_conv2d" else shape[1:]))


def _lower(config: NpuConfig, site: Site, _inputs: Sequence[RowFormat], _output: RowFormat) -> Kernel:
    graph = region_of(site).graph
    program = program_of(graph, config)
    xs, ys = tensor_names(len(graph.inputs), len(graph.outputs))
    tensors = {**dict(zip(xs, graph.inputs, strict=True)), **dict(zip(ys, graph.outputs, strict=True))}
    constants = {"commands": _bytes(program.commands), "constants": _bytes(program.constants)}
    params = (
        *(Buffer(x, graph.types[tensors[x]].dtype, graph.types[tensors[x]].elements, Role.ROWS) for x in xs),
        *(
            Buffer(y, graph.types[tensors[y]].dtype, graph.types[tensors[y]].elements, Role.OUTPUT)
            for y in ys
        ),
        *(Buffer(name, DType.I8, array.size, Role.CONSTANT) for name, array in constants.items()),
        Buffer("scratch", DType.I8, program.scratch_bytes, Role.SCRATCH),
    )
    name = function_name(len(xs), len(ys))
    return Kernel(
        schedule="ethos-u",
        why=f"Vela estimates {program.cycles:,} cycles for {config.word} at {program.clock_hz / 1e6:.0f} MHz",
        proc=Proc(name, params, ()),
        summary="",
        access=(RowAccess(stride=1, first=0, count=1),) * len(xs),
        constants=constants,
        whole=True,
        calls=CFunction(
            name, library(len(xs), len(ys)), _shape(graph, program, xs, ys), stack_bytes=STACK_BYTES
        ),
    )


def _bytes(content: bytes) -> Array:
    return np.frombuffer(content, np.int8)


def _shape(
    graph: Graph, program: NpuProgram, xs: Sequence[str], ys: Sequence[str]
) -> tuple[tuple[str, int], ...]:
    places = zip(
        (*xs, *ys), (*graph.inputs, *graph.outputs), (*program.inputs, *program.outputs), strict=True
    )
    numbers = [
        ("commands_bytes", len(program.commands)),
        ("constants_bytes", len(program.constants)),
        ("scratch_bytes", program.scratch_bytes),
    ]
    for tensor, value, offset in places:
        kind = graph.types[value]
        numbers += [(f"{tensor}_at", offset), (f"{tensor}_bytes", kind.elements * kind.dtype.numpy.itemsize)]
    return tuple(numbers)


def _regions(config: NpuConfig, memory: str) -> Regions:
    reached = ANY_POOL if memory == _ANY else frozenset({memory})
    schedule = Schedule(
        "ethos-u",
        whole_inputs,
        partial(_lower, config),
        fits=(
            Condition("regions that do more than move elements", _computes),
            Condition(f"filters with at most {ROOM:,} weights for a channel", _has_room),
        ),
        demand=MemoryDemand(align=ALIGN_BYTES, memories=reached),
    )
    return Regions(partial(claims, config), (schedule,))


def _configured(settings: Mapping[str, Any]) -> Accelerator:
    regions = _regions(CONFIGS[settings["config"]], settings["memory"])
    return Accelerator(_SUMMARY, regions=regions, options=_OPTIONS, configured=_configured)


_SUMMARY = "Arm's Ethos-U, by Vela; away from the NPU a model of it computes the same bits"
_CONFIG = AcceleratorOption(
    "config", Choice({word: word for word in CONFIGS}), "u55-128", "the NPU, and its MACs in a cycle"
)
_MEMORY = AcceleratorOption(
    "memory", Text("NAME"), _ANY, "the board's memory that the NPU reaches, for its scratch"
)
_OPTIONS = (_CONFIG, _MEMORY)

ACCELERATOR = _configured({option.name: option.default for option in _OPTIONS})
