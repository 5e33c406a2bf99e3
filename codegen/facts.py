"""Everything a compiled model's C text does not say: what its archive keeps and `deploy inspect` shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from aot.plan.model import Kind
from aot.target import Target
from codegen.arenas import Arena, arenas_of, line_bytes
from codegen.memory_map import MemoryMap, map_memory
from codegen.model import CompiledModel, CompileOptions, LayerInfo, TensorInfo
from codegen.version import VERSION


@dataclass(frozen=True, slots=True)
class ModelFacts:
    name: str  # a C identifier in lower case
    source_name: str  # the model file's name, without folders
    model_hash: str  # SHA-256 of the model file's bytes, in hex
    tool_version: str  # of Solder
    target: Target
    options: CompileOptions
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    layers: tuple[LayerInfo, ...]
    memory: MemoryMap
    constants_bytes: int
    constants_in: Mapping[str, int]  # of them by region, where it is not the code's
    code_bytes_estimate: int
    stack_bytes_estimate: int
    c_flags: tuple[str, ...]

    @property
    def arena_bytes(self) -> int:
        return self.memory.arena_bytes

    @property
    def arenas(self) -> tuple[Arena, ...]:
        return arenas_of(self.memory.pool_bytes)

    @property
    def line_arenas(self) -> tuple[Arena, ...]:
        """With room for a streamed input behind, which the serial line gives as a whole."""
        sizes = line_bytes(self.arenas, (*self.inputs, *self.outputs))
        return tuple(replace(arena, bytes=size) for arena, size in zip(self.arenas, sizes, strict=True))

    @property
    def keeps_state(self) -> bool:
        """Whether something in the arena is kept from run to run."""
        return any(buffer.kind == Kind.STATE.value for buffer in self.memory.buffers)

    @property
    def io_bytes(self) -> int:
        """Inputs and outputs, in the arena or beside it."""
        return sum(tensor.bytes for tensor in (*self.inputs, *self.outputs))

    @property
    def io_bytes_beside(self) -> int:
        """Of them what has no place in the arena."""
        return self.io_bytes if self.options.io_apart else 0

    @property
    def macs(self) -> int:
        return sum(layer.macs for layer in self.layers)


def facts_of(model: CompiledModel) -> ModelFacts:
    return ModelFacts(
        name=model.name,
        source_name=model.source_name,
        model_hash=model.model_hash,
        tool_version=VERSION,
        target=model.target,
        options=model.options,
        inputs=model.inputs,
        outputs=model.outputs,
        layers=model.layers,
        memory=map_memory(model.request, model.plan),
        constants_bytes=model.constants_bytes,
        constants_in=model.constants_in,
        code_bytes_estimate=model.code_bytes_estimate,
        stack_bytes_estimate=model.stack_bytes_estimate,
        c_flags=model.c_flags,
    )
