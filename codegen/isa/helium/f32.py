"""Helium, vectors of four floats: sums of a tile of pixels and channels from their start to their store.

Vector instructions treat subnormal numbers as zero, and every NaN that they compute is the same one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from aot.ops.activation import Activation
from aot.target import Feature
from codegen.isa.helium import INCLUDES, NEEDS
from codegen.isa.plain.f32 import literal
from codegen.kernels.f32_tiles import WEIGHTS, TileResults
from codegen.loops.ir import (
    Buffer,
    For,
    Instruction,
)

FLOAT_NEEDS = NEEDS | {Feature.FPU}  # a core with both computes floats in vectors
FOURS = 4  # floats in a vector
_ENDS = 12  # instructions of a tile besides sums
_STACK_BYTES = 40  # for pointers that the statement leaves no registers
_FEW_REGISTERS = 2  # that a statement may use without doing so


def _limit(name: str, says: str, compared: str, intrinsic: str) -> Instruction:
    """Returns C code that instructions share: a vector clamped on one side. GT is false for NaN, LT true."""
    definition = f"""\
/* {says}; NaN stays NaN. gcc would move each predicate to a core register and back. */
static inline __attribute__((always_inline)) float32x4_t {name}(float32x4_t v, float32x4_t limit)
{{
#ifdef __clang__
    return vpselq_f32(limit, v, vcmpgtq_f32({intrinsic}));
#else
    __asm__("vpt.f32 gt, {compared}\\n\\tvmovt %q0, %q1" : "+w"(v) : "w"(limit) : "p0");
    return v;
#endif
}}
"""
    return Instruction(name, (), (), "", definition, INCLUDES, needs=FLOAT_NEEDS)


AT_LEAST = _limit("reals_at_least", "The larger of a number and its limit", "%q1, %q0", "limit, v")
AT_MOST = _limit("reals_at_most", "The smaller of a number and its limit", "%q0, %q1", "v, limit")


def _limits(activation: Activation) -> tuple[tuple[Instruction, float], ...]:
    """Returns the functions with the finite limits of an activation, in the order of clamp_f32."""
    low, high = activation.real_limits
    return tuple((f, limit) for f, limit in ((AT_MOST, high), (AT_LEAST, low)) if math.isfinite(limit))


def clamps(activation: Activation) -> tuple[Instruction, ...]:
    """Returns the functions that `clamped` calls."""
    return tuple(function for function, _ in _limits(activation))


def limits_declared(activation: Activation) -> list[str]:
    """Returns the C statements that declare vectors of an activation's limits."""
    return [
        f"const float32x4_t limit{n} = vdupq_n_f32({literal(limit)});"
        for n, (_, limit) in enumerate(_limits(activation))
    ]


def clamped(value: str, activation: Activation) -> str:
    """Returns C code of a vector within those limits."""
    for n, function in enumerate(clamps(activation)):
        value = f"{function.name}({value}, limit{n})"
    return value


@dataclass(frozen=True, slots=True)
class FloatResults(TileResults):
    """Results of a tile, with a vector for each four channels."""

    @property
    def lanes(self) -> tuple[int, ...]:
        """Returns the channels in each vector. Other lanes of the last one are not stored."""
        return tuple(min(FOURS, self.channels - first) for first in range(0, self.channels, FOURS))

    @property
    def reads_ahead(self) -> int:
        """Returns how many elements after the last channel's are loaded with them."""
        return -self.channels % FOURS

    @property
    def names(self) -> list[str]:
        """Returns the C variables of the sums, by pixel."""
        return [f"a{i}_{v}" for i in range(self.pixels) for v in range(len(self.lanes))]

    @property
    def clamps(self) -> tuple[Instruction, ...]:
        """Returns the functions that clamp results."""
        return clamps(self.activation)

    def begun(self) -> list[str]:
        """Returns the C statements that declare the sums."""
        firsts = [
            f"float32x4_t a0_{v} = {loaded(f'start + {FOURS * v}', lanes)};"
            if self.has_start
            else f"float32x4_t a0_{v} = vdupq_n_f32(0.0f);"
            for v, lanes in enumerate(self.lanes)
        ]
        others = [
            f"float32x4_t a{i}_{v} = a0_{v};" for i in range(1, self.pixels) for v in range(len(self.lanes))
        ]
        return [*firsts, *others]

    def stored(self) -> list[str]:
        """Returns the C statements that clamp and store the sums."""
        stores = [
            self._store(f"y + {i * self.y_step + FOURS * v * self.y_channel_step}", f"a{i}_{v}", lanes)
            for i in range(self.pixels)
            for v, lanes in enumerate(self.lanes)
        ]
        return [*limits_declared(self.activation), *stores]

    def _store(self, place: str, value: str, lanes: int) -> str:
        value = clamped(value, self.activation)
        masked, mask = ("", "") if lanes == FOURS else ("_p", f", vctp32q({lanes})")
        if self.y_channel_step == 1:
            return f"vstrwq{masked}_f32({place}, {value}{mask});"
        places = f"vmulq_n_u32(vidupq_n_u32(0, 1), {self.y_channel_step})"
        return f"vstrwq_scatter_shifted_offset{masked}_f32({place}, {places}, {value}{mask});"


