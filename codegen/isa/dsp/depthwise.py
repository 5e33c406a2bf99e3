"""Cortex-M DSP extension, depthwise: a row of 3x3 windows over planes, requantized and stored at once.

In planes, the pixels of a channel are contiguous. One word holds pixels 0..3; SXTB16 gives the pairs (0, 2)
and (1, 3). With a kernel row's taps as (0, 2) and (1), output 0 is even.taps02 + odd.low * tap1, and output
1, one pixel further, is odd.taps02 + even.high * tap1: four multiplications for six products (see
`window.py`). The nine weights of a channel stay in five registers along the whole row.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from aot.ir.types import DType
from codegen.isa.dsp.depthwise_text import (
    FOUR_BIT_BYTES,
    FOUR_BIT_TAPS,
    TAPS,
    TAPS_BYTES,
    TAPS_ORDER,
    End,
    block_in_c,
    block_in_registers,
    constants_in_memory,
    four_bit_tap,
    in_c,
    in_registers,
    instructions_of,
)
from codegen.isa.dsp.needs import ANY_WORDS
from codegen.isa.dsp.window import KERNEL, Edges, WindowBlock, blocks_of
from codegen.isa.plain.requantise import StoreQuantised
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Buffer,
    For,
    Instruction,
    Role,
    Stmt,
    Store,
    at,
    let,
    load,
    local,
)

STRIDES = (1, 2)
_SHORT = 5  # outputs of a row; a loop would cost more than its code saves
_TAP_INSTRUCTIONS = 8  # to load and widen them
READ_AHEAD = 1  # unused bytes loaded past a window


@dataclass(frozen=True, slots=True)
class DepthwiseRow:
    outputs: int
    stride: int
    y_dtype: DType
    y_step: int  # elements from one output to the next
    turns: int = 1  # unrolled iterations; they divide the pairs of outputs
    is_general: bool = False  # a loop for any number of outputs
    edges: Edges | None = None  # of unpadded planes; such a row is neither general nor unrolled further
    weight_bits: int = 8

    @property
    def name(self) -> str:
        short = f"_of_{self.outputs}" if self.is_short else ""
        turns = f"_by_{self.turns}" if self.turns > 1 else ""
        edges = self.edges.name if self.edges is not None else ""
        bits = "" if self.weight_bits == 8 else "_four_bits"
        return f"depthwise_3x3_stride_{self.stride}_{self.y_dtype.value}{edges}{short}{turns}{bits}"

    @property
    def is_short(self) -> bool:
        return self.outputs <= _SHORT and not self.is_general

    @property
    def numbers(self) -> tuple[tuple[str, int], ...]:
        """Returns the numbers that a call passes to its function."""
        if not self.is_short:
            return (("outputs", self.outputs), ("y_step", self.y_step))
        return (("y_step", self.y_step),) if self.outputs > 1 else ()


def depthwise_row(row: DepthwiseRow, storing: StoreQuantised) -> Instruction:
    """y[i * y_step] = stored(start[0] + sum over r, t of x[r][i * stride + t] * w's tap there)."""
    y = Buffer("y", row.y_dtype, 0, Role.OUTPUT)
    x = Buffer("x", DType.I8, 0, Role.ROWS, KERNEL)
    w = Buffer("w", DType.I8, TAPS_BYTES if row.weight_bits == 8 else FOUR_BIT_BYTES, Role.CONSTANT)
    text = _Text(row, storing)
    start, *scales = (local(name, DType.I32) for name in text.constants)
    total = local("sum", DType.I32)
    i = variable("i")

    def product(number: int) -> Stmt:
        r, t = (Affine(constant=n) for n in divmod(number, KERNEL))
        pixel = i * row.stride + t
        value = load(x, pixel, r) if row.edges is None else row.edges.value(x, 0, pixel, r)
        place = TAPS_ORDER.index(number)
        weight = load(w, place) if row.weight_bits == 8 else four_bit_tap(place, w, Affine())
        return Accumulate(at(total), value * weight)

    windows = (product(number) for number in range(KERNEL * KERNEL))
    stored = Apply(storing.store, (load(total), *(load(s) for s in scales)))
    once = (*let(total, load(start)), *windows, Store(at(y, i * row.y_step), stored))
    given = ", ".join(f"{{{name}[0]}}" for name in text.constants)
    numbers = "".join(f"{{{name}}}, " for name, _ in row.numbers)
    return Instruction(
        name=text.name,
        params=(y, start, *scales, x, w),
        body=(For("i", row.outputs, once),),
        call=(f"{text.name}(\n    {{y}}, {numbers}{given},\n    {{x[0]}}, {{x[1]}}, {{x[2]}}, {{w}});"),
        definition=text.function,
        numbers=row.numbers,
        includes=("string.h",),
        calls=(storing.store, *(storing.parts.calls if storing.parts is not None else ()), *text.macros),
        needs=ANY_WORDS,
        machine_instructions=text.machine_instructions,
    )


@dataclass(frozen=True, slots=True)
class _Text:
    """The C function of a row. With gcc, two outputs stay in registers until they are stored."""

    row: DepthwiseRow
    storing: StoreQuantised

    @property
    def name(self) -> str:
        return f"{self.row.name}_{self.storing.store.name}"

    @property
    def constants(self) -> tuple[str, ...]:
        if self.storing.is_fitted:
            return ("start", "scale", "rounding")
        return ("start", "scale", "shift", *(("rounding",) if self.storing.prepare is not None else ()))

    @property
    def end(self) -> End:
        """Returns the instructions that finish sums in registers."""
        parts = self.storing.parts
        assert parts is not None
        return End.FITTED if parts.is_fitted else End.SIGNED if parts.adds_sign else End.RELU

    @property
    def function(self) -> str:
        windows = f"3x3 windows along planes, stride {self.row.stride}"
        lines = [
            f"/* {self._outputs_text} of {windows}; reads one byte past windows. */",
            f"static inline __attribute__((always_inline)) void {self.name}(",
            f"    {', '.join([f'{self.row.y_dtype.c_name} *y', *_ints(n for n, _ in self.row.numbers)])},",
            f"    {', '.join(_ints(self.constants))},",
            "    const int8_t *x0, const int8_t *x1, const int8_t *x2, const int8_t *w)",
            "{",
            TAPS if self.row.weight_bits == 8 else FOUR_BIT_TAPS,
            *([constants_in_memory(self.end)] if self.storing.parts is not None else []),
            *self._padding(),
            *(self._written_out() if self.row.is_short else self._looped()),
            "}",
        ]
        return "\n".join(lines) + "\n"

    @property
    def _outputs_text(self) -> str:
        row = self.row
        if row.is_short and row.outputs == 1:
            edges = "" if row.edges is None else f", {row.edges.said},"
            return f"One output in {row.y_dtype.value}{edges}"
        count = f"{row.outputs} outputs" if row.is_short else "Outputs"
        turns = f" {2 * row.turns} at a time," if row.turns > 1 else ""
        edges = f" {row.edges.said}," if row.edges is not None else ""
        return f"{count} in {row.y_dtype.value}, y_step elements apart,{turns}{edges}"

    def _padding(self) -> list[str]:
        edges = self.row.edges
        return [] if edges is None else [f"    const int32_t zero = {edges.zero_point}; /* beside a plane */"]

    def _looped(self) -> list[str]:
        """Returns the row as a loop. If it is unpadded, the edge blocks come before and after the loop."""
        blocks = blocks_of(self.row.outputs, self.row.stride, self.row.edges)
        before = [block for block in blocks[:1] if block.left]
        behind = [block for block in blocks[-1:] if block.right]
        at_first = [line for block in before for line in ("    {", *self._block(block), "    }")]
        moved = [f"    y += {_steps(2)};"] if before else []
        return [*at_first, *moved, *self._loop(len(before), len(behind)), *self._last(behind)]

    def _loop(self, before: int, behind: int) -> list[str]:
        """Returns the loop over pairs of outputs, without `before` and `behind` blocks at the edges."""
        outputs, c_type = 2 * self.row.turns, self.row.y_dtype.c_name
        step = _steps(outputs)
        pairs = [self._block(WindowBlock(first, 2, self.row.stride)) for first in range(0, outputs, 2)]
        body = pairs[0] if len(pairs) == 1 else [line for pair in pairs for line in ("    {", *pair, "    }")]
        taken = before + (behind if self.row.outputs % 2 == 0 else 0)
        turns = f"outputs / {outputs}" if not taken else f"(outputs / {outputs} - {taken})"
        return [
            f"    {c_type} *const end = y + {turns} * {step};",
            f"    for (; y != end; y += {step}) {{",
            *body,
            "    }",
        ]

    def _last(self, behind: list[WindowBlock]) -> list[str]:
        if self.row.edges is None:
            single = self._block(WindowBlock(0, 1, self.row.stride))
            return ["    if (outputs % 2 != 0) {", *single, "    }"]
        rest = [WindowBlock(0, 1, self.row.stride)] if self.row.outputs % 2 else []
        blocks = [replace(block, first=0, left=False) for block in behind or rest]
        return [line for block in blocks for line in ("    {", *self._block(block), "    }")]

    def _written_out(self) -> list[str]:
        """Returns a short row without a loop."""
        blocks = blocks_of(self.row.outputs, self.row.stride, self.row.edges)
        return [line for block in blocks for line in ("    {", *self._block(block), "    }")]

    def _block(self, block: WindowBlock) -> list[str]:
        """Returns one or two outputs, the first at y[first * step]."""
        parts, scales = self.storing.parts, ", ".join(self.constants[1:])
        sums = [f"sum{n}" for n in range(block.together)]
        in_c = [f"{self.storing.store.name}({total}, {scales})" for total in sums]
        if parts is None:
            return [*block_in_c(block), *self._stored(block.first, in_c)]
        stored = [
            f"STORED({called}, {parts.clamped.format(v=total)})"
            for called, total in zip(in_c, sums, strict=True)
        ]
        return [*block_in_registers(block, self.end), *self._stored(block.first, stored)]

    @property
    def blocks(self) -> tuple[WindowBlock, ...]:
        """Returns the kinds of blocks in the text, each once."""
        every = blocks_of(self.row.outputs, self.row.stride, self.row.edges)
        always = () if self.row.is_short else (WindowBlock(0, 2, self.row.stride),)
        last = (
            () if self.row.is_short or self.row.edges is not None else (WindowBlock(0, 1, self.row.stride),)
        )
        kinds = (*always, *every, *last)
        return tuple(dict.fromkeys(replace(block, first=0) for block in kinds))

    @property
    def macros(self) -> tuple[Instruction, ...]:
        return in_c(self.blocks) if self.storing.parts is None else in_registers(self.blocks, self.end)

    @property
    def machine_instructions(self) -> int:
        end = End.RELU if self.storing.parts is None else self.end
        return sum(instructions_of(block, end) for block in self.blocks) + _TAP_INSTRUCTIONS

    def _stored(self, first: int, values: list[str]) -> list[str]:
        c_type = self.row.y_dtype.c_name
        places = [_steps(first + n) for n in range(len(values))]
        return [
            f"        y[{place}] = ({c_type}){value};" for place, value in zip(places, values, strict=True)
        ]


def _steps(outputs: int) -> str:
    """Returns C code for the distance of that many outputs, in elements."""
    return {0: "0", 1: "y_step"}.get(outputs, f"y_step * {outputs}")


def _ints(names: Iterable[str]) -> list[str]:
    return [f"int32_t {name}" for name in names]
