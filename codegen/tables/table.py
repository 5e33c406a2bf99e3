"""A model as a table: the order of its layers' rows, the calls of each layer with pointers, and constants."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from aot.errors import InputError, ModelError
from codegen.c.constants import Constants
from codegen.c.emit import SourceParts
from codegen.c.fills import FillHelper
from codegen.c.kernel_library import SharedKernel
from codegen.c.order import find_period, ordered_parts
from codegen.c.printer import Printer
from codegen.kernels.kernel import WORD
from codegen.loops.constant_reads import place_tables
from codegen.loops.ir import Buffer, Role
from codegen.lower.stages import STREAMED_ROW, Lowered, LoweredStage
from codegen.model import TensorInfo
from codegen.options import CDialect, CompileOptions
from codegen.tables.kernels import PointerLimits, TableKernel, alignment, kernel_id, reads_anywhere
from codegen.tables.replay import Called, CallPath, LayerRunner, Place
from codegen.tables.rule import MOST, Rule, rule_of


def require_tables_possible(options: CompileOptions, constant_space: str) -> None:
    """Raises InputError if tables cannot run the model's kernels."""
    for is_so, what in (
        (bool(constant_space), f"constants of this core must be in {constant_space or 'flash'}"),
        (options.dialect is CDialect.STRICT, "strict C has no table kernels"),
        (options.weights_external, "a table contains its constants, which --weights external separates"),
        (bool(options.constants), "--constants already places them"),
        (options.place, "--place moves constants to RAM, but a table contains them"),
        (options.cores > 1, "a table runs whole kernels, and --cores 2 splits them"),
        (bool(options.accelerators), "accelerators compute layers with their own functions"),
    ):
        if is_so:
            raise InputError(f"--tables is not possible: {what}", hint="omit --tables")


CONSTANTS = 0  # the memory of the table's bytes; arenas are 1, 2, ...
CONSTANTS_ALIGN = 16  # alignment of the first constant
_APART = 8  # alignment of the others
_MOST_LAYERS, _MOST_POINTERS = 128, 32
_WRITTEN = (Role.OUTPUT, Role.STATE, Role.SCRATCH)


@dataclass(frozen=True, slots=True)
class Filling:
    """Fills elements with one value instead of calling a kernel, repeated with a step for several planes."""

    value: bytes  # of one element
    planes: int
    step: int  # bytes
    bytes: int  # of each plane


