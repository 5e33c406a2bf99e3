"""The C of a run: an accessor for each tensor's rows, a function for each layer, the order of their rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from aot.ir.types import DType, TensorType
from aot.plan.model import Buffer, Plan
from codegen.arenas import Arena
from codegen.constants import Constants
from codegen.formats import geometry, storage_dtype
from codegen.kernel_library import SharedKernel
from codegen.loops.ir import Buffer as LoopBuffer
from codegen.loops.ir import Role
from codegen.loops.print_c import shape_struct
from codegen.margin_text import filled_margins, filled_row
from codegen.names import comment_text
from codegen.order_text import counter_type, ordered_runs, streamed_order
from codegen.outside_rows import windows
from codegen.row_pointers import factor, plus, turns_text
from codegen.row_text import RowText, pointer_to
from codegen.stages import PUSHED, Lowered, LoweredStage, Result

_LINE = 100
_ROW = re.compile(r"\brow\b")


@dataclass(frozen=True)
class RunText:
    accessors: tuple[str, ...]
    layers: tuple[str, ...]
    tables: tuple[str, ...]  # orders of interleaved layers
    body: tuple[str, ...]  # statements of <model>_run; none where the input is streamed
    fills: tuple[str, ...]  # names of the fill functions that are needed
    stream: StreamText | None


@dataclass(frozen=True)
class StreamText:
    """What the header says of a streamed input."""

    rows: int
    row_elements: int
    layers: int
    counter: str  # C type of a layer's row counter


class RunPrinter:
    """Prints the layers of one model; names are shared by everything it prints."""

    def __init__(
        self,
        lowered: Lowered,
        plan: Plan,
        calls: Sequence[Sequence[SharedKernel]],
        constants: Constants,
        names: Mapping[str, str],
        model: str,
        space: str,
        arenas: Mapping[str, Arena],
    ) -> None:
        self.lowered = lowered
        self.plan = plan
        self.calls = calls
        self.constants = constants
        self.rows = RowText(lowered.tensors, plan, names, arenas, space, constants.outside)
        self.model = model
        self.space = space  # of constants
        self.fills: set[str] = set()
        self.firings = Counter(plan.order)
        self.rowless: set[int] = set()  # layers that run once and need no number of a row

    def print(self) -> RunText:
        accessors = tuple(self.rows.accessor(t) for t in self.lowered.tensors.values())
        layers = tuple(self._layer(i) for i in range(len(self.lowered.stages)))
        tables, body = self._order()
        return RunText(accessors, layers, tables, body, tuple(sorted(self.fills)), self._stream())

    def _stream(self) -> StreamText | None:
        if self.lowered.receiver is None:
            return None
        g = geometry(self.lowered.tensors[self.lowered.stages[self.lowered.receiver].writes].type)
        return StreamText(
            g.rows, g.width * g.channels, len(self.lowered.stages), counter_type(self.plan.order)
        )

    def _layer(self, index: int) -> str:
        stage = self.lowered.stages[index]
        growing = stage.kernel.accumulation is not None
        body = self._growing_body(index, stage) if growing else self._row_body(index, stage)
        is_used = any(_ROW.search(line) for line in body)
        if not is_used and self.firings[index] == 1:
            self.rowless.add(index)
        row = "" if index in self.rowless else ", uint32_t row"
        if not is_used and row:
            body.insert(0, "    (void)row;")
        return "\n".join(
            [
                f"/* Layer {index}: {self.title(stage)} */",
                f"static LAYER void layer_{index}(const struct run *run{row})",
                "{",
                *body,
                "}",
            ]
        )

    def _row_body(self, index: int, stage: LoweredStage) -> list[str]:
        out = stage.result
        (kernel,) = self.calls[index]
        rows = out.image_rows if stage.kernel.whole else 1
        return [*self._output_lines(out), *self._call(index, stage, kernel), self._wrote(index, out, rows)]

    def _growing_body(self, index: int, stage: LoweredStage) -> list[str]:
        """The sums begin with the first row of the input and become the result after the last."""
        out, accumulation = stage.result, stage.kernel.accumulation
        assert accumulation is not None
        start, add, finish = self.calls[index]
        c_type = accumulation.dtype.c_name
        place = self.plan.buffers[f"{stage.name}.state"]
        y = self.rows.written(out, "", out.format.top)
        return [
            f"    {c_type} *const sums = {pointer_to(c_type, self.rows.place(place))};",
            "    if (row == 0) {",
            *_indented(self._call(index, stage, start)),
            "    }",
            *self._call(index, stage, add),
            f"    if (row == {accumulation.rows - 1}u) {{",
            f"        {self._c_type(out)} *const y = {y};",
            *_indented(self._around_the_only_row(out)),
            *_indented(self._call(index, stage, finish)),
            *_indented([self._wrote(index, out)]),
            "    } else {",
            f"        LAYER_WROTE({index}, sums, 0); /* no row yet */",
            "    }",
        ]

    def _wrote(self, index: int, out: Result, rows: int = 1) -> str:
        return f"    LAYER_WROTE({index}, y, {out.format.row_bytes * rows});"

    def _c_type(self, out: Result) -> str:
        return storage_dtype(out.type, out.format).c_name

    def _call(self, index: int, stage: LoweredStage, kernel: SharedKernel) -> list[str]:
        arguments = self._arguments(index, stage, kernel)
        shape = ["&shape"] if kernel.numbers else []
        return [
            *(f"    {pointer}" for pointer in arguments.pointers),
            *_shape_lines(kernel),
            *_call_lines(kernel.name, [*arguments.names, *shape]),
        ]

    def title(self, stage: LoweredStage) -> str:
        origin = f", {stage.node.origin}" if stage.node is not None and stage.node.origin else ""
        return comment_text(f"{stage.op} {self.shapes(stage)}{origin}")

    def shapes(self, stage: LoweredStage) -> str:
        if not stage.reads or stage.reads[0].tensor == PUSHED:
            return _shape(stage.result.type)
        source = self.lowered.tensors[stage.reads[0].tensor]
        return f"{_shape(source.type)} -> {_shape(stage.result.type)}"

    def _output_lines(self, out: Result) -> list[str]:
        """The pointer to the row that is written, and the zero points around it."""
        fmt = out.format
        c_type = storage_dtype(out.type, fmt).c_name
        lines = [f"    {c_type} *const y = {self.rows.written(out, 'row', fmt.top)};"]
        if fmt.top:
            above = self._filled(out, "", range(fmt.top))
            lines += ["    if (row == 0) { /* the rows above the image */", *above, "    }"]
        if fmt.bottom:
            below = self._filled(out, "row", range(fmt.top, fmt.top + fmt.bottom))
            lines += [f"    if (row == {out.image_rows}u) {{ /* the rows below the image */", *below]
            lines += ["        return;", "    }"]
        return lines + self._margin_lines(out)

    def _filled(self, out: Result, base: str, rows: Iterable[int]) -> list[str]:
        fills = self._noted([filled_row(out.format, self.rows.written(out, base, row)) for row in rows])
        return [f"        {fill}" for fill in fills]

    def _around_the_only_row(self, out: Result) -> list[str]:
        """Rows above and below, and margins, of a result that is written once."""
        others = [r for r in range(out.rows) if r != out.format.top]
        margins = [f"    {fill}" for fill in self._margins(out)]
        return [*(line[4:] for line in self._filled(out, "", others)), *margins]

    def _margins(self, out: Result) -> list[str]:
        """Beside whole numbers there is slack only, whatever it holds."""
        is_filled = out.type.dtype in (DType.I8, DType.I16, DType.U8, DType.F32)
        return self._noted(filled_margins(out.format)) if is_filled else []

    def _noted(self, fills: Sequence[str]) -> list[str]:
        """The same statements; the functions that they call are needed."""
        self.fills.update(fill.partition("(")[0] for fill in fills)
        return list(fills)

    def _margin_lines(self, out: Result) -> list[str]:
        """The margins at their memory's first use, or with every row where others use it."""
        fills, fmt = self._margins(out), out.format
        held = self.plan.buffers[out.tensor].rows_held
        if not fills or held >= self.lowered.tensors[out.tensor].rows or self._is_disturbed(out.tensor):
            return [f"    {fill}" for fill in fills]
        return [
            f"    if (row{plus(out.first + fmt.top)} < {held}u) {{ /* the first use of this memory */",
            *(f"        {fill}" for fill in fills),
            "    }",
        ]

    def _is_disturbed(self, tensor: str) -> bool:
        """Whether another buffer lies on the same bytes between the tensor's first row and its last."""
        mine = self.plan.buffers[tensor]
        return any(_meet(mine, other) for name, other in self.plan.buffers.items() if name != tensor)

    def _arguments(self, index: int, stage: LoweredStage, kernel: SharedKernel) -> _Arguments:
        """What the kernel is called with, in its order; row pointers in arrays of their own."""
        readings = iter(stage.reads)
        by_param = {p.name: r for p, r in zip(_row_params(stage), readings, strict=True)}
        pointers, names = [], []
        # The function may have been printed for another layer, where a row was a constant or the other way.
        mine = {p.name: p for proc in stage.kernel.procs for p in proc.params}
        for param in (mine[p.name] for p in kernel.params):
            if param.role is Role.ROWS:
                reading = by_param[param.name]
                results = windows(stage, reading)
                pointers += self.rows.given_rows(param.name, reading)
                if param.rows > 1:
                    pointers.append(self.rows.pointer_array(param.name, reading, results))
                    names.append(param.name)
                else:
                    names.append(self.rows.pointer(param.name, reading, 0, results))
            elif param.role in (Role.OUTPUT, Role.STATE):
                names.append(param.name)
            else:
                names.append(self._constant(index, stage, param.name))
        return _Arguments(pointers, names)

    def _constant(self, index: int, stage: LoweredStage, param: str) -> str:
        name = self.constants.names[index][param]
        per_row, turns = stage.kernel.row_tables.get(param), stage.kernel.row_turns.get(param)
        if per_row is None:
            return name
        row = "row" if turns is None else factor(turns_text(turns, self.firings[index]))
        return f"{name} + {row} * {per_row}u"

    def _order(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        receiver = self.lowered.receiver
        if receiver is None:
            return ordered_runs(self.plan.order, self.rowless, self.space)
        rows = self.lowered.tensors[self.lowered.stages[receiver].writes].image_rows
        return (streamed_order(self.plan.order, self.rowless, receiver, rows, self.model, self.space),), ()


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _meet(one: Buffer, other: Buffer) -> bool:
    apart = one.offset + one.bytes <= other.offset or other.offset + other.bytes <= one.offset
    before = one.last_firing < other.first_firing or other.last_firing < one.first_firing
    return one.pool == other.pool and not apart and not before


@dataclass(frozen=True)
class _Arguments:
    pointers: list[str]
    names: list[str]


def _row_params(stage: LoweredStage) -> list[LoopBuffer]:
    return [p for p in stage.kernel.proc.params if p.role is Role.ROWS]


def _shape_lines(kernel: SharedKernel) -> list[str]:
    """What tells this layer from others that share the function."""
    if not kernel.numbers:
        return []
    members = [f"        .{name} = {value}," for name, value in kernel.numbers.items()]
    return [f"    static const {shape_struct(kernel.name)} shape = {{", *members, "    };"]


def _call_lines(name: str, arguments: Sequence[str]) -> list[str]:
    """A call in one line, or with a line for each argument."""
    line = f"    {name}({', '.join(arguments)});"
    if len(line) <= _LINE:
        return [line]
    *others, last = arguments
    return [f"    {name}(", *(f"        {argument}," for argument in others), f"        {last});"]


def _shape(tensor: TensorType) -> str:
    g = geometry(tensor)
    return f"{g.rows}x{g.width}x{g.channels}"
