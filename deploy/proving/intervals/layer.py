"""Analyzes all steps of a layer: inputs have any value of their type, constants are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from aot.ir.types import Array, DType
from codegen.kernels.kernel import Kernel
from codegen.loops.ir import Buffer, Proc, Role
from codegen.model import LayerCode
from deploy.proving.intervals.cells import Cells, Hull, Interval, Notes, limits_of
from deploy.proving.intervals.program import IntervalProgram


@dataclass(frozen=True, slots=True)
class WalkedLayer:
    """The range of a layer's sums over all inputs."""

    least: int
    greatest: int
    spans: frozenset[int]  # spans of sums or partial sums
    bits: int  # width of the widest sums; 0: no integer sums
    leaves: tuple[str, ...]  # a sentence for each possible overflow

    @property
    def widest(self) -> int:
        return max(self.spans, default=0)


def walked_layer(code: LayerCode) -> WalkedLayer | None:
    """Analyzes a layer, or returns None if it calls a function without loops."""
    kernel = code.kernel
    if kernel.calls is not None or kernel.started is not None:
        return None
    notes, hulls = Notes(), list[Hull]()
    programs = {id(proc): IntervalProgram(proc, notes) for proc in kernel.procs}
    kept = dict(_kept(kernel, hulls))
    for proc, step in _calls(kernel, code.steps):
        given = [_cells(param, step, code, kept, hulls) for param in proc.params]
        programs[id(proc)].run(given)
    hulls += [hull for program in programs.values() for hull in program.hulls]
    sums = [hull for hull in hulls if hull.is_sum and hull.limits is not None]
    bits = max((_bits(hull.limits) for hull in sums), default=0)
    return WalkedLayer(
        min((hull.least for hull in sums), default=0),
        max((hull.greatest for hull in sums), default=0),
        frozenset().union(*(hull.spans for hull in sums)),
        bits,
        tuple(notes.sentences),
    )


def _bits(limits: Interval) -> int:
    return 0 if limits is None else (limits[1] - limits[0]).bit_length()


def _calls(kernel: Kernel, steps: int) -> Iterator[tuple[Proc, int]]:
    """Yields the procs in run order. Steps that differ only in their input rows occur once."""
    if kernel.accumulation is not None:
        yield kernel.accumulation.start, 0
        yield from ((kernel.proc, row) for row in range(kernel.accumulation.rows))
        yield kernel.accumulation.finish, 0
        return
    if kernel.carried is not None:
        yield kernel.carried.start, 0
    yield from ((kernel.proc, step) for step in range(steps if kernel.row_tables else 1))


def _kept(kernel: Kernel, hulls: list[Hull]) -> Iterator[tuple[str, Cells]]:
    """Yields state kept between steps: growing sums, or other state with arbitrary values."""
    for proc in kernel.procs:
        for param in proc.params:
            if param.role is Role.STATE:
                made = _anything(param, param.elements, hulls)
                made.hull.is_sum = kernel.accumulation is not None
                yield param.name, made


def _cells(param: Buffer, step: int, code: LayerCode, kept: Mapping[str, Cells], hulls: list[Hull]) -> Cells:
    kernel = code.kernel
    if param.role is Role.CONSTANT:
        return _constant(param, _part(kernel, param.name, step))
    if param.role is Role.STATE:
        if kernel.carried is not None:
            kept[param.name].at[:] = [limits_of(param.dtype)] * len(kept[param.name].at)
        return kept[param.name]
    if param.role is Role.ROWS:
        read = code.reads[param.name]
        return _all(param, read.elements, _with(limits_of(read.type.dtype), read.fill))
    return _anything(param, param.elements, hulls)


def _part(kernel: Kernel, name: str, step: int) -> Array:
    """Returns a constant, or the part of it that belongs to the step."""
    data, each, cycle = kernel.constants[name], kernel.row_tables.get(name), kernel.row_cycles.get(name)
    if each is None:
        return data.reshape(-1)
    return data.reshape(-1)[(step if cycle is None else cycle.of(step)) * each :]


def _with(limits: Interval, value: int) -> Interval:
    return None if limits is None else (min(limits[0], value), max(limits[1], value))


def _constant(param: Buffer, data: Array) -> Cells:
    if param.dtype is DType.F32:
        return _all(param, data.size, None)
    return Cells([(int(each), int(each)) for each in data.tolist()], Hull(param.name, limits_of(param.dtype)))


def _all(param: Buffer, elements: int, value: Interval) -> Cells:
    return Cells([value] * elements, Hull(param.name, limits_of(param.dtype)))


def _anything(param: Buffer, elements: int, hulls: list[Hull]) -> Cells:
    made = _all(param, elements, limits_of(param.dtype))
    hulls.append(made.hull)
    return made
