"""The C of where rows are: an accessor for each tensor, and the pointers that a layer gives its kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from textwrap import wrap

from aot.counted import counted
from aot.plan.model import Buffer, Kind, Plan
from codegen.arenas import Arena
from codegen.constants import constant
from codegen.formats import storage_dtype
from codegen.names import comment_text
from codegen.outside_rows import beyond
from codegen.row_pointers import given_number, given_row, plus, ruled_row
from codegen.stages import PUSHED, Reading, Result, Tensor

_LINE = 100


@dataclass(frozen=True)
class RowText:
    tensors: Mapping[str, Tensor]
    plan: Plan
    names: Mapping[str, str]  # tensor -> C identifier
    arenas: Mapping[str, Arena]  # by pool
    space: str  # of constants
    outside: Mapping[tuple[str, int], str]  # (element type, value) -> the constant row of it

    def accessor(self, tensor: Tensor) -> str:
        c_type, fmt = storage_dtype(tensor.type, tensor.format).c_name, tensor.format
        qualifier = "const " if tensor.kind is Kind.INPUT else ""
        buffer, is_alone = self.plan.buffers[tensor.name], self.has_one_place(tensor)
        step = "" if is_alone else f" + row * {fmt.row_elements}u"
        if tensor.kind is Kind.INPUT:
            where = f"run->in->{self.names[tensor.name]}{step}"
        elif tensor.kind is Kind.OUTPUT:
            where = f"run->out->{self.names[tensor.name]}{step}"
        else:
            held = "row" if buffer.rows_held >= tensor.rows else f"row % {buffer.rows_held}u"
            byte = "" if is_alone else f" + {held} * {fmt.row_bytes}u"
            where = pointer_to(c_type, f"{self.place(buffer)}{byte}")
        return "\n".join(
            [
                f"/* {comment_text(tensor.name)}: {self._rows_said(tensor)}. */",
                f"static inline {qualifier}{c_type} *row_of_{self.names[tensor.name]}("
                f"const struct run *run{'' if is_alone else ', uint32_t row'})",
                "{",
                f"    return {where};",
                "}",
            ]
        )

    def has_one_place(self, tensor: Tensor) -> bool:
        """Whether all its rows, or the only one, are in the same place."""
        is_callers = tensor.kind in (Kind.INPUT, Kind.OUTPUT)
        return tensor.rows == 1 or (not is_callers and self.plan.buffers[tensor.name].rows_held == 1)

    def place(self, buffer: Buffer) -> str:
        return f"run->{self.arenas[buffer.pool].name}{plus(buffer.offset)}"

    def row_of(self, tensor: Tensor, row: str) -> str:
        """The call of its accessor."""
        given = "run" if self.has_one_place(tensor) else f"run, {row}"
        return f"row_of_{self.names[tensor.name]}({given})"

    def written(self, out: Result, base: str, row: int) -> str:
        """The call for a row that a stage writes: `row` behind the one that `base`, where given, says."""
        each, tensor = f" * {out.rows_each}u" if out.rows_each > 1 else "", self.tensors[out.tensor]
        number = out.rows_of(row, row).first
        return self.row_of(tensor, f"{base}{each}{plus(number)}" if base else str(number))

    def _rows_said(self, tensor: Tensor) -> str:
        held, rows = self.plan.buffers[tensor.name].rows_held, tensor.rows
        ring = f", {held} held at a time" if held < rows else ""
        margins = (
            f", {tensor.format.top} above and {tensor.format.bottom} below the image"
            if (tensor.format.top or tensor.format.bottom)
            else ""
        )
        return f"{counted(rows, 'row')} of {tensor.format.row_bytes} bytes{margins}{ring}"

    def pointer_array(self, param: str, reading: Reading, results: int) -> str:
        tensor = self.tensors[reading.tensor]
        c_type = storage_dtype(tensor.type, tensor.format).c_name
        rows = [self.pointer(param, reading, i, results) for i in range(reading.access.count)]
        text = f"const {c_type} *const {param}[{reading.access.count}] = {{{', '.join(rows)}}};"
        if len(text) > _LINE:
            every = [f"        {row}," for row in rows]
            text = "\n".join(
                [f"const {c_type} *const {param}[{reading.access.count}] = {{", *every, "    };"]
            )
        return text

    def given_rows(self, param: str, reading: Reading) -> list[str]:
        """The table of rows that follow no rule, where there is more than one row."""
        if reading.access.turns is not None:
            return []
        numbers = [str(number) for rows in reading.access.given for number in rows]
        if not numbers or reading.tensor == PUSHED:
            return []
        if reading.view is None and self.has_one_place(self.tensors[reading.tensor]):
            return []
        lines = wrap(", ".join(numbers) + ",", _LINE - 8)
        table = f"static {constant(self.space)}uint16_t {param}_rows[{len(numbers)}] = {{"
        return ["\n".join([table, *(f"        {line}" for line in lines), "    };"])]

    def pointer(self, param: str, reading: Reading, number: int, results: int) -> str:
        """To a row of the tensor, or to the constant one beyond it: for so many rows made from windows."""
        row = self._row_pointer(param, reading, number)
        if not results:
            return row
        tensor = self.tensors[reading.tensor]
        out = beyond(reading, number, tensor, results)
        if not out.test:
            return row
        outside = self.outside[storage_dtype(tensor.type, tensor.format).c_name, reading.fill]
        return outside if out.is_all else f"{out.test} ? {outside} : {row}"

    def _row_pointer(self, param: str, reading: Reading, number: int) -> str:
        if reading.tensor == PUSHED:
            return "run->pushed"
        tensor = self.tensors[reading.tensor]
        row_of = partial(self.row_of, tensor)
        if reading.access.given:
            return given_row(given_number(reading.access, param, number), reading.view, tensor, row_of)
        return ruled_row(reading.access, number, reading.view, tensor, row_of)


def pointer_to(c_type: str, place: str) -> str:
    return f"({c_type} *)(void *){f'({place})' if ' ' in place else place}"