@dataclass(frozen=True, slots=True)
class WindowAsm:
    """The assembly of a window's sums, which moves the pointer w, and p for each row, or x for a single one.

    It is one statement; otherwise compilers group loads and spill sums.
    """

    lines: tuple[str, ...]
    vectors: tuple[str, ...]  # registers besides the sums
    registers: tuple[str, ...]  # core registers besides pointers
    numbers: Mapping[str, int]  # that it needs in core registers

    def statements(self, results: FloatResults, rows: int) -> list[str]:
        """Returns the C statements."""
        text = "\n".join(self.lines)
        moved = [*(f'[{n}] "+w"({n})' for n in results.names), *(f'[{n}] "=&w"({n})' for n in self.vectors)]
        pointers = ("p",) if rows > 1 else ()
        temporary = (*self.registers, *pointers)
        moved += ['[w] "+r"(w)', '[x] "+r"(x)', *(f'[{n}] "=&r"({n})' for n in temporary)]
        given = [*(["offset"] if rows > 1 else []), *self.numbers]
        clobbered = [*(["lr"] if "dls" in text else []), *(["cc"] if "subs" in text else []), "memory"]
        return [
            f"float32x4_t {', '.join(self.vectors)};",
            *([f"int32_t {', '.join(self.registers)};"] if self.registers else []),
            *(f"const int32_t {name} = {value};" for name, value in self.numbers.items()),
            *(["const float *p;"] if rows > 1 else ["(void)offset;"]),
            "__asm__ volatile(",
            *(f'    "{line}\\n\\t"' for line in self.lines),
            f"    : {', '.join(moved)}",
            f"    : {', '.join(f'[{n}] {_QUOTE}r{_QUOTE}({n})' for n in given)}".rstrip(),
            f"    : {', '.join(f'{_QUOTE}{n}{_QUOTE}' for n in clobbered)});",
        ]


_QUOTE = '"'


def window_instruction(
    name: str, says: str, results: FloatResults, nest: For, x: Buffer, asm: WindowAsm
) -> Instruction:
    """Returns the instruction that computes a tile. `says` describes its windows."""
    start, y = results.buffers
    has_rows = x.rows > 1
    row = "const float *const *x" if has_rows else "const float *x"
    begin = ", const float *start" if results.has_start else ""
    body = (*results.begun(), *asm.statements(results, x.rows), *results.stored())
    lines = [
        f"/* {results.pixels} pixels by {results.channels} channels, {says}. */",
        f"static inline __attribute__((always_inline)) void {name}(",
        f"    float *y, {row}, int32_t offset, const float *w{begin})",
        "{",
        *(f"    {line}" for line in body),
        "}",
    ]
    given = "{x_array}, {x_offset}" if has_rows else "{x}, 0"
    own_registers = len(asm.registers) + len(asm.numbers) + has_rows
    return Instruction(
        name=name,
        params=(y, x, WEIGHTS, *((start,) if results.has_start else ())),
        body=(nest,),
        call=f"{name}(\n    {{y}}, {given}, {{w}}{', {start}' if results.has_start else ''});",
        definition="\n".join(lines) + "\n",
        includes=INCLUDES,
        calls=results.clamps,
        needs=FLOAT_NEEDS,
        machine_instructions=len(asm.lines) + _ENDS + 4 * len(results.names),
        stack_bytes=_STACK_BYTES if own_registers > _FEW_REGISTERS else 0,
        is_asm=True,
        own_registers=own_registers,
        own_vectors=len(results.names) + len(asm.vectors),
    )


def rows_of_window(rows: int, row: Callable[[str], Sequence[str]], has_loop: bool) -> list[str]:
    """Returns the assembly of all rows. `row` returns that of one, and `has_loop` if it ends with LE."""
    if rows == 1:
        return list(row("x"))
    lines = ["ldr %[p], [%[x]], #4", "add %[p], %[p], %[offset], lsl #2", *row("p")]
    if has_loop:
        return [f"mov %[count], #{rows}", "2:", *lines, "subs %[count], #1", "bne 2b"]
    return [*loop_of(rows), "2:", *lines, "le lr, 2b"]


def loop_of(turns: int) -> list[str]:
    """Returns the start of a loop that ends with LE."""
    low, high = turns % (1 << 16), turns >> 16
    return [f"movw lr, #{low}", *([f"movt lr, #{high}"] if high else []), "dls lr, lr"]


def loaded(place: str, lanes: int) -> str:
    """Returns the load of a vector, or of its first lanes and zeros."""
    return f"vldrwq_f32({place})" if lanes == FOURS else f"vldrwq_z_f32({place}, vctp32q({lanes}))"