@dataclass(frozen=True, slots=True)
class Action:
    """A call for the rows of a layer from `first` to before `end`."""

    first: int
    end: int
    kernel: int | Filling  # a kernel's position in the table, or a fill
    rules: tuple[Rule, ...]  # one per pointer


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of the order, and how often it is repeated."""

    first: int
    length: int
    times: int


@dataclass(frozen=True)
class ModelTable:
    kernels: tuple[TableKernel, ...]
    layers: tuple[tuple[Action, ...], ...]
    order: tuple[int, ...]
    segments: tuple[Passage, ...]
    constants: bytes
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]


def make_table(lowered: Lowered, order: Sequence[int], parts: SourceParts) -> ModelTable:
    """Returns the table. Raises ModelError if the model needs features that tables lack."""
    _require_possible(lowered, parts)
    maker = _TableMaker(lowered, order, parts)
    layers = tuple(maker.layer(number) for number in range(len(lowered.stages)))
    entries, segments = folded(order)
    return ModelTable(
        tuple(maker.kernels.values()),
        layers,
        entries,
        segments,
        maker.data,
        tuple(parts.inputs),
        tuple(parts.outputs),
    )


def _require_possible(lowered: Lowered, parts: SourceParts) -> None:
    """Raises ModelError for the first feature that only code has."""
    if parts.states:
        raise _refused("it keeps state between runs")
    if lowered.receiver is not None:
        raise _refused("its input is streamed", hint="omit --stream")
    if len(lowered.stages) > _MOST_LAYERS:
        raise _refused(f"it has {len(lowered.stages)} layers, the limit of a table is {_MOST_LAYERS}")
    for number, stage in enumerate(lowered.stages):
        kernel = stage.kernel
        if kernel.calls is not None or kernel.started is not None:
            raise _refused("a library function computes it", _describe(number, stage))
        if kernel.demand.align > CONSTANTS_ALIGN:
            raise _refused(
                f"its memory must be aligned to {kernel.demand.align} bytes", _describe(number, stage)
            )
        if place_tables(kernel.procs) or any(reads_anywhere(proc) for proc in kernel.procs):
            raise _refused("its read positions are computed at run time", _describe(number, stage))


def _refused(why: str, where: str = "", hint: str = "") -> ModelError:
    more = f"{hint}, or " if hint else ""
    subject = "the layer" if where else "the model"
    return ModelError(
        f"{subject} cannot be part of a table: {why}" if where else f"{subject} cannot be a table: {why}",
        where,
        f"{more}make a cartridge with code: omit --tables",
    )


def _describe(number: int, stage: LoweredStage) -> str:
    origin = f", {stage.node.origin}" if stage.node is not None and stage.node.origin else ""
    return f"layer {number}: {stage.op}{origin}, {stage.kernel.strategy}: {stage.kernel.summary}"


class _TableMaker:
    """Collects kernels in the order of their first use."""

    def __init__(self, lowered: Lowered, order: Sequence[int], parts: SourceParts) -> None:
        self.lowered = lowered
        self.order = order
        self.layers = parts.run.layers
        self.calls = parts.library.calls
        self.printer = Printer(parts.dialect)  # helpers keep their names
        self.kernels: dict[str, TableKernel] = {}
        self.functions = {each.function.name: each.function for each in parts.library.kernels}
        self.data, self.places = _packed(parts.constants)
        accessors = {accessor.name: accessor for accessor in parts.run.accessors}
        self.runner = LayerRunner({**self.places, **_roots(parts)}, accessors)

    def layer(self, number: int) -> tuple[Action, ...]:
        """Returns the actions of a layer, each with its range of rows."""
        rows = self.order.count(number)
        calls = [self.runner.calls(self.layers[number], row) for row in range(rows)]
        paths: list[CallPath] = sorted({path for each in calls for path in each})
        return tuple(action for path in paths for action in self._actions(number, path, calls))

    def _actions(
        self, number: int, path: CallPath, calls: Sequence[Mapping[CallPath, Called]]
    ) -> Iterator[Action]:
        row = 0
        while row < len(calls):
            if path not in calls[row]:
                row += 1
                continue
            end = next((n for n in range(row, len(calls)) if path not in calls[n]), len(calls))
            while (rules := _rules([calls[n][path] for n in range(row, end)])) is None:
                end -= 1
            yield self._action(number, row, end, [calls[n][path] for n in range(row, end)], rules)
            row = end

    def _action(
        self, number: int, row: int, end: int, calls: Sequence[Called], rules: tuple[Rule, ...]
    ) -> Action:
        called = calls[0]
        if called.fill is not None:
            return Action(row, end, _filling(called, called.fill), rules)
        kernel = self._kernel(number, called, rules)
        if kernel.id not in self.kernels:
            self.kernels[kernel.id] = kernel
        return Action(row, end, list(self.kernels).index(kernel.id), rules)

    def _kernel(self, number: int, called: Called, rules: Sequence[Rule]) -> TableKernel:
        stage = self.lowered.stages[number]
        shared, buffers = self._shared(number, called)
        places = iter(rules)
        pointers = []
        for buffer, many in zip(buffers, called.places, strict=True):
            mine = [next(places) for _ in many]
            offsets = [offset for rule in mine for offset in (rule.offset, rule.unit)]
            least = max(buffer.dtype.bytes, stage.kernel.demand.align)
            pointers.append(
                PointerLimits(
                    len(many),
                    self._reach(number, buffer),
                    alignment(offsets, least),
                    buffer.role in _WRITTEN,
                )
            )
        if sum(each.count for each in pointers) > _MOST_POINTERS:
            raise _refused(f"it needs more than {_MOST_POINTERS} pointers", _describe(number, stage))
        name = kernel_id(shared, self.functions, pointers, self.printer)
        return TableKernel(name, called.function, called.shape, tuple(pointers), _describe(number, stage))

    def _shared(self, number: int, called: Called) -> tuple[SharedKernel, tuple[Buffer, ...]]:
        """Returns the function with this layer's buffers, which may differ from those of other layers."""
        procs = self.lowered.stages[number].kernel.procs
        for shared, proc in zip(self.calls[number], procs, strict=True):
            if shared.name == called.function and dict(shared.numbers) == dict(called.shape):
                own = {param.name: param for each in (*procs, proc) for param in each.params}
                return shared, tuple(own[param.name] for param in shared.params)
        raise AssertionError(f"layer {number} calls {called.function}, which is not a separate kernel")

    def _reach(self, number: int, buffer: Buffer) -> int:
        """Returns the bytes that the kernel may access through a pointer: a row with padding and slack."""
        stage = self.lowered.stages[number]
        kernel, own = stage.kernel, buffer.elements * buffer.dtype.bytes
        if buffer.role is Role.CONSTANT:
            each = kernel.row_tables.get(buffer.name)
            array = kernel.constants[buffer.name]
            return array.nbytes if each is None else each * array.itemsize
        if buffer.role is not Role.ROWS or kernel.whole:
            return own
        readings = {p.name: r for p, r in zip(kernel.row_params, stage.reads, strict=True)}
        reading = readings[buffer.name]
        if reading.tensor == STREAMED_ROW:
            return own
        return max(own, (reading.view or self.lowered.tensors[reading.tensor].format).row_bytes)


