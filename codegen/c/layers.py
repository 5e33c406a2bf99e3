"""The C code of a run: an accessor for each tensor's rows, a function for each layer, the order of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from aot.ir.types import DType, TensorType
from aot.plan.model import Plan, PlannedBuffer
from codegen.c.arenas import Arena
from codegen.c.constants import Constants
from codegen.c.fills import filled_padding, filled_row
from codegen.c.kernel_function import HALF_PARAMETER
from codegen.c.kernel_library import KernelLibrary, Operands, SharedKernel, layer_call
from codegen.c.names import CNames, comment_text, layer_functions, numbered, without_position
from codegen.c.order import LayerCalls, Order, counter_type, run_order, streamed_order
from codegen.c.tensor_rows import ROW, ROW_PARAMETER, RUN, TensorRows, pointer_to, row_in_cycle
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
from codegen.lower.stage_rows import windows
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
        library: KernelLibrary,
        constants: Constants,
        arenas: Mapping[str, Arena],
        names: CNames,
    ) -> None:
        self.lowered = lowered
        self.plan = plan
        self.library = library
        self.constants = constants
        offsets = _offsets(lowered, names)
        self.rows = TensorRows(lowered.tensors, plan, names.tensors, arenas, constants.outside, offsets)
        self.model = names.model
        self.functions = layer_functions(lowered.stages, names.layers, library.names)
        self.numbers = tuple(f"LAYER_{label.upper()}" for label in names.layers)
        self.steps = Counter(plan.order)

    def make(self) -> RunCode:
        makers = [_LayerMaker(self, index) for index in range(len(self.lowered.stages))]
        halves = {i: maker.half() for i, maker in enumerate(makers) if maker.kernel.in_halves}
        layers = tuple(maker.function() for maker in makers)
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


class _LayerMaker:
    """Creates the functions of one layer."""

    def __init__(self, run: RunMaker, index: int) -> None:
        self.lowered, self.plan, self.rows = run.lowered, run.plan, run.rows
        self.stage = run.lowered.stages[index]
        self.kernel = self.stage.kernel
        self.out = self.stage.result
        self.calls = run.library.calls[index]
        self.constants = run.constants.names[index]
        self.name = run.functions[index]
        self.number = run.numbers[index]
        self.steps = run.steps[index]

    def function(self) -> FunctionDefinition:
        body = self._statements()
        origin = without_position(self.stage.node.origin) if self.stage.node is not None else ""
        title = f"{self.stage.op} {shapes_text(self.stage, self.lowered)}{', ' if origin else ''}{origin}"
        return FunctionDefinition(
            kind="static LAYER void",
            name=self.name,
            params=(RUN, ROW_PARAMETER) if uses(body, ROW.name) else (RUN,),
            body=body,
            comment=f"{comment_text(title)}\n{comment_text(f'{self.kernel.strategy}: {self.kernel.why}.')}",
        )

    def _statements(self) -> tuple[Stmt, ...]:
        if self.kernel.in_halves:
            return self._shared_body()
        grows = self.kernel.accumulation is not None
        return self._growing_body() if grows else self._row_body()

    def _shared_body(self) -> tuple[Stmt, ...]:
        """Returns the first core's part of a step on two cores: padding and the hand-over."""
        pointer, *around = self._output()
        rows = self._written_rows()
        takes_row = self.steps > 1 or uses(rows, ROW.name)
        both = FunctionCall(
            BOTH_CORES, (Name(self._half_name()), Name("run"), ROW if takes_row else unsigned(0))
        )
        wrote = self._reports(rows)
        return (*([pointer] if uses(tuple(around), _Y.name) else []), *around, Do(both), *wrote)

    def half(self) -> FunctionDefinition:
        """Returns the function that each core calls for its half of a step."""
        *_, kernel = self.calls
        pointer, *_ = self._output()
        body = (pointer, *self._call(kernel))
        context = Define(TypedName(RUN.c_type, RUN.name), Name(_CONTEXT))
        return FunctionDefinition(
            kind="static LAYER void",
            name=self._half_name(),
            params=(TypedName("const void *", _CONTEXT), ROW_PARAMETER, HALF_PARAMETER),
            body=(context, *(() if uses(body, ROW.name) else (Do(CastTo("void", ROW)),)), *body),
            comment=f"Half of a step of {self.name}.",
        )

    def _half_name(self) -> str:
        return f"{self.name}_half"

    def _row_body(self) -> tuple[Stmt, ...]:
        *_, kernel = self.calls
        wrote = self._reports(_written(self.kernel.rows_per_step))
        others = list(zip(_outputs(self.kernel)[1:], self.stage.others, strict=True))
        wrote += [self._report(other, other.image_rows, Name(name)) for name, other in others]
        before = (*self._results(), *self._carried(), *self._started())
        return (*before, *self._call(kernel), *wrote)

    def _results(self) -> list[Stmt]:
        """Returns the pointers to a step's results. A device gets whole tensors in every step."""
        if self.kernel.started is None and not self.stage.others:
            return self._output()
        return [
            Define(TypedName(f"{_c_type(result)} *const", name), self.rows.written(result, None, 0))
            for name, result in zip(_outputs(self.kernel), self.stage.results, strict=True)
        ]

    def _carried(self) -> Iterator[Stmt]:
        """Yields the code that passes the state of the previous step; the first step initializes it."""
        carried = self.kernel.carried
        if carried is None:
            return
        start = self._call(self.calls[0])
        yield _pointer(carried.state.name, carried.state.dtype, self._place("state"))
        yield from start if self.steps == 1 else (If(Infix("==", ROW, Number(0)), start),)

    def _started(self) -> Iterator[Stmt]:
        """Yields code that starts a device in the first step and returns. The second step waits for it."""
        started = self.kernel.started
        if started is None:
            return
        kept: Expr = _Y
        for state in (param for param in started.proc.params if param.role is Role.STATE):
            kept = Name(state.name)
            yield _pointer(state.name, state.dtype, self._place("state"))
        start = self._call(self.calls[0])
        hook = self._reports_nothing(kept)
        yield If(Infix("==", ROW, Number(0)), (*start, hook, Return()), comment="the device is started")

    def _growing_body(self) -> tuple[Stmt, ...]:
        """Returns a body that initializes sums at the first input row and stores results after the last."""
        out, accumulation = self.out, self.kernel.accumulation
        assert accumulation is not None
        start, add, finish = self.calls
        y = self.rows.written(out, None, out.format.top)
        last: tuple[Stmt, ...] = (
            Define(TypedName(f"{_c_type(out)} *const", "y"), y),
            *self._around_the_only_row(),
            *self._call(finish),
            self._report(out),
        )
        not_last = self._reports_nothing(Name("sums"))
        is_last = Infix("==", ROW, unsigned(accumulation.rows - 1))
        return (
            _pointer("sums", accumulation.dtype, self._place("state")),
            If(Infix("==", ROW, Number(0)), self._call(start)),
            *self._call(add),
            If(is_last, last, (not_last,)),
        )

    def _reports(self, rows: Sequence[Expr]) -> list[Stmt]:
        """Reports the rows that a step has written to hooks of the runtime."""
        out, spread = self.out, self.kernel.spread
        if spread is None:
            return [self._report(out, out.image_rows if self.kernel.whole else 1, row) for row in rows]
        every = self._report(out, out.image_rows, self.rows.written(out, None, 0))
        not_yet = self._reports_nothing(rows[0])
        return [If(Infix("==", ROW, unsigned(spread.steps - 1)), (every,), (not_yet,))]

    def _report(self, out: Result, rows: int = 1, y: Expr = _Y) -> Stmt:
        written = Number(out.format.row_bytes * rows)
        return Do(FunctionCall(HOOK, (Name(self.number), y, written)))

    def _reports_nothing(self, y: Expr) -> Stmt:
        return Do(FunctionCall(HOOK, (Name(self.number), y, Number(0))), "no row yet")

    def _call(self, called: SharedKernel) -> tuple[Stmt, ...]:
        by_param = {p.name: r for p, r in zip(self.kernel.row_params, self.stage.reads, strict=True)}

        def row(param: Buffer, number: int) -> Expr:
            reading = by_param[param.name]
            if self.kernel.started is not None:
                reading = replace(reading, access=replace(reading.access, stride=0))
            return self.rows.pointer(param.name, reading, number, windows(self.stage, reading))

        operands = Operands(
            row=row,
            constant=self._constant,
            tables=lambda param: self.rows.given_rows(param.name, by_param[param.name]),
        )
        return (*self._scratch(called), *layer_call(self.kernel, called, operands))

    def _scratch(self, called: SharedKernel) -> Iterator[Stmt]:
        """Yields the scratch arrays of the kernel."""
        for param in (p for p in called.params if p.role is Role.SCRATCH):
            place = plus(self._place("scratch"), self.kernel.scratch[param.name])
            yield _pointer(param.name, param.dtype, place)

    def _place(self, kind: str) -> Expr:
        """Returns the address of the layer's buffer of that kind."""
        return self.rows.place(self.plan.buffers[f"{self.stage.name}.{kind}"])

    def _constant(self, param: str) -> Expr:
        array = Name(self.constants[param])
        per_row, cycle = self.kernel.row_tables.get(param), self.kernel.row_cycles.get(param)
        if per_row is None:
            return array
        row = ROW if cycle is None else row_in_cycle(cycle, self.steps)
        return Infix("+", array, times(row, per_row))

    def _output(self) -> list[Stmt]:
        """Returns the pointer to the written row, or to each of several, and the code that fills padding."""
        out, together = self.out, self.kernel.rows_per_step
        fmt, c_type, first = out.format, f"{_c_type(out)} *const", _first_row(together)
        rows = self._written_rows()
        body: list[Stmt] = [
            Define(TypedName(c_type, _Y.name), rows[0])
            if together == 1
            else DefinePointers(TypedName(c_type, _Y.name, together), rows)
        ]
        is_ring = self._is_own_ring()
        if is_ring:
            held = self.plan.buffers[out.tensor].rows_held
            whole = (filled_row(fmt, self.rows.written(out, None, 0), held),)
            body.append(If(Infix("==", ROW, Number(0)), whole, comment="above the image and around all rows"))
        elif fmt.top:
            above = self._filled(None, range(fmt.top))
            body.append(If(Infix("==", ROW, Number(0)), above, comment="the rows above the image"))
        if fmt.bottom:
            below = self._filled(first, range(fmt.top, fmt.top + fmt.bottom))
            is_below = Infix("==", ROW, unsigned(out.image_rows // together))
            body.append(If(is_below, (*below, Return()), comment="the rows below the image"))
        return body if is_ring else [*body, *self._padding_in_time()]

    def _is_own_ring(self) -> bool:
        """Returns True for a padded ring with one writer and no overlapping buffer: one fill suffices."""
        out, tensor = self.out, self.lowered.tensors[self.out.tensor]
        writers = sum(out.tensor in stage.writes for stage in self.lowered.stages)
        is_ring = self._is_ring() and writers == 1 and out.rows == tensor.rows
        return is_ring and bool(self._padding()) and not self._is_disturbed()

    def _is_ring(self) -> bool:
        return self.plan.buffers[self.out.tensor].rows_held < self.lowered.tensors[self.out.tensor].rows

    def _written_rows(self) -> tuple[Expr, ...]:
        out, together, spread = self.out, self.kernel.rows_per_step, self.kernel.spread
        if spread is not None:
            return (Infix("+", self.rows.written(out, None, 0), _first_element(spread)),)
        first = _first_row(together)
        return tuple(self.rows.written(out, first, out.format.top + row) for row in range(together))

    def _filled(self, base: Expr | None, rows: Iterable[int]) -> tuple[Stmt, ...]:
        return tuple(filled_row(self.out.format, self.rows.written(self.out, base, row)) for row in rows)

    def _around_the_only_row(self) -> tuple[Stmt, ...]:
        """Returns code that fills rows above and below, and padding, of a result that is written once."""
        others = [row for row in range(self.out.rows) if row != self.out.format.top]
        return (*self._filled(None, others), *self._padding())

    def _padding(self, y: Expr = _Y) -> tuple[Stmt, ...]:
        """Returns code that fills the padding. 32-bit integers only have slack, which needs no value."""
        is_filled = self.out.type.dtype in (DType.I8, DType.I16, DType.U8, DType.F32)
        return filled_padding(self.out.format, y) if is_filled else ()

    def _padding_in_time(self) -> tuple[Stmt, ...]:
        """Returns code that fills padding at its memory's first use, or every time if others use it."""
        together = self.kernel.rows_per_step
        fills = tuple(fill for y in _written(together) for fill in self._padding(y))
        if not fills or not self._is_ring() or self._is_disturbed():
            return fills
        last = plus(_first_row(together), self.out.first + self.out.format.top + together - 1)
        is_first = Infix("<", last, unsigned(self.plan.buffers[self.out.tensor].rows_held))
        return (If(is_first, fills, comment="the first use of this memory"),)

    def _is_disturbed(self) -> bool:
        """Returns True if another buffer uses the same bytes between the tensor's first row and its last."""
        mine = self.plan.buffers[self.out.tensor]
        return any(_overlap(mine, other) for other in self.plan.buffers.values() if other is not mine)


def shapes_text(stage: LoweredStage, lowered: Lowered) -> str:
    """Returns the rows, columns and channels of the first input and the results."""
    made = ", ".join(_shape(result.type) for result in stage.results)
    if not stage.reads or stage.reads[0].tensor == STREAMED_ROW:
        return made
    return f"{_shape(lowered.tensors[stage.reads[0].tensor].type)} -> {made}"


def _c_type(out: Result) -> str:
    return storage_dtype(out.type, out.format).c_name


def _pointer(name: str, dtype: DType, place: Expr) -> Define:
    c_type = dtype.c_name
    return Define(TypedName(f"{c_type} *const", name), pointer_to(c_type, place))


def _offsets(lowered: Lowered, names: CNames) -> Mapping[str, str]:
    """Maps each planned buffer to the constant of its offset: tensors, states and scratch of layers."""
    layers = list(zip(lowered.stages, names.layers, strict=True))
    words = {tensor: names.tensors[tensor] for tensor in lowered.tensors}
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


def _overlap(one: PlannedBuffer, other: PlannedBuffer) -> bool:
    apart = one.offset + one.bytes <= other.offset or other.offset + other.bytes <= one.offset
    before = one.last_step < other.first_step or other.last_step < one.first_step
    return one.pool == other.pool and not apart and not before


def _shape(tensor: TensorType) -> str:
    g = geometry(tensor)
    return f"{g.rows}x{g.width}x{g.channels}"
