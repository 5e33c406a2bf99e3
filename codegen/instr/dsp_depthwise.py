"""Cortex-M DSP extension, depthwise: a row of 3x3 windows over planes, requantised and stored at once.

In planes the pixels of a channel are side by side. One word holds pixels 0..3; SXTB16 gives the
pairs (0, 2) and (1, 3). With a kernel row's taps as (0, 2) and (1), output 0 is even.taps02 +
odd.low * tap1 and output 1, one pixel on, is odd.taps02 + even.high * tap1: four multiplications
for six products (`dsp_window.py`). The nine weights of a channel stay in five registers along the whole row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from aot.ir.types import DType
from codegen.instr.dsp_window import KERNEL, MIDDLE_OF_ROW, Block, Edges, blocks_of, window_row
from codegen.instr.instruction import Instruction
from codegen.instr.requantise import ToInt8
from codegen.loops.affine import variable
from codegen.loops.ir import Accumulate, Apply, Binary, Buffer, Declare, For, Role, Store, at, load

STRIDES = (1, 2)
_SHORT = 5  # outputs of a row whose loop would cost more than its code
_END_OF_ASM_LINE = "\\n\\t"
READ_AHEAD = 1  # bytes past a window, and past a channel's weights, that are loaded and not used


@dataclass(frozen=True, slots=True)
class DepthwiseRow:
    outputs: int
    stride: int
    y_dtype: DType
    y_step: int  # elements from one output to the next
    turns: int = 1  # of the loop, written out; they divide the pairs of outputs
    is_general: bool = False  # one function for any number of outputs and any way from one to the next
    edges: Edges | None = None  # of planes without margins: such a row is neither general nor turned by more

    @property
    def name(self) -> str:
        short = f"_of_{self.outputs}" if self.is_short else ""
        turns = f"_by_{self.turns}" if self.turns > 1 else ""
        step = "" if self.is_general else f"_step_{self.y_step}"
        bare = self.edges.name if self.edges is not None else ""
        return f"depthwise_3x3_stride_{self.stride}_{self.y_dtype.value}{step}{bare}{short}{turns}"

    @property
    def is_short(self) -> bool:
        return self.outputs <= _SHORT and not self.is_general

    @property
    def numbers(self) -> tuple[tuple[str, int], ...]:
        """What a call tells its function."""
        if self.is_short:
            return ()
        return (("outputs", self.outputs), *((("y_step", self.y_step),) if self.is_general else ()))

    def steps(self, outputs: int) -> str:
        """C of the elements that so many outputs are apart."""
        if not self.is_general:
            return str(outputs * self.y_step)
        return {0: "0", 1: "y_step"}.get(outputs, f"{outputs} * y_step")


def depthwise_row(row: DepthwiseRow, to_int8: ToInt8) -> Instruction:
    """y[i * y_step] = stored(start[0] + sum over r, t of x[r][i * stride + t] * w[3 * r + t])."""
    y = Buffer("y", row.y_dtype, 0, Role.OUTPUT)
    x = Buffer("x", DType.I8, 0, Role.ROWS, KERNEL)
    w = Buffer("w", DType.I8, KERNEL * KERNEL, Role.CONSTANT)
    text = _Text(row, to_int8)
    start, *scales = (Buffer(name, DType.I32, 1, Role.LOCAL) for name in text.constants)
    total = Buffer("sum", DType.I32, 1, Role.LOCAL)
    i, r, t = variable("i"), variable("r"), variable("t")
    pixel = i * row.stride + t
    value = load(x, pixel, r) if row.edges is None else row.edges.value(x, 0, pixel, r)
    product = Binary("*", value, load(w, r * KERNEL + t))
    windows = For("r", KERNEL, (For("t", KERNEL, (Accumulate(at(total), product),)),))
    stored = Apply(to_int8.store, (load(total), *(load(s) for s in scales)))
    once = (Declare(total), Store(at(total), load(start)), windows, Store(at(y, i * row.y_step), stored))
    given = ", ".join(f"{{{name}[0]}}" for name in text.constants)
    numbers = "".join(f"{{{name}}}, " for name, _ in row.numbers)
    return Instruction(
        name=text.name,
        params=(y, start, *scales, x, w),
        body=(For("i", row.outputs, once),),
        call=(f"{text.name}(\n    {{y}}, {numbers}{given},\n    {{x[0]}}, {{x[1]}}, {{x[2]}}, {{w}});"),
        definition=text.definition,
        numbers=row.numbers,
        includes=("string.h",),
        needs=(to_int8.store, *(to_int8.parts.needs if to_int8.parts is not None else ())),
        machine_instructions=text.definition.count(_END_OF_ASM_LINE),
    )


@dataclass(frozen=True, slots=True)
class _Text:
    """The C function of a row. With gcc two outputs stay in registers until they are stored."""

    row: DepthwiseRow
    to_int8: ToInt8

    @property
    def name(self) -> str:
        return f"{self.row.name}_{self.to_int8.store.name}"

    @property
    def constants(self) -> tuple[str, ...]:
        return ("start", "scale", "shift", *(("rounding",) if self.to_int8.prepare is not None else ()))

    @property
    def definition(self) -> str:
        says = f"/* Outputs of 3x3 windows along planes, stride {self.row.stride}, two at a time;"
        lines = [
            says,
            "   reads one byte past windows and weights. */",
            f"static inline void {self.name}(",
            f"    {', '.join([f'{self.row.y_dtype.c_name} *y', *_ints(n for n, _ in self.row.numbers)])},",
            f"    {', '.join(_ints(self.constants))},",
            "    const int8_t *x0, const int8_t *x1, const int8_t *x2, const int8_t *w)",
            "{",
            *_TAPS,
            *self._constants_in_memory(),
            *self._margin(),
            *(self._written_out() if self.row.is_short else self._looped()),
            "}",
        ]
        return "\n".join(lines) + "\n"

    def _constants_in_memory(self) -> list[str]:
        if self.to_int8.parts is None:
            return []
        return [
            "#ifndef __clang__ /* all registers are taken: the channel's constants stay in memory */",
            "    const int32_t start_twice = start * 2, scales[2] = {scale, rounding};",
            *(f'    __asm__("sadd16 %0, %0, %0" : "+r"({taps}));' for taps in (*_OUTER, *_MIDDLE)),
            "#endif",
        ]

    def _margin(self) -> list[str]:
        edges = self.row.edges
        return [] if edges is None else [f"    const int32_t zero = {edges.zero_point}; /* beside a plane */"]

    def _looped(self) -> list[str]:
        """Without margins the blocks at the edges stand before the loop and behind it."""
        blocks = blocks_of(self.row.outputs, self.row.stride, self.row.edges)
        before = [block for block in blocks[:1] if block.left]
        behind = [block for block in blocks[-1:] if block.right]
        at_first = [line for block in before for line in ("    {", *self._block(block), "    }")]
        moved = [f"    y += {self.row.steps(2)};"] if before else []
        return [*at_first, *moved, *self._loop(len(before), len(behind)), *self._last(behind)]

    def _loop(self, before: int, behind: int) -> list[str]:
        """Over pairs of outputs; so many blocks have been or will be taken out of it."""
        outputs, c_type = 2 * self.row.turns, self.row.y_dtype.c_name
        step = self.row.steps(outputs)
        pairs = [self._block(Block(first, 2, self.row.stride)) for first in range(0, outputs, 2)]
        body = pairs[0] if len(pairs) == 1 else [line for pair in pairs for line in ("    {", *pair, "    }")]
        taken = before + (behind if self.row.outputs % 2 == 0 else 0)
        turns = f"outputs / {outputs}" if not taken else f"(outputs / {outputs} - {taken})"
        return [
            f"    {c_type} *const end = y + {turns} * {step};",
            f"    for (; y != end; y += {step}) {{",
            *body,
            "    }",
        ]

    def _last(self, behind: list[Block]) -> list[str]:
        if self.row.edges is None:
            single = self._block(Block(0, 1, self.row.stride))
            return ["    if (outputs % 2 != 0) {", *single, "    }"]
        rest = [Block(0, 1, self.row.stride)] if self.row.outputs % 2 else []
        blocks = [replace(block, first=0, left=False) for block in behind or rest]
        return [line for block in blocks for line in ("    {", *self._block(block), "    }")]

    def _written_out(self) -> list[str]:
        """A short row without a loop."""
        blocks = blocks_of(self.row.outputs, self.row.stride, self.row.edges)
        return [line for block in blocks for line in ("    {", *self._block(block), "    }")]

    def _block(self, block: Block) -> list[str]:
        """One or two outputs, the first of them at y[first * step]."""
        if self.to_int8.parts is None:
            return self._in_c(block)
        return [
            "#ifdef __clang__",
            *self._in_c(block),
            "#else",
            *self._in_asm(block),
            "#endif",
        ]

    def _in_c(self, block: Block) -> list[str]:
        together = block.together
        scales = ", ".join(self.constants[1:])
        stores = [f"{self.to_int8.store.name}(sum{n}, {scales})" for n in range(together)]
        lines = [f"        int32_t {', '.join(f'sum{n} = start' for n in range(together))};"]
        for r in range(KERNEL):
            lines += _asm(window_row(block, r), block, (r,), ())
        return [*lines, *self._stored(block.first, stores)]

    def _in_asm(self, block: Block) -> list[str]:
        parts, together = self.to_int8.parts, block.together
        assert parts is not None
        sums = [f"%[sum{n}]" for n in range(together)]
        text = ["ldr %[sum0], %[start]", *(["mov %[sum1], %[sum0]"] if together == 2 else [])]
        for r in range(KERNEL):
            text += window_row(block, r)
        text += _requantised(sums, parts.adds_sign)
        stores = [parts.clamped.format(v=f"sum{n}") for n in range(together)]
        lines = [f"        int32_t {', '.join(f'sum{n}' for n in range(together))};"]
        return [*lines, *_asm(text, block, range(KERNEL), _IN_MEMORY), *self._stored(block.first, stores)]

    def _stored(self, first: int, values: list[str]) -> list[str]:
        c_type = self.row.y_dtype.c_name
        places = [self.row.steps(first + n) for n in range(len(values))]
        return [
            f"        y[{place}] = ({c_type}){value};" for place, value in zip(places, values, strict=True)
        ]


def _ints(names: Iterable[str]) -> list[str]:
    return [f"int32_t {name}" for name in names]


_TAPS = (
    "    int32_t taps02[3], tap1[3], even, odd;",
    "    for (int32_t r = 0; r < 3; ++r) {",
    "        uint32_t taps;",
    "        memcpy(&taps, w + 3 * r, sizeof taps);",
    '        __asm__("sxtb16 %0, %1" : "=r"(taps02[r]) : "r"(taps));',
    '        __asm__("sxtb16 %0, %1, ror #8" : "=r"(tap1[r]) : "r"(taps));',
    "    }",
    "    /* Rows 0 and 1 share a register for their middle taps. */",
    '    __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(tap1[0]) : "r"(tap1[0]), "r"(tap1[1]));',
)
_IN_MEMORY = (
    '[start] "m"(start_twice)',
    '[scales] "m"(scales)',
    '[rounding] "m"(scales[1])',
    '[shift] "m"(shift)',
)
_OUTER = ("taps02[0]", "taps02[1]", "taps02[2]")
_MIDDLE = ("tap1[0]", "tap1[2]")


def _requantised(sums: list[str], adds_sign: bool) -> list[str]:
    """Doubled sums times the scale plus the rounding term, shifted to the right."""
    text = ["ldrd %[even], %[odd], %[scales]"]
    for n, total in enumerate(sums):
        if adds_sign:
            text += [*(["ldr %[odd], %[rounding]"] if n else []), f"add %[odd], %[odd], {total}, asr #31"]
        text.append(f"smmlar {total}, {total}, %[even], %[odd]")
    return [*text, "ldr %[even], %[shift]", *(f"asr {total}, {total}, %[even]" for total in sums)]


def _asm(text: list[str], block: Block, rows: Sequence[int], memory: tuple[str, ...]) -> list[str]:
    kept = "=&r" if memory else "+r"
    moved = [
        *(f'[sum{n}] "{kept}"(sum{n})' for n in range(block.together)),
        *(f'[x{r}] "+r"(x{r})' for r in rows),
    ]
    middle = sorted({MIDDLE_OF_ROW[r][0] for r in rows})
    taken = [
        *(f'[outer{r}] "r"({_OUTER[r]})' for r in rows),
        *(f'[middle{register}] "r"({_MIDDLE[register]})' for register in middle),
        *(['[zero] "r"(zero)'] if block.left or block.right else []),
    ]
    behind = [f"              {', '.join(memory)}"] if memory else []
    return [
        "        __asm__ volatile(",
        *[f'            "{line}\\n\\t"' for line in text],
        f"            : {', '.join(moved)},",
        '              [even] "=&r"(even), [odd] "=&r"(odd)',
        f"            : {', '.join(taken)}{',' if memory else ''}",
        *behind,
        '            : "memory");',
    ]
