"""Cortex-M DSP extension, depthwise: a row of 3x3 windows over planes, sums left in 32 bits.

In planes the pixels of a channel are side by side. One word holds pixels 0..3; SXTB16 gives the
pairs (0, 2) and (1, 3). With a kernel row's taps as (0, 2) and (1), output 0 is even.taps02 +
odd.low * tap1 and output 1, one pixel on, is odd.taps02 + even.high * tap1: four multiplications
for six products. The nine weights of a channel stay in five registers along the whole row.
"""

from __future__ import annotations

from dataclasses import dataclass

from aot.ir.types import DType
from codegen.instr.instruction import Instruction
from codegen.loops.affine import variable
from codegen.loops.ir import Accumulate, Binary, Buffer, For, Role, Store, at, load

KERNEL = 3
STRIDES = (1, 2)
_SHORT = 4  # outputs of a row whose loop would cost more than its code
_END_OF_ASM_LINE = "\\n\\t"
READ_AHEAD = 1  # bytes past a window, and past a channel's weights, that are loaded and not used


@dataclass(frozen=True, slots=True)
class DepthwiseRow:
    outputs: int
    stride: int
    is_general: bool = False  # one function for any number of outputs

    @property
    def name(self) -> str:
        return f"depthwise_3x3_stride_{self.stride}" + (f"_of_{self.outputs}" if self.is_short else "")

    @property
    def together(self) -> int:
        """Outputs that come from the same words."""
        return 2 if self.stride == 1 else 1

    @property
    def is_short(self) -> bool:
        return self.outputs <= _SHORT and not self.is_general


def depthwise_row(row: DepthwiseRow) -> Instruction:
    """sums[i] = start[0] + sum over r, t of x[r][i * stride + t] * w[3 * r + t]."""
    sums = Buffer("sums", DType.I32, row.outputs, Role.SCRATCH)
    start = Buffer("start", DType.I32, 1, Role.LOCAL)
    x = Buffer("x", DType.I8, 0, Role.ROWS, KERNEL)
    w = Buffer("w", DType.I8, KERNEL * KERNEL, Role.CONSTANT)
    i, r, t = variable("i"), variable("r"), variable("t")
    product = Binary("*", load(x, i * row.stride + t, r), load(w, r * KERNEL + t))
    windows = For("r", KERNEL, (For("t", KERNEL, (Accumulate(at(sums, i), product),)),))
    return Instruction(
        name=row.name,
        params=(sums, start, x, w),
        body=(For("i", row.outputs, (Store(at(sums, i), load(start)), windows)),),
        call=f"{row.name}({{sums}}, {{outputs}}, {{start[0]}}, {{x[0]}}, {{x[1]}}, {{x[2]}}, {{w}});",
        definition=_definition(row),
        numbers=(("outputs", row.outputs),),
        includes=("string.h",),
        machine_instructions=_definition(row).count(_END_OF_ASM_LINE),
    )


def _definition(row: DepthwiseRow) -> str:
    says = "two neighbours at a time" if row.together == 2 else "one at a time"
    lines = [
        f"/* Sums of 3x3 windows along planes, stride {row.stride}, {says};",
        "   reads one byte past windows and weights. */",
        f"static inline void {row.name}(",
        "    int32_t *sums, int32_t outputs, int32_t start,",
        "    const int8_t *x0, const int8_t *x1, const int8_t *x2, const int8_t *w)",
        "{",
        "    int32_t taps02[3], tap1[3], even, odd;",
        "    for (int32_t r = 0; r < 3; ++r) {",
        "        uint32_t taps;",
        "        memcpy(&taps, w + 3 * r, sizeof taps);",
        '        __asm__("sxtb16 %0, %1" : "=r"(taps02[r]) : "r"(taps));',
        '        __asm__("sxtb16 %0, %1, ror #8" : "=r"(tap1[r]) : "r"(taps));',
        "    }",
        "    /* Rows 0 and 1 share a register for their middle taps. */",
        '    __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(tap1[0]) : "r"(tap1[0]), "r"(tap1[1]));',
        *(_written_out(row) if row.is_short else _looped(row)),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _looped(row: DepthwiseRow) -> list[str]:
    covered = "outputs / 2 * 2" if row.together == 2 else "outputs"
    lines = [
        f"    for (int32_t *const end = sums + {covered}; sums != end; sums += {row.together}) {{",
        *_block(row.together, "sums", 0),
        "    }",
    ]
    if row.together == 2:
        lines += ["    if (outputs % 2 != 0) {", *_block(1, "sums", 0), "    }"]
    return lines


def _written_out(row: DepthwiseRow) -> list[str]:
    """A short row without a loop."""
    lines = ["    (void)outputs;"]
    for first in range(0, row.outputs, row.together):
        lines += ["    {", *_block(min(row.together, row.outputs - first), "sums", first), "    }"]
    return lines


def _block(together: int, sums: str, first: int) -> list[str]:
    pair = together == 2
    return [
        f"        int32_t sum0 = start{', sum1 = start' if pair else ''};",
        *_asm(pair),
        *(f"        {sums}[{first + n}] = sum{n};" for n in range(together)),
    ]


def _asm(pair: bool) -> list[str]:
    """All nine taps for one output or two neighbours, a statement per kernel row."""
    middle = (
        ("tap1[0]", "b"),
        ("tap1[0]", "t"),
        ("tap1[2]", "b"),
    )  # register and halfword of each row's middle tap
    lines = []
    for r, (tap, half) in enumerate(middle):
        lines += _row_asm(r, tap, half, pair)
    return lines


def _row_asm(r: int, tap: str, half: str, pair: bool) -> list[str]:
    text = [
        "ldr %[odd], [%[x]], #2",
        "sxtb16 %[even], %[odd]",
        "sxtb16 %[odd], %[odd], ror #8",
        "smlad %[sum0], %[even], %[taps], %[sum0]",
        *(["smlad %[sum1], %[odd], %[taps], %[sum1]"] if pair else []),
        f"smlab{half} %[sum0], %[odd], %[tap], %[sum0]",
        *([f"smlat{half} %[sum1], %[even], %[tap], %[sum1]"] if pair else []),
    ]
    sums = '[sum0] "+r"(sum0), ' + ('[sum1] "+r"(sum1), ' if pair else "")
    return [
        "        __asm__ volatile(",
        *[f'            "{line}\\n\\t"' for line in text],
        f'            : {sums}[x] "+r"(x{r}), [even] "=&r"(even), [odd] "=&r"(odd)',
        f'            : [taps] "r"(taps02[{r}]), [tap] "r"({tap})',
        '            : "memory");',
    ]
