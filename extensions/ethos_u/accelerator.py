"""Arm's Ethos-U: Vela compiles regions, and the NPU, or the included C model of it, runs them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from aot.errors import BoardError
from aot.ir.graph import Graph, Node
from aot.ir.types import Array, DType
from aot.passes.partition.claims import Claims
from aot.plan.model import ANY_POOL
from codegen.accelerators.accelerator import Accelerator, AcceleratorOption, Regions, region_of, whole_inputs
from codegen.accelerators.emulated import EmulatedDevice
from codegen.formats import RowFormat
from codegen.kernels.kernel import CFunction, Kernel, MemoryDemand, RowAccess, Site
from codegen.kernels.strategy import Condition, Strategy
from codegen.loops.ir import Buffer, Proc, Role
from codegen.option_kinds import Choice, FormedText, Text
from extensions.ethos_u.claims import claims
from extensions.ethos_u.configurations import CONFIGS, ConfigChoice, NpuConfig
from extensions.ethos_u.device import REGISTERS_BYTES, mapped
from extensions.ethos_u.driver import by_driver
from extensions.ethos_u.library import (
    ROOM,
    Executor,
    by_model,
    by_registers,
    function_name,
    library,
    tensor_names,
)
from extensions.ethos_u.program import NpuProgram, program_of

_ANY = "any"  # any memory of the board
_MODEL, _REGISTERS = "model", "registers"
ADDRESS_BYTES = 4
ALIGN_BYTES = 16  # of all buffers that the device reads and writes


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


def _lower(
    config: NpuConfig, executor: Executor, site: Site, _inputs: Sequence[RowFormat], _output: RowFormat
) -> Kernel:
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
        strategy="ethos-u",
        why=f"Vela estimates {program.cycles:,} cycles for {config.word} at {program.clock_hz / 1e6:.0f} MHz",
        proc=Proc(name, params, ()),
        summary="",
        access=(RowAccess(stride=1, first=0, count=1),) * len(xs),
        constants=constants,
        whole=True,
        calls=CFunction(
            name,
            library(len(xs), len(ys), executor),
            _shape(graph, program, xs, ys),
            stack_bytes=executor.stack_bytes,
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


def _reads_constants_by_pointer(site: Site) -> bool:
    return not site.target.constant_space


def _has_short_addresses(site: Site) -> bool:
    return site.target.pointer_bytes == ADDRESS_BYTES


_SHORT_ADDRESSES = Condition[Site](
    "cores with 32-bit addresses, unless the NPU is simulated", _has_short_addresses
)


def _strategy(settings: Mapping[str, Any]) -> Strategy:
    memory, is_model = settings["memory"], settings["device"] == _MODEL and not settings["path"]
    return Strategy(
        "ethos-u",
        whole_inputs,
        partial(_lower, CONFIGS[settings["config"]], _executor(settings)),
        fits=(
            Condition("regions that compute, not only move elements", _computes),
            Condition(f"filters with at most {ROOM:,} weights for a channel", _has_room),
            Condition("cores that read constants through ordinary pointers", _reads_constants_by_pointer),
            *(() if is_model else (_SHORT_ADDRESSES,)),
        ),
        demand=MemoryDemand(ALIGN_BYTES, ANY_POOL if memory == _ANY else frozenset({memory})),
    )


def _executor(settings: Mapping[str, Any]) -> Executor:
    """Returns Arm's driver if a folder is given, else the executor for the option `device`.

    Raises WrongValueError if the folder has no driver.
    """
    config = CONFIGS[settings["config"]]
    if settings["path"]:
        return by_driver(config, settings["path"])
    return by_model() if settings["device"] == _MODEL else by_registers(config, settings["address"])


def _claimed(settings: Mapping[str, Any], owner: str, graph: Graph) -> Claims:
    """Claims nodes. Raises BoardError if neither the options nor the board have the NPU's address."""
    if settings["device"] == _REGISTERS and not settings["path"] and not settings["address"]:
        raise BoardError(
            f"{owner}:device=registers has no address=ADDRESS of the NPU's registers",
            "nor does the board file",
            f"{owner}:device=registers,address=0x58102000",
        )
    return claims(CONFIGS[settings["config"]], owner, graph)


def _configured(settings: Mapping[str, Any]) -> Accelerator:
    return Accelerator(
        _SUMMARY,
        regions=Regions(partial(_claimed, settings), (_strategy(settings),)),
        options=_OPTIONS,
        configured=_configured,
        emulated=EmulatedDevice(REGISTERS_BYTES, mapped),
    )


_SUMMARY = "Arm's Ethos-U, compiled by Vela; without an NPU, a C model computes the same bits"
_CONFIG = AcceleratorOption(
    "config",
    ConfigChoice({word: word for word in CONFIGS}),
    "u55-128",
    "the NPU, and its MACs in a cycle",
)
_MEMORY = AcceleratorOption(
    "memory", Text("NAME"), _ANY, "memory of the board that the NPU can access, for its scratch"
)
_DEVICE = AcceleratorOption(
    "device",
    Choice({word: word for word in (_MODEL, _REGISTERS)}),
    _MODEL,
    "what computes: a C model, or the NPU through its registers (emulated by unicorn)",
)
_ADDRESS = AcceleratorOption(
    "address",
    FormedText("ADDRESS", "0x[0-9a-fA-F]{1,8}", "an address such as 0x58102000"),
    "",
    "address of the NPU's registers",
)
_PATH = AcceleratorOption(
    "path", Text("FOLDER"), "", "folder of Arm's ethos-u-core-driver, which then runs the NPU"
)
_OPTIONS = (_CONFIG, _MEMORY, _DEVICE, _ADDRESS, _PATH)

ACCELERATOR = _configured({option.name: option.default for option in _OPTIONS})
