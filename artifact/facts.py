"""Facts about a compiled model that are not in its C: stored in archives, shown by `deploy inspect`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from aot.ir.graph import Graph, Window
from aot.passes.pipeline import PassStep
from aot.plan.model import Kind
from aot.target import Target
from artifact.memory_map import MemoryMap, map_memory
from codegen.c.arenas import Arena, arenas_of, line_bytes
from codegen.c.observe import OBSERVED_BYTES
from codegen.fit.layer_cycles import RunCycles
from codegen.fit.memory_use import MemoryNeeds
from codegen.model import KeptLimit, LayerInfo, PlacementInRam, TensorInfo
from codegen.option_entry import ADDED_LATER
from codegen.options import CompileOptions
from codegen.version import VERSION

if TYPE_CHECKING:
    from codegen.compile import CompiledModel


@dataclass(frozen=True, slots=True)
class ModelFacts:
    name: str  # a C identifier in lower case
    source_name: str  # the model file's name, without folders
    model_hash: str  # SHA-256 of the model file, in hex
    tool_version: str  # version of Solder
    target: Target
    options: CompileOptions
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    layers: tuple[LayerInfo, ...]
    memory: MemoryMap
    constants_bytes: int
    constants_in: Mapping[str, int]  # part of these by region, if that is not the region of the code
    code_bytes_estimate: int
    stack_bytes_estimate: int
    c_flags: tuple[str, ...]
    # Headers that its C includes besides its own; not in archives of Solder 0.2.0.
    c_headers: tuple[str, ...] = field(default=("math.h",), metadata=ADDED_LATER)
    board: str = field(default="", metadata=ADDED_LATER)  # name as in the C
    # Multiplications that passes removed, by pass.
    removed_macs: Mapping[str, int] = field(default_factory=dict, metadata=ADDED_LATER)
    # The window that slides over the rows of its input.
    window: Window | None = field(default=None, metadata=ADDED_LATER)
    placement: PlacementInRam | None = field(default=None, metadata=ADDED_LATER)  # by --place
    # Of single memories, by --ram and --flash.
    limits: tuple[KeptLimit, ...] = field(default=(), metadata=ADDED_LATER)
    # For external weights: the hash of the matching code, and their bytes with gaps between arrays.
    structure: str = field(default="", metadata=ADDED_LATER)
    weights_bytes: int = field(default=0, metadata=ADDED_LATER)
    # Names of the kernels that tables can run; bytes of the model's own table.
    kernels: tuple[str, ...] = field(default=(), metadata=ADDED_LATER)
    table_bytes: int = field(default=0, metadata=ADDED_LATER)
    # Of a run, estimated; None if they are not modeled.
    cycles: RunCycles | None = field(default=None, metadata=ADDED_LATER)

    @property
    def arena_bytes(self) -> int:
        return self.memory.arena_bytes

    @property
    def arenas(self) -> tuple[Arena, ...]:
        return arenas_of(self.memory.pool_bytes)

    @property
    def line_arenas(self) -> tuple[Arena, ...]:
        """Returns the arenas that the serial line needs, with space after them for a whole streamed input."""
        sizes = line_bytes(self.arenas, (*self.inputs, *self.outputs))
        return tuple(replace(arena, bytes=size) for arena, size in zip(self.arenas, sizes, strict=True))

    @property
    def callers(self) -> tuple[TensorInfo, ...]:
        """Returns inputs and outputs without space in an arena: they stay in the caller's memory."""
        tensors = (*self.inputs, *self.outputs)
        return tuple(each for each in tensors if each.arena_offset >= self.arenas[each.arena].bytes)

    @property
    def keeps_state(self) -> bool:
        """Returns whether the arena holds a state that persists between runs."""
        return self.state_bytes > 0

    @property
    def state_bytes(self) -> int:
        """Returns the bytes of the arena that persist between runs."""
        states = (each for each in self.memory.buffers if each.kind == Kind.STATE.value)
        return sum(each.row_bytes * each.rows_held for each in states)

    @property
    def io_bytes(self) -> int:
        """Returns the bytes of all inputs and outputs, in the arena or in the caller's memory."""
        return sum(tensor.bytes for tensor in (*self.inputs, *self.outputs))

    @property
    def io_bytes_beside(self) -> int:
        """Returns the bytes of inputs and outputs that are outside the arena."""
        return self.io_bytes if self.options.caller_owns_io else 0

    @property
    def needs(self) -> MemoryNeeds:
        return MemoryNeeds(
            self.arenas,
            self.io_bytes_beside if self.options.caller_owns_io else None,
            self.stack_bytes_estimate,
            max(0, self.constants_bytes - self.weights_bytes),
            self.constants_in,
            self.code_bytes_estimate,
            OBSERVED_BYTES if self.options.observe else 0,
            self.options.cores,
        )

    @property
    def macs(self) -> int:
        return sum(layer.macs for layer in self.layers)


def facts_of(model: CompiledModel) -> ModelFacts:
    return ModelFacts(
        name=model.name,
        source_name=model.planned.job.model.source_name,
        model_hash=model.parts.model_hash,
        tool_version=VERSION,
        target=model.target,
        options=model.options,
        inputs=model.inputs,
        outputs=model.outputs,
        layers=model.layers,
        memory=map_memory(model.planned.request, model.plan, model.whole_tensor_bound_bytes),
        constants_bytes=model.constants.bytes,
        constants_in=model.constants.bytes_in,
        code_bytes_estimate=model.code_bytes_estimate,
        stack_bytes_estimate=model.planned.stack_bytes,
        c_flags=model.parts.c_flags,
        c_headers=model.c_headers,
        board=model.planned.job.board,
        removed_macs=_removed_macs(model.planned.steps),
        window=model.planned.job.model.graph.window,
        placement=model.planned.placement,
        limits=model.limits,
        structure=model.weights.structure if model.weights else "",
        weights_bytes=len(model.weights.data) if model.weights else 0,
        kernels=tuple(model.table.kernels) if model.table else (),
        table_bytes=len(model.table.data) if model.table else 0,
        cycles=model.estimate_cycles(),
    )


def _removed_macs(steps: Iterable[PassStep]) -> dict[str, int]:
    rewritten = ((step.what.name, step.before, step.after) for step in steps if step.after is not step.before)
    removed = ((name, _macs(before) - _macs(after)) for name, before, after in rewritten)
    return {name: macs for name, macs in removed if macs > 0}


def _macs(graph: Graph) -> int:
    costs = (node.op.cost(graph.input_types(node), graph.output_types(node)) for node in graph.nodes)
    return sum(cost.macs for cost in costs)
