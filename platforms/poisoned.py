"""Runs a compiled model on this computer while overwriting all memory that the plan calls free.

The model is built with its layer hook and pauses after each row. Then every byte of the arena that is free at
that moment is overwritten. Data that the plan should have kept is lost at once, and a layer that writes
outside its buffers, such as an accelerator's function, is detected.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aot.errors import CheckError
from aot.ir.types import Array
from aot.plan.model import Stage
from aot.wording import counted
from artifact.memory_map import BufferLife, MemoryMap, map_memory
from codegen.compile import CompiledModel
from platforms.shared_library import HostModel, build

_HOOK = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint32)
_HOOK_C = '#include "solder_model.h"\n\nsolder_layer_hook solder_on_layer;\n'
_Ints = NDArray[np.int64]
_KEPT_BEFORE, _KEPT_AFTER = ("input", "state"), ("output", "state")


class Poisoned:
    """A model whose free memory is poisoned. `hasty` frees each row one step too early, to test the check."""

    def __init__(self, model: CompiledModel, directory: Path, hasty: bool = False) -> None:
        sources = dict(model.sources)
        sources[f"{model.name}.c"] = "#define SOLDER_LAYER_HOOK\n" + sources[f"{model.name}.c"]
        self.model = model
        self.host: HostModel = build({**sources, "hook.c": _HOOK_C}, directory)
        self.memory = map_memory(model.planned.request, model.plan, 0)
        self.reports = _reporting_positions(model, self.memory)
        keeps_padding = {tensor.name for tensor in model.planned.request.tensors if tensor.keeps_padding}
        self.in_use = [_in_use(self.memory, buffer, keeps_padding) for buffer in self.memory.buffers]
        self.hasty = hasty
        self.poisoned_bytes = 0
        self._callback = _HOOK(self._on_row)
        library = ctypes.CDLL(str(next(directory.glob("*.so"))))
        ctypes.c_void_p.in_dll(library, "solder_on_layer").value = ctypes.cast(
            self._callback, ctypes.c_void_p
        ).value

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """Returns the outputs of one sample. Raises CheckError if a layer writes outside its buffers."""
        self._calls: Counter[int] = Counter()
        self._before = -1
        self.poisoned_bytes = 0
        self._outside: CheckError | None = None
        self._poison()
        try:
            found = self.host.run(inputs)
        except RuntimeError:
            if self._outside is None:
                raise
        if self._outside is not None:
            raise self._outside
        return found

    def _on_row(self, layer: int, _row: int, _bytes: int) -> None:
        position = self.reports[layer][self._calls[layer]]
        self._calls[layer] += 1
        for pool, arena in zip(self._poisoned, self.host.arenas, strict=True):
            given = self._used(pool, self._before + 1, position)
            free = self._poisoned[pool] & ~given
            wrong = np.flatnonzero(free & (arena[: len(free)] != self._pattern))
            if len(wrong) and self._outside is None:
                end, name = self._end_before(pool, int(wrong[0]))
                where = f"the first is byte {wrong[0]} of {pool}, {wrong[0] - end} after the end of {name}"
                self._outside = self._error(layer, len(wrong), where)
        broken = sum(self.host.broken_guards())
        if broken and self._outside is None:
            self._outside = self._error(layer, broken, "they are next to the arena")
        self._before = position
        self._poison()

    def _poison(self) -> None:
        """Overwrites memory that is free after the last step and records the pattern."""
        now, self._pattern = self._before, 0xA5 if self._before % 2 else 0x5A
        self._poisoned = {
            pool: ~self._used(pool, now + 1 + self.hasty, now) for pool in self.memory.pool_bytes
        }
        for buffer in self.memory.buffers if now < 0 else ():
            if buffer.kind in _KEPT_BEFORE:  # unread rows are overwritten, too
                end = buffer.offset + buffer.rows_held * buffer.row_bytes
                self._poisoned[buffer.pool][buffer.offset : end] = False
        for unused, arena in zip(self._poisoned.values(), self.host.arenas, strict=True):
            arena[: len(unused)][unused] = self._pattern
            self.poisoned_bytes += int(unused.sum())

    def _used(self, pool: str, first: int, last: int) -> NDArray[np.bool_]:
        """Returns a mask of the pool's bytes in use at any step from `first` to `last`."""
        used = np.zeros(self.memory.pool_bytes[pool], np.bool_)
        for buffer, (addresses, firsts, lasts, size) in zip(self.memory.buffers, self.in_use, strict=True):
            if buffer.pool != pool:
                continue
            for address in addresses[(firsts <= last) & (first <= lasts)].tolist():
                used[address : address + size] = True
        return used

    def _end_before(self, pool: str, place: int) -> tuple[int, str]:
        """Returns the last buffer end at or before `place`, and the buffer's name."""
        ends = [(b.offset + b.rows_held * b.row_bytes, b.name) for b in self.memory.buffers if b.pool == pool]
        return max(((end, name) for end, name in ends if end <= place), default=(0, "nothing"))

    def _error(self, number: int, count: int, where: str) -> CheckError:
        layer = self.model.layers[number]
        whose = f" of the accelerator {layer.device}" if layer.device else ""
        return CheckError(
            f'{layer.op} "{layer.name}"{whose} writes outside its buffers: {counted(count, "byte")}',
            where,
            f"correct {layer.kernel}: it may write only its results, its scratch and its state",
        )


def _reporting_positions(model: CompiledModel, memory: MemoryMap) -> list[list[int]]:
    """Returns for each layer the positions in the run order after which it calls the hook."""
    positions: list[list[int]] = [[] for _ in model.layers]
    for position, layer in enumerate(memory.order):
        positions[layer].append(position)
    reports = []
    for info, steps in zip(model.layers, positions, strict=True):
        stage, count = model.planned.request.stages[info.index], len(info.results)
        # Rows of fill are not reported. A layer with several results reports each of them.
        is_every_step = bool(stage.state_bytes) or stage.starts or _writes_all_over(stage)
        reports.append(steps if is_every_step else steps[: info.rows])
        reports[-1] += steps[-1:] * (count - 1)
    return reports


def _writes_all_over(stage: Stage) -> bool:
    """Returns whether each step writes a part of all rows."""
    first, last = stage.steps[0], stage.steps[-1]
    return len(stage.steps) > 1 and first.writes == last.writes


def _in_use(
    memory: MemoryMap, buffer: BufferLife, keeps_padding: set[str]
) -> tuple[_Ints, _Ints, _Ints, int]:
    """Returns addresses of a buffer's rows, the first and last step that needs each, and the row size."""
    rows, firsts, lasts = (
        np.asarray(column, np.int64) for column in (buffer.span_rows, buffer.span_firsts, buffer.span_lasts)
    )
    if buffer.kind in _KEPT_AFTER:
        lasts = np.full_like(lasts, len(memory.order) + 1)
    elif buffer.kind not in _KEPT_BEFORE and (buffer.name in keeps_padding or _is_alone(memory, buffer)):
        # Padding is written once. From the ring's first row to its last, its memory is not shared.
        firsts, lasts = np.full_like(firsts, buffer.first_step), np.full_like(lasts, buffer.last_step)
    if buffer.kind in _KEPT_BEFORE:
        firsts = np.full_like(firsts, -1)
    addresses = buffer.offset + rows % buffer.rows_held * buffer.row_bytes
    return addresses, firsts, lasts, buffer.row_bytes


def _is_alone(memory: MemoryMap, mine: BufferLife) -> bool:
    """Returns whether no other buffer overlaps this one while it is in use."""
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