def _rules(calls: Sequence[Called]) -> tuple[Rule, ...] | None:
    """Returns the rules of all pointers, or None if the calls are not a regular sequence."""
    first = calls[0]
    alike = (first.function, first.numbers, first.shape, [len(each) for each in first.places])
    for each in calls:
        if (each.function, each.numbers, each.shape, [len(many) for many in each.places]) != alike:
            return None
    flat = [[place for many in each.places for place in many] for each in calls]
    found = [rule_of(column) for column in zip(*flat, strict=True)]
    rules = tuple(rule for rule in found if rule is not None)
    return rules if len(rules) == len(found) else None


def _filling(called: Called, fill: FillHelper) -> Filling:
    size = called.places[0][0].size
    *numbers, value = called.numbers
    planes, step, elements = numbers if fill.is_between else (1, 0, *numbers)
    data = (
        struct.pack("<f", value)
        if isinstance(value, float)
        else int(value).to_bytes(size, "little", signed=value < 0)
    )
    return Filling(data, int(planes), int(step) * size, int(elements) * size)


def _packed(constants: Constants) -> tuple[bytes, dict[str, Place]]:
    """Returns all constants in one block, and the offset of each."""
    data, places = bytearray(), {}
    for name, array in constants.arrays.items():
        apart = max(_APART, constants.aligns.get(name, WORD))
        data += bytes(-len(data) % apart)
        places[name] = Place(CONSTANTS, len(data), array.itemsize)
        data += array.astype(array.dtype.newbyteorder("<")).tobytes()
    data += bytes(-len(data) % _APART)
    return bytes(data), places


def _roots(parts: SourceParts) -> dict[str, Place]:
    """Returns arenas, inputs and outputs by their names in a layer."""
    found = {
        f"run->{arena.name}": Place(number, 0, 1) for number, arena in enumerate(parts.arenas, CONSTANTS + 1)
    }
    for side, tensors in (("in", parts.inputs), ("out", parts.outputs)):
        for each in tensors:
            place = Place(CONSTANTS + 1 + each.arena, each.arena_offset, each.type.dtype.bytes)
            found[f"run->{side}->{each.c_name}"] = place
    return found


def folded(order: Sequence[int]) -> tuple[tuple[int, ...], tuple[Passage, ...]]:
    """Returns the order with each period stored once: the entries before it, the period, those after it."""
    steps: list[int] = []
    segments: list[Passage] = []
    for part in ordered_parts(order):
        period = find_period(part)
        if period is None:
            cuts = [(part, 1)]
        else:
            end = period.first + period.length
            cuts = [
                (part[: period.first], 1),
                (part[period.first : end], period.count),
                (part[end + period.saved :], 1),
            ]
        for cut, times in cuts:
            if cut and segments and times == segments[-1].times == 1:
                last = segments.pop()
                segments.append(Passage(last.first, last.length + len(cut), 1))
            elif cut:
                segments.append(Passage(len(steps), len(cut), times))
            steps += cut
    if len(steps) > MOST:
        raise _refused(f"its order has {len(steps):,} steps, the limit of a table is {MOST:,}")
    return tuple(steps), tuple(segments)
