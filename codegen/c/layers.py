"""The C code of a run: an accessor for each tensor's rows, a function for each layer, the order of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from aot.ir.types import DType, TensorType
from aot.plan.model import Plan, PlannedBuffer
from codegen.c.arenas import Arena
from codegen.c.constants import Constants
from codegen.c.fills import filled_padding, filled_row
from codegen.c.kernel_function import HALF_PARAMETER
from codegen.c.kernel_library import SharedKernel
from codegen.c.layer_call import Operands, layer_call
from codegen.c.names import comment_text, numbered, without_position
from codegen.c.order import LayerCalls, Order, counter_type, run_order, streamed_order
from codegen.c.row_pointers import ROW, row_in_cycle
from codegen.c.tensor_rows import ROW_PARAMETER, RUN, TensorRows, pointer_to
from codegen.c.tree import (
    CastTo,
    Define,
    DefinePointers,
    Do,
    Expr,
    FunctionCall,
    FunctionDefinition,
    If,
    Infix,
    Name,
    Number,
    Return,
    Stmt,
    Subscript,
    TypedName,
    plus,
    times,
    unsigned,
)
from codegen.c.tree_walk import uses, walk
from codegen.formats import geometry, storage_dtype
from codegen.kernels.kernel import Kernel, SpreadResult
from codegen.loops.ir import Buffer, Role
from codegen.lower.outside_rows import windows
from codegen.lower.stages import STREAMED_ROW, Lowered, LoweredStage, LoweredTensor, Result

BOTH_CORES = "solder_on_both_cores"  # of solder_cores.h
HOOK = "layer_wrote"  # reports each row to the runtime
_Y = Name("y")  # a layer's output
_KINDS = ("state", "scratch")  # of a stage's buffers
_CONTEXT = "context"  # the run, as passed to the other core


@dataclass(frozen=True)
class RunCode:
    accessors: tuple[FunctionDefinition, ...]
    layers: tuple[FunctionDefinition, ...]
    order: Order
    stream: StreamInfo | None
    halves: Mapping[int, FunctionDefinition] = field(default_factory=dict)  # of layers on two cores
    numbers: tuple[str, ...] = ()  # the constants in C that are passed to the runtime's hook

    @property
    def functions(self) -> tuple[FunctionDefinition, ...]:
        """Returns the functions of all layers, each after the function that both cores call for it."""
        halved = [
            (self.halves[n], layer) if n in self.halves else (layer,) for n, layer in enumerate(self.layers)
        ]
        return tuple(function for each in halved for function in each)


@dataclass(frozen=True)
class StreamInfo:
    """The numbers of a streamed input for the header."""

    rows: int
    row_elements: int
    layers: int
    counter: str  # C type of a layer's row counter


class RunMaker:
    """Creates the layers of one model, with names that are unique among them."""

    def __init__(
        self,
        lowered: Lowered,
        plan: Plan,
        calls: Sequence[Sequence[SharedKernel]],
        constants: Constants,
        names: Mapping[str, str],
        model: str,
        arenas: Mapping[str, Arena],
        labels: Sequence[str],
        functions: Sequence[str],
    ) -> None:
        self.lowered = lowered
        self.plan = plan
        self.calls = calls
        self.constants = constants
        self.rows = TensorRows(
            lowered.tensors, plan, names, arenas, constants.outside, _offsets(lowered, names, labels)
        )
        self.model = model
        self.functions = functions
        self.numbers = tuple(f"LAYER_{label.upper()}" for label in labels)
        self.steps = Counter(plan.order)

    def make(self) -> RunCode:
        stages = enumerate(self.lowered.stages)
        halves = {i: self._half(i, stage) for i, stage in stages if stage.kernel.in_halves}
        layers = tuple(self._layer(i) for i in range(len(self.lowered.stages)))
        every = (*layers, *halves.values())
        called = {node.function for node in walk(every) if isinstance(node, FunctionCall)}
        rowless = frozenset(i for i, layer in enumerate(layers) if ROW_PARAMETER not in layer.params)
        used = tuple(accessor for accessor in self.rows.accessors() if accessor.name in called)
        return RunCode(used, layers, self._order(rowless), self._stream(), halves, self.numbers)

    def _stream(self) -> StreamInfo | None:
        if self.lowered.receiver is None:
            return None
        g = geometry(self._received(self.lowered.receiver).type)
        return StreamInfo(
            g.rows, g.width * g.channels, len(self.lowered.stages), counter_type(self.plan.order)
        )

    def _order(self, rowless: frozenset[int]) -> Order:
        receiver = self.lowered.receiver
        if receiver is None:
            return run_order(self.plan.order, LayerCalls(self.functions, rowless))
        rows = self._received(receiver).image_rows
        layers = LayerCalls(self.functions, rowless)
        return streamed_order(self.plan.order, layers, receiver, rows, self.model)

    def _received(self, receiver: int) -> LoweredTensor:
        """Returns the tensor that receives the rows of a streamed input."""
        return self.lowered.tensors[self.lowered.stages[receiver].result.tensor]

    def _layer(self, index: int) -> FunctionDefinition:
        stage = self.lowered.stages[index]
        body = self._body(index, stage)
        return FunctionDefinition(
            kind="static LAYER void",
            name=self.functions[index],
            params=(RUN, ROW_PARAMETER) if uses(body, ROW.name) else (RUN,),
            body=body,
            comment=f"{self.title(stage)}\n{self._reason(stage)}",
        )

    def _body(self, index: int, stage: LoweredStage) -> tuple[Stmt, ...]:
        if stage.kernel.in_halves:
            return self._shared_body(index, stage)
        grows = stage.kernel.accumulation is not None
        return self._growing_body(index, stage) if grows else self._row_body(index, stage)

    def _shared_body(self, index: int, stage: LoweredStage) -> tuple[Stmt, ...]:
        """Returns the first core's part of a step on two cores: padding and the hand-over."""
        pointer, *around = self._output(stage)
        rows = self._written_rows(stage)
        takes_row = self.steps[index] > 1 or uses(rows, ROW.name)
        both = FunctionCall(
            BOTH_CORES, (Name(self._half_name(index)), Name("run"), ROW if takes_row else unsigned(0))
        )
        wrote = self._told(index, stage, rows)
        return (*([pointer] if uses(tuple(around), _Y.name) else []), *around, Do(both), *wrote)

    def _half(self, index: int, stage: LoweredStage) -> FunctionDefinition:
        """Returns the function that each core calls for its half of a step."""
        *_, kernel = self.calls[index]
        pointer, *_ = self._output(stage)
        body = (pointer, *self._call(index, stage, kernel))
        context = Define(TypedName(RUN.c_type, RUN.name), Name(_CONTEXT))
        return FunctionDefinition(
            kind="static LAYER void",
            name=self._half_name(index),
            params=(TypedName("const void *", _CONTEXT), ROW_PARAMETER, HALF_PARAMETER),
            body=(context, *(() if uses(body, ROW.name) else (Do(CastTo("void", ROW)),)), *body),
            comment=f"Half of a step of {self.functions[index]}.",
        )

    def _half_name(self, index: int) -> str:
        return f"{self.functions[index]}_half"

    def _row_body(self, index: int, stage: LoweredStage) -> tuple[Stmt, ...]:
        *_, kernel = self.calls[index]
        wrote = self._told(index, stage, _written(stage.kernel.rows_per_step))
        beside = list(zip(_outputs(stage.kernel)[1:], stage.others, strict=True))
        wrote += [self._wrote(index, other, other.image_rows, Name(name)) for name, other in beside]
        before = (*self._results(stage), *self._carried(index, stage), *self._started(index, stage))
        return (*before, *self._call(index, stage, kernel), *wrote)

    def _results(self, stage: LoweredStage) -> list[Stmt]:
        """Returns the pointers to a step's results. A device gets whole tensors in every step."""
        if stage.kernel.started is None and not stage.others:
            return self._output(stage)
        return [
            Define(TypedName(f"{self._c_type(result)} *const", name), self.rows.written(result, None, 0))
            for name, result in zip(_outputs(stage.kernel), stage.results, strict=True)
        ]

    def _carried(self, index: int, stage: LoweredStage) -> Iterator[Stmt]:
        """Yields the code that passes the state of the previous step; the first step initializes it."""
        carried = stage.kernel.carried
        if carried is None:
            return
        c_type, place = carried.state.dtype.c_name, self.plan.buffers[f"{stage.name}.state"]
        start = self._call(index, stage, self.calls[index][0])
        yield Define(
            TypedName(f"{c_type} *const", carried.state.name), pointer_to(c_type, self.rows.place(place))
        )
        yield from start if self.steps[index] == 1 else (If(Infix("==", ROW, Number(0)), start),)

    def _started(self, index: int, stage: LoweredStage) -> Iterator[Stmt]:
        """Yields code that starts a device in the first step and returns. The second step waits for it."""
        started = stage.kernel.started
        if started is None:
            return
        kept: Expr = _Y
        for state in (param for param in started.proc.params if param.role is Role.STATE):
            place, kept = self.plan.buffers[f"{stage.name}.state"], Name(state.name)
            c_type = state.dtype.c_name
            yield Define(
                TypedName(f"{c_type} *const", state.name), pointer_to(c_type, self.rows.place(place))
            )
        start = self._call(index, stage, self.calls[index][0])
        hook = self._wrote_nothing(index, kept)
        yield If(Infix("==", ROW, Number(0)), (*start, hook, Return()), comment="the device is started")

    def _growing_body(self, index: int, stage: LoweredStage) -> tuple[Stmt, ...]:
        """Returns a body that initializes sums at the first input row and stores results after the last."""
        out, accumulation = stage.result, stage.kernel.accumulation
        assert accumulation is not None
        start, add, finish = self.calls[index]
        c_type = accumulation.dtype.c_name
        place = self.plan.buffers[f"{stage.name}.state"]
        y = self.rows.written(out, None, out.format.top)
        last: tuple[Stmt, ...] = (
            Define(TypedName(f"{self._c_type(out)} *const", "y"), y),
            *self._around_the_only_row(out),
            *self._call(index, stage, finish),
            self._wrote(index, out),
        )
        not_last = self._wrote_nothing(index, Name("sums"))
        is_last = Infix("==", ROW, unsigned(accumulation.rows - 1))
        return (
            Define(TypedName(f"{c_type} *const", "sums"), pointer_to(c_type, self.rows.place(place))),
            If(Infix("==", ROW, Number(0)), self._call(index, stage, start)),
            *self._call(index, stage, add),
            If(is_last, last, (not_last,)),
        )

    def _told(self, index: int, stage: LoweredStage, rows: Sequence[Expr]) -> list[Stmt]:
        """Reports the rows that a step has written to hooks of the runtime."""
        out, spread = stage.result, stage.kernel.spread
        if spread is None:
            return [self._wrote(index, out, out.image_rows if stage.kernel.whole else 1, row) for row in rows]
        every = self._wrote(index, out, out.image_rows, self.rows.written(out, None, 0))
        not_yet = self._wrote_nothing(index, rows[0])
        return [If(Infix("==", ROW, unsigned(spread.steps - 1)), (every,), (not_yet,))]

    def _wrote(self, index: int, out: Result, rows: int = 1, y: Expr = _Y) -> Stmt:
        written = Number(out.format.row_bytes * rows)
        return Do(FunctionCall(HOOK, (Name(self.numbers[index]), y, written)))

    def _wrote_nothing(self, index: int, y: Expr) -> Stmt:
        return Do(FunctionCall(HOOK, (Name(self.numbers[index]), y, Number(0))), "no row yet")

    def _c_type(self, out: Result) -> str:
        return storage_dtype(out.type, out.format).c_name

    def _call(self, index: int, stage: LoweredStage, called: SharedKernel) -> tuple[Stmt, ...]:
        by_param = {p.name: r for p, r in zip(stage.kernel.row_params, stage.reads, strict=True)}

        def row(param: Buffer, number: int) -> Expr:
            reading = by_param[param.name]
            if stage.kernel.started is not None:
                reading = replace(reading, access=replace(reading.access, stride=0))
            return self.rows.pointer(param.name, reading, number, windows(stage, reading))

        operands = Operands(
            row=row,
            constant=partial(self._constant, index, stage),
            tables=lambda param: self.rows.given_rows(param.name, by_param[param.name]),
        )
        return (*self._scratch(stage, called), *layer_call(stage.kernel, called, operands))

    def _scratch(self, stage: LoweredStage, called: SharedKernel) -> Iterator[Stmt]:
        """Yields the scratch arrays of the kernel."""
        for param in (p for p in called.params if p.role is Role.SCRATCH):
            place = plus(
                self.rows.place(self.plan.buffers[f"{stage.name}.scratch"]), stage.kernel.scratch[param.name]
            )
            c_type = param.dtype.c_name
            yield Define(TypedName(f"{c_type} *const", param.name), pointer_to(c_type, place))

    def _constant(self, index: int, stage: LoweredStage, param: str) -> Expr:
        array = Name(self.constants.names[index][param])
        per_row, cycle = stage.kernel.row_tables.get(param), stage.kernel.row_cycles.get(param)
        if per_row is None:
            return array
        row = ROW if cycle is None else row_in_cycle(cycle, self.steps[index])
        return Infix("+", array, times(row, per_row))

    def title(self, stage: LoweredStage) -> str:
        origin = without_position(stage.node.origin) if stage.node is not None else ""
        return comment_text(f"{stage.op} {self.shapes(stage)}{', ' if origin else ''}{origin}")

    def _reason(self, stage: LoweredStage) -> str:
        """Describes why the layer has this kernel."""
        return comment_text(f"{stage.kernel.strategy}: {stage.kernel.why}.")

    def shapes(self, stage: LoweredStage) -> str:
        made = ", ".join(_shape(result.type) for result in stage.results)
        if not stage.reads or stage.reads[0].tensor == STREAMED_ROW:
            return made
        source = self.lowered.tensors[stage.reads[0].tensor]
        return f"{_shape(source.type)} -> {made}"

    def _output(self, stage: LoweredStage) -> list[Stmt]:
        """Returns the pointer to the written row, or to each of several, and the code that fills padding."""
        out, together = stage.result, stage.kernel.rows_per_step
        fmt, c_type, first = out.format, f"{self._c_type(out)} *const", _first_row(together)
        rows = self._written_rows(stage)
        body: list[Stmt] = [
            Define(TypedName(c_type, _Y.name), rows[0])
            if together == 1
            else DefinePointers(TypedName(c_type, _Y.name, together), rows)
        ]
        is_ring = self._is_own_ring(out)
        if is_ring:
            held = self.plan.buffers[out.tensor].rows_held
            whole = (filled_row(fmt, self.rows.written(out, None, 0), held),)
            body.append(If(Infix("==", ROW, Number(0)), whole, comment="above the image and around all rows"))
        elif fmt.top:
            above = self._filled(out, None, range(fmt.top))
            body.append(If(Infix("==", ROW, Number(0)), above, comment="the rows above the image"))
        if fmt.bottom:
            below = self._filled(out, first, range(fmt.top, fmt.top + fmt.bottom))
            is_below = Infix("==", ROW, unsigned(out.image_rows // together))
            body.append(If(is_below, (*below, Return()), comment="the rows below the image"))
        return body if is_ring else [*body, *self._padding_in_time(out, together)]

    def _is_own_ring(self, out: Result) -> bool:
        """Returns True for a padded ring with one writer and no overlapping buffer: one fill suffices."""
        tensor, held = self.lowered.tensors[out.tensor], self.plan.buffers[out.tensor].rows_held
        writers = sum(out.tensor in stage.writes for stage in self.lowered.stages)
        is_ring = held < tensor.rows and writers == 1 and out.rows == tensor.rows
        return is_ring and bool(self._padding(out)) and not self._is_disturbed(out.tensor)

    def _written_rows(self, stage: LoweredStage) -> tuple[Expr, ...]:
        out, together, spread = stage.result, stage.kernel.rows_per_step, stage.kernel.spread
        if spread is not None:
            return (Infix("+", self.rows.written(out, None, 0), _first_element(spread)),)
        first = _first_row(together)
        return tuple(self.rows.written(out, first, out.format.top + row) for row in range(together))

    def _filled(self, out: Result, base: Expr | None, rows: Iterable[int]) -> tuple[Stmt, ...]:
        return tuple(filled_row(out.format, self.rows.written(out, base, row)) for row in rows)

    def _around_the_only_row(self, out: Result) -> tuple[Stmt, ...]:
        """Returns code that fills rows above and below, and padding, of a result that is written once."""
        others = [r for r in range(out.rows) if r != out.format.top]
        return (*self._filled(out, None, others), *self._padding(out))

    def _padding(self, out: Result, y: Expr = _Y) -> tuple[Stmt, ...]:
        """Returns code that fills the padding. 32-bit integers only have slack, which needs no value."""
        is_filled = out.type.dtype in (DType.I8, DType.I16, DType.U8, DType.F32)
        return filled_padding(out.format, y) if is_filled else ()

    def _padding_in_time(self, out: Result, together: int) -> tuple[Stmt, ...]:
        """Returns code that fills padding at its memory's first use, or every time if others use it."""
        fills = tuple(fill for y in _written(together) for fill in self._padding(out, y))
        held = self.plan.buffers[out.tensor].rows_held
        if not fills or held >= self.lowered.tensors[out.tensor].rows or self._is_disturbed(out.tensor):
            return fills
        last = plus(_first_row(together), out.first + out.format.top + together - 1)
        is_first = Infix("<", last, unsigned(held))
        return (If(is_first, fills, comment="the first use of this memory"),)

    def _is_disturbed(self, tensor: str) -> bool:
        """Returns True if another buffer uses the same bytes between the tensor's first row and its last."""
        mine = self.plan.buffers[tensor]
        return any(_meet(mine, other) for name, other in self.plan.buffers.items() if name != tensor)


def _offsets(lowered: Lowered, names: Mapping[str, str], labels: Sequence[str]) -> Mapping[str, str]:
    """Maps each planned buffer to the constant of its offset: tensors, states and scratch of layers."""
    layers = list(zip(lowered.stages, labels, strict=True))
    words = {tensor: names[tensor] for tensor in lowered.tensors}
    words |= {f"{stage.name}.{kind}": f"{label}_{kind}" for stage, label in layers for kind in _KINDS}
    return {buffer: f"AT_{word.upper()}" for buffer, word in numbered(words, set()).items()}


def _first_row(together: int) -> Expr:
    """Returns the first row of the result that a step writes."""
    return ROW if together == 1 else times(ROW, together)


def _first_element(spread: SpreadResult) -> Expr:
    """Returns the element of the result at which the part of a step begins."""
    if spread.group == 1:
        return times(ROW, spread.stride)
    group, step = (Infix(operator, ROW, unsigned(spread.group)) for operator in "/%")
    return Infix("+", times(group, spread.stride), times(step, spread.within))


def _written(together: int) -> tuple[Expr, ...]:
    """Returns the pointers to the rows that a step writes."""
    return (_Y,) if together == 1 else tuple(Subscript(_Y, Number(row)) for row in range(together))


def _outputs(kernel: Kernel) -> tuple[str, ...]:
    """Returns the parameters of a call that are results; the first is y."""
    return tuple(param.name for param in kernel.proc.params if param.role is Role.OUTPUT)


def _meet(one: PlannedBuffer, other: PlannedBuffer) -> bool:
    apart = one.offset + one.bytes <= other.offset or other.offset + other.bytes <= one.offset
    before = one.last_step < other.first_step or other.last_step < one.first_step
    return one.pool == other.pool and not apart and not before


def _shape(tensor: TensorType) -> str:
    g = geometry(tensor)
    return f"{g.rows}x{g.width}x{g.channels}"
