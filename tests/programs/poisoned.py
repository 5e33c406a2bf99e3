"""Runs a compiled model on this computer while all memory that nobody needs any more is filled with garbage.

The model is built with its layer hook: after each row it stands still, and every byte of the arena that the
plan calls free at that moment is overwritten. What a plan forgets to keep is then lost at once.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from aot.ir.types import Array
from artifact.memory_map import BufferLife, MemoryMap, map_memory
from codegen.model import CompiledModel
from platforms.shared_library import HostModel, build

_HOOK = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint32)
_HOOK_C = '#include "solder_model.h"\n\nsolder_layer_hook solder_on_layer;\n'
_KEPT_BEFORE, _KEPT_AFTER = ("input", "state"), ("output", "state")


class Poisoned:
    """A model whose free memory is poisoned; `hasty` takes each row's memory one step too early."""

    def __init__(self, model: CompiledModel, directory: Path, hasty: bool = False) -> None:
        sources = dict(model.sources)
        sources[f"{model.name}.c"] = "#define SOLDER_LAYER_HOOK\n" + sources[f"{model.name}.c"]
        self.host: HostModel = build({**sources, "hook.c": _HOOK_C}, directory)
        self.memory = map_memory(model.request, model.plan, 0)
        self.reports = _reporting_positions(model, self.memory)
        keeps_padding = {tensor.name for tensor in model.request.tensors if tensor.keeps_padding}
        self.in_use = [_in_use(self.memory, buffer, keeps_padding, hasty) for buffer in self.memory.buffers]
        self.poisoned_bytes = 0
        self._callback = _HOOK(self._on_row)
        library = ctypes.CDLL(str(next(directory.glob("*.so"))))
        ctypes.c_void_p.in_dll(library, "solder_on_layer").value = ctypes.cast(
            self._callback, ctypes.c_void_p
        ).value

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        self._calls: Counter[int] = Counter()
        self.poisoned_bytes = 0
        return self.host.run(inputs)

    def _on_row(self, layer: int, _row: int, _bytes: int) -> None:
        position = self.reports[layer][self._calls[layer]]
        self._calls[layer] += 1
        free = {
            pool: np.ones(arena.size, np.bool_)
            for pool, arena in zip(self.memory.pool_bytes, self.host.arenas, strict=True)
        }
        for buffer, (addresses, firsts, lasts, size) in zip(self.memory.buffers, self.in_use, strict=True):
            for address in addresses[(firsts <= position) & (position < lasts)].tolist():  # type: ignore[operator]
                free[buffer.pool][address : address + size] = False
        for arena, unused in zip(self.host.arenas, free.values(), strict=True):
            arena[unused] = 0xA5 if position % 2 else 0x5A
            self.poisoned_bytes += int(unused.sum())


def _reporting_positions(model: CompiledModel, memory: MemoryMap) -> list[list[int]]:
    """Of each layer the positions in the order after which it calls the hook."""
    positions: list[list[int]] = [[] for _ in model.layers]
    for position, layer in enumerate(memory.order):
        positions[layer].append(position)
    reports = []
    for layer, steps in zip(model.layers, positions, strict=True):  # type: ignore[assignment]
        stage = model.request.stages[layer.index]  # type: ignore[attr-defined]
        grows = bool(stage.state_bytes) or stage.starts
        count = len(layer.results)  # type: ignore[attr-defined]  # of one step, if there are several
        reports.append(steps if grows else steps[: layer.rows] * count)  # type: ignore[attr-defined]
    return reports


def _in_use(
    memory: MemoryMap, buffer: BufferLife, keeps_padding: set[str], hasty: bool
) -> tuple[Array, Array, Array, int]:
    """Addresses of a buffer's rows, and from which step to which each is needed."""
    rows, firsts, lasts = (
        np.asarray(column, np.int64) for column in (buffer.span_rows, buffer.span_firsts, buffer.span_lasts)
    )
    if buffer.kind in _KEPT_AFTER:
        lasts = np.full_like(lasts, len(memory.order) + 1)
    elif buffer.kind not in _KEPT_BEFORE and (buffer.name in keeps_padding or _is_alone(memory, buffer)):
        # Margins are written once: between its first row and its last nothing else lies in such a ring.
        firsts, lasts = np.full_like(firsts, buffer.first_step), np.full_like(lasts, buffer.last_step)
    addresses = buffer.offset + rows % buffer.rows_held * buffer.row_bytes
    return addresses, firsts, lasts - hasty, buffer.row_bytes


def _is_alone(memory: MemoryMap, mine: BufferLife) -> bool:
    """Whether no other buffer lies on any of its bytes while it is in use."""
    end = mine.offset + mine.rows_held * mine.row_bytes
    return not any(
        other.pool == mine.pool
        and other.offset < end
        and mine.offset < other.offset + other.rows_held * other.row_bytes
        and other.first_step <= mine.last_step
        and mine.first_step <= other.last_step
        for other in memory.buffers
        if other.name != mine.name
    )
