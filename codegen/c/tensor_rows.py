"""Rows in C: an accessor for each tensor, and the pointers that a layer passes to its kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from aot.plan.model import Kind, Plan, PlannedBuffer
from aot.wording import counted
from codegen.c.arenas import Arena
from codegen.c.names import comment_text
from codegen.c.tree import (
    CastTo,
    DefineTable,
    Enumerator,
    Expr,
    FunctionCall,
    FunctionDefinition,
    Infix,
    Name,
    Number,
    Return,
    Subscript,
    Ternary,
    TypedName,
    factor,
    plus,
    times,
    unsigned,
)
from codegen.formats import RowFormat, storage_dtype
from codegen.kernels.kernel import RowAccess, RowCycle
from codegen.lower.stage_rows import OutOfImage, out_of_image
from codegen.lower.stages import STREAMED_ROW, LoweredTensor, Reading, Result

# Pointers to rows: the row's number, and its address if it is part of another row.


RowOf = Callable[[Expr], Expr]  # the call of the tensor's accessor, for a whole row
ROW = Name("row")  # the layer's parameter: which of its rows it computes


def ruled_row(
    access: RowAccess, number: int, view: RowFormat | None, tensor: LoweredTensor, row_of: RowOf
) -> Expr:
    """Returns pointer `number`, which advances by the access's stride for each row of the result."""
    stride, offset = access.stride, access.first + number * access.step
    base = _strided(stride)
    if view is None:
        return row_of(plus(base, offset + tensor.format.top))
    if tensor.whole:
        return _in_one_piece(plus(base, offset), view, row_of)
    parts, offset = tensor.format.row_elements // view.row_elements, offset + view.top
    if stride % parts:
        return _part_of_row(plus(base, offset), view, tensor, row_of)
    row, part = divmod(offset, parts)
    return plus(row_of(plus(_strided(stride // parts), row)), part * view.row_elements)


def given_row(number: Expr, view: RowFormat | None, tensor: LoweredTensor, row_of: RowOf) -> Expr:
    """Returns the row of that number, of the view or of the tensor itself."""
    if view is None:
        return row_of(plus(number, tensor.format.top))
    if tensor.whole:
        return _in_one_piece(number, view, row_of)
    return _part_of_row(plus(number, view.top), view, tensor, row_of)


def given_number(access: RowAccess, param: str, number: int) -> Expr:
    """Returns the number of a row: computed if rows repeat in a cycle, otherwise from a table."""
    if access.cycle is None:
        place = plus(times(ROW, access.count), number) if access.count > 1 else ROW
        return Subscript(Name(f"{param}_rows"), place)
    return row_in_cycle(access.cycle, len(access.given))


def row_in_cycle(cycle: RowCycle, steps: int) -> Expr:
    """Returns the current row of a cycle over that many steps of the layer."""
    shared = Infix("/", ROW, unsigned(cycle.each)) if cycle.each > 1 else ROW
    return shared if cycle.rows * cycle.each >= steps else Infix("%", shared, unsigned(cycle.rows))


def _strided(stride: int) -> Expr:
    """Returns the previous rows; none for a device, whose second step uses the arguments of its first."""
    if stride == 0:
        return Number(0)
    return ROW if stride == 1 else times(ROW, stride)


def _in_one_piece(number: Expr, view: RowFormat, row_of: RowOf) -> Expr:
    return Infix("+", row_of(Number(0)), times(number, view.row_elements))


def _part_of_row(number: Expr, view: RowFormat, tensor: LoweredTensor, row_of: RowOf) -> Expr:
    if tensor.rows == 1:
        return _in_one_piece(number, view, row_of)
    parts, place = unsigned(tensor.format.row_elements // view.row_elements), factor(number)
    within = Infix("*", Infix("%", place, parts), unsigned(view.row_elements))
    return Infix("+", row_of(Infix("/", place, parts)), within)


RUN = TypedName("const struct run *", "run")
ROW_PARAMETER = TypedName("uint32_t", "row")


@dataclass(frozen=True)
class TensorRows:
    tensors: Mapping[str, LoweredTensor]
    plan: Plan
    names: Mapping[str, str]  # tensor -> C identifier
    arenas: Mapping[str, Arena]  # by pool
    outside: Mapping[tuple[str, int], str]  # (element type, value) -> the constant row of it
    offsets: Mapping[str, str]  # planned buffer -> the C constant with its offset

    def accessors(self) -> Iterator[FunctionDefinition]:
        """Yields the accessors of tensors whose rows have several addresses."""
        for tensor in self.tensors.values():
            if self.has_one_place(tensor):
                continue
            qualifier = "const " if tensor.kind is Kind.INPUT else ""
            yield FunctionDefinition(
                kind=f"static inline {qualifier}{_c_type(tensor)} *",
                name=self._accessor_name(tensor),
                params=(RUN, ROW_PARAMETER),
                body=(Return(self._where(tensor)),),
                comment=f"{comment_text(tensor.name)}: {self._rows_text(tensor)}.",
            )

    def _where(self, tensor: LoweredTensor) -> Expr:
        """Returns the address of a row, or of all rows if they share one."""
        fmt, buffer, is_alone = tensor.format, self.plan.buffers[tensor.name], self.has_one_place(tensor)
        if tensor.kind in (Kind.INPUT, Kind.OUTPUT):
            side = "in" if tensor.kind is Kind.INPUT else "out"
            base = Name(f"run->{side}->{self.names[tensor.name]}")
            return base if is_alone else Infix("+", base, times(ROW, fmt.row_elements))
        place = self.place(buffer)
        if is_alone:
            return pointer_to(_c_type(tensor), place)
        held = ROW if buffer.rows_held >= tensor.rows else Infix("%", ROW, unsigned(buffer.rows_held))
        return pointer_to(_c_type(tensor), Infix("+", place, Infix("*", held, unsigned(fmt.row_bytes))))

    def has_one_place(self, tensor: LoweredTensor) -> bool:
        """Returns True if all its rows, or its only one, have the same address."""
        is_callers = tensor.kind in (Kind.INPUT, Kind.OUTPUT)
        return tensor.rows == 1 or (not is_callers and self.plan.buffers[tensor.name].rows_held == 1)

    def place(self, buffer: PlannedBuffer) -> Expr:
        offset = Enumerator(self.offsets[buffer.name], buffer.offset, self._place_text(buffer))
        return Infix("+", Name(f"run->{self.arenas[buffer.pool].name}"), offset)

    def _place_text(self, buffer: PlannedBuffer) -> str:
        """Describes the content of a buffer: the user's tensor in rows, or a layer's scratch."""
        where = f" in {self.arenas[buffer.pool].name}" if len(self.arenas) > 1 else ""
        tensor = self.tensors.get(buffer.name)
        if tensor is None:
            return f"{counted(buffer.bytes, 'byte')}{where}"
        rows = f"{buffer.rows_held} of {tensor.rows}" if buffer.rows_held < tensor.rows else f"{tensor.rows}"
        return (
            f"{rows} rows of {tensor.format.row_bytes} bytes{where}"
            if tensor.rows > 1
            else f"{counted(buffer.bytes, 'byte')}{where}"
        )

    def row_of(self, tensor: LoweredTensor, row: Expr) -> Expr:
        """Returns the call of its accessor, or the only address of its rows."""
        if self.has_one_place(tensor):
            return self._where(tensor)
        return FunctionCall(self._accessor_name(tensor), (Name(RUN.name), row))

    def written(self, out: Result, base: Expr | None, row: int) -> Expr:
        """Returns the call for a row that a stage writes: row `base` + `row`, or `row` without a base."""
        tensor, number = self.tensors[out.tensor], out.rows_of(row, row).first
        if base is None:
            return self.row_of(tensor, Number(number))
        each = times(base, out.rows_each) if out.rows_each > 1 else base
        return self.row_of(tensor, plus(each, number))

    def _accessor_name(self, tensor: LoweredTensor) -> str:
        return f"row_of_{self.names[tensor.name]}"

    def _rows_text(self, tensor: LoweredTensor) -> str:
        held, rows = self.plan.buffers[tensor.name].rows_held, tensor.rows
        ring = f", {held} held at a time" if held < rows else ""
        padding = (
            f", {tensor.format.top} above and {tensor.format.bottom} below the image"
            if (tensor.format.top or tensor.format.bottom)
            else ""
        )
        return f"{counted(rows, 'row')} of {tensor.format.row_bytes} bytes{padding}{ring}"

    def given_rows(self, param: str, reading: Reading) -> tuple[DefineTable, ...]:
        """Returns the table of irregular rows, if there is more than one row."""
        if reading.access.cycle is not None:
            return ()
        numbers = tuple(number for rows in reading.access.given for number in rows)
        if not numbers or reading.tensor == STREAMED_ROW:
            return ()
        if reading.view is None and self.has_one_place(self.tensors[reading.tensor]):
            return ()
        return (DefineTable("uint16_t", f"{param}_rows", numbers),)

    def pointer(self, param: str, reading: Reading, number: int, results: int) -> Expr:
        """Returns the pointer to a row of the tensor or, for some of `results`, to the row outside of it."""
        row = self._row_pointer(param, reading, number)
        if not results:
            return row
        tensor = self.tensors[reading.tensor]
        out = out_of_image(reading, number, tensor, results)
        if not out.is_any:
            return row
        outside = Name(self.outside[storage_dtype(tensor.type, tensor.format).c_name, reading.fill])
        return outside if out.is_all else Ternary(_is_out_of_image(out), outside, row)

    def _row_pointer(self, param: str, reading: Reading, number: int) -> Expr:
        if reading.tensor == STREAMED_ROW:
            return Name("run->pushed")
        tensor = self.tensors[reading.tensor]
        row_of = partial(self.row_of, tensor)
        if reading.access.given:
            return given_row(given_number(reading.access, param, number), reading.view, tensor, row_of)
        return ruled_row(reading.access, number, reading.view, tensor, row_of)


def _is_out_of_image(out: OutOfImage) -> Expr:
    above = Infix("<", ROW, unsigned(out.above))
    below = Infix(">", ROW, unsigned(out.results - out.below - 1))
    if out.above and out.below:
        return Infix("||", above, below)
    return above if out.above else below


def _c_type(tensor: LoweredTensor) -> str:
    return storage_dtype(tensor.type, tensor.format).c_name


def pointer_to(c_type: str, place: Expr) -> Expr:
    return CastTo(f"{c_type} *", CastTo("void *", factor(place)))
