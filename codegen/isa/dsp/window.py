"""Cortex-M DSP extension: 3x3 windows along planes: products of one kernel row; all sums in registers.

One word holds pixels 0..3; SXTB16 gives the pairs (0, 2) and (1, 3). If a plane has no padding, PKHBT inserts
the zero point into the half of a pair that is outside. This costs one instruction per row of a window past an
edge, and none if the window's last pixel has a separate multiplication.

`window_sums` are those of up to six neighboring windows. A row of the windows is one or two words of pixels,
0..3 and 4..7. SXTB16 widens each to the pairs (0, 2) and (1, 3). SMLAD multiplies a pair by a row's outer
taps, the pairs that cross both words are made by PKHBT, and one half of a pair is multiplied by the middle
tap. So each word of pixels is loaded and widened once for all its outputs. The taps of a row are loaded from
the channel's record when they are needed, because six sums and four pairs leave no registers for nine of
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from aot.ir.types import Array, DType
from aot.wording import counted
from codegen.isa.asm import FEW_REGISTERS
from codegen.isa.dsp.needs import ANY_WORDS
from codegen.loops.affine import Affine
from codegen.loops.ir import Buffer, Choose, Const, Expr, Index, Instruction, ScalarFunction, less, load

KERNEL = 3
_LOADS = {1: "ldrsb", 2: "ldrh", 3: "ldr", 4: "ldr", 5: "ldr"}  # by pixels inside the plane
_WORD = 4


@dataclass(frozen=True, slots=True)
class Edges:
    """An unpadded plane: its `width` in pixels, and the 0 or 1 pixels of the first window before it."""

    width: int
    left: int
    zero_point: int

    @property
    def name(self) -> str:
        return f"_plane_{self.width}_left_{self.left}_outside_{self.zero_point}".replace("-", "m")

    @property
    def said(self) -> str:
        """Describes it in a comment."""
        first = "before it" if self.left else "in it"
        return f"of planes of {self.width} without padding, the first window beginning {first}"

    def value(self, x: Buffer, plane: Affine | int, pixel: Affine, row: Affine) -> Expr:
        """Returns the value of a pixel, counted from the first window's start in its plane.

        Pixels outside of the plane have the zero point.
        """
        padding = Const(self.zero_point)
        here = load(x, pixel - self.left + plane, row)
        before, within = (less(Index(pixel), self.left + n) for n in (0, self.width))
        return Choose(before, padding, Choose(within, here, padding))


@dataclass(frozen=True, slots=True)
class WindowBlock:
    """One output or two neighbors, and whether the first and last window extend past an edge."""

    first: int
    together: int
    stride: int
    left: bool = False
    right: bool = False

    @property
    def inside(self) -> int:
        """Returns how many pixels of the windows are inside the plane."""
        return self.stride * (self.together - 1) + KERNEL - self.left - self.right

    @property
    def loaded(self) -> int:
        """Returns the pixels from the first one inside to the last one loaded."""
        return max(self.inside, _WORD) if _LOADS[self.inside] == "ldr" else self.inside


def blocks_of(outputs: int, stride: int, edges: Edges | None) -> tuple[WindowBlock, ...]:
    """Returns all outputs of a row, two at a time."""
    blocks = []
    for first in range(0, outputs, 2):
        together = min(2, outputs - first)
        left, right = False, False
        if edges is not None:
            left = first == 0 < edges.left
            right = (first + together - 1) * stride + KERNEL - edges.left > edges.width
        blocks.append(WindowBlock(first, together, stride, left, right))
    return tuple(blocks)


def read_past(outputs: int, stride: int, edges: Edges) -> int:
    """Returns how many bytes after a plane are loaded and not used."""
    ends = (
        max(block.first * stride - edges.left, 0) + block.loaded
        for block in blocks_of(outputs, stride, edges)
    )
    return max(0, max(ends) - edges.width)


def window_row(block: WindowBlock) -> list[str]:
    """Returns a kernel row's products for the outputs of a block.

    {x} is the operand that points to its pixels. {outer} and {middle} have its taps; the middle one is in the
    half {half}.
    """
    taps, tap, half = "%[{outer}]", "%[{middle}]", "{half}"
    text = [
        *(_pairs_at_the_left(block) if block.left else _pairs(block)),
        *_padding_at_the_right(block),
        f"smlad %[sum0], %[even], {taps}, %[sum0]",
        f"smlab{half} %[sum0], %[odd], {tap}, %[sum0]",
    ]
    if block.together == 1:
        return text
    if block.stride == 1:
        return [
            *text,
            f"smlad %[sum1], %[odd], {taps}, %[sum1]",
            f"smlat{half} %[sum1], %[even], {tap}, %[sum1]",
        ]
    return [
        *text,
        f"smlatb %[sum1], %[even], {taps}, %[sum1]",
        f"smlat{half} %[sum1], %[odd], {tap}, %[sum1]",
        *_last_pixel(block),
    ]


def _pairs(block: WindowBlock) -> list[str]:
    return [
        f"{_LOADS[block.inside]} %[odd], [%[{{x}}]], #{block.stride * block.together}",
        "sxtb16 %[even], %[odd]",
        "sxtb16 %[odd], %[odd], ror #8",
    ]


def _pairs_at_the_left(block: WindowBlock) -> list[str]:
    """Returns the loads at the left edge, where pixel 0 is the window's second and padding precedes it."""
    step = block.stride * block.together - 1
    last = ["smlatt %[sum1], %[even], %[{outer}], %[sum1]"]
    return [
        f"{_LOADS[block.inside]} %[even], [%[{{x}}]]{f', #{step}' if step else ''}",
        "sxtb16 %[odd], %[even]",
        "sxtb16 %[even], %[even], ror #8",
        *(last if _has_last_pixel(block) and not block.right else []),
        "pkhbt %[even], %[zero], %[even], lsl #16",
    ]


def _padding_at_the_right(block: WindowBlock) -> list[str]:
    """Inserts the zero point into the upper half of the last window's last pair."""
    if not block.right or _has_last_pixel(block):
        return []
    pair = "odd" if block.together == 2 else "even"
    return [f"pkhbt %[{pair}], %[{pair}], %[zero], lsl #16"]


def _has_last_pixel(block: WindowBlock) -> bool:
    """Returns True if the last window ends with a pixel that is in no pair."""
    return block.together == 2 == block.stride


def _last_pixel(block: WindowBlock) -> list[str]:
    if block.right:
        return ["smlabt %[sum1], %[zero], %[{outer}], %[sum1]"]
    if block.left:
        return []
    return ["ldrsb %[even], [%[{x}]]", "smlabt %[sum1], %[even], %[{outer}], %[sum1]"]


MOST_OUTPUTS = 6
READ_AHEAD = 3  # unused bytes loaded past the last window
_TEMPORARY = ("t", "u", "a", "b", "c", "d")  # taps, and pairs of pixels
_IN_REGISTERS = 5  # sums that leave a register for the offset

# A channel's record: its taps row by row, between them an addend or a shift; its start value, its scale.
TAP_PLACES = (0, 1, 2, 5, 6, 7, 8, 9, 10)
ADDEND_PLACE, START_PLACE, SCALE_PLACE, RECORD_BYTES = 3, 12, 16, 20


def records(taps: Array, start: Array, scale: Array, addend: Array) -> Array:
    """Returns the bytes of all channels' records; taps are [channel][position in the window]."""
    made = np.zeros((len(taps), RECORD_BYTES), np.int8)
    made[:, TAP_PLACES] = taps
    for place, values in ((ADDEND_PLACE, addend), (START_PLACE, start), (SCALE_PLACE, scale)):
        data = np.ascontiguousarray(values.astype(values.dtype.newbyteorder("<"))).view(np.int8)
        made[:, place : place + values.dtype.itemsize] = data.reshape(len(taps), -1)
    return made.reshape(-1)


@dataclass(frozen=True, slots=True)
class WindowSums:
    """The sums of that many neighboring outputs."""

    outputs: int  # up to MOST_OUTPUTS
    stride: int
    advances: bool = False  # the pointers to rows, past these outputs; otherwise all rows have one offset

    @property
    def name(self) -> str:
        return f"window_sums_{self.outputs}_stride_{self.stride}{'_advancing' if self.advances else ''}"

    @property
    def step(self) -> int:
        """Returns the pixels from these outputs' first window to the next outputs' first one."""
        return self.outputs * self.stride

    @property
    def is_offset_loaded(self) -> bool:
        """Returns True if no register is left for the offset."""
        return not self.advances and self.outputs > _IN_REGISTERS

    @property
    def sums(self) -> tuple[str, ...]:
        return tuple(f"sum{n}" for n in range(self.outputs))

    @property
    def of_words(self) -> Iterator[range]:
        """Yields the outputs that are computed from the same two words."""
        most = MOST_OUTPUTS // self.stride
        return (range(n, min(n + most, self.outputs)) for n in range(0, self.outputs, most))


@lru_cache(maxsize=16)
def window_sums(sums: WindowSums) -> Instruction:
    """Returns the function that computes the sums. It has no meaning as loops: no nest contains it."""
    lines = _lines(sums)
    return Instruction(
        sums.name,
        (),
        (),
        "",
        _text(sums, lines),
        includes=("arm_acle.h", "string.h"),
        calls=(FEW_REGISTERS, _IN_C),
        needs=ANY_WORDS,
        machine_instructions=len(lines),
        is_asm=True,
        own_registers=len(_TEMPORARY),
    )


def _lines(sums: WindowSums) -> list[str]:
    return [line for row in range(KERNEL) for line in _row(sums, row)]


def _row(sums: WindowSums, row: int) -> Iterator[str]:
    """Yields a kernel row's products. The first row's outer ones begin all sums with the last one's value."""
    for outputs in sums.of_words:
        is_first, is_last = outputs.start == 0, outputs.stop == sums.outputs
        pixels = (len(outputs) - 1) * sums.stride + KERNEL
        yield from _begin(sums, row, is_first)
        first = outputs.start * sums.stride
        yield f"ldr %[b], [%[a], #{first}]"
        if pixels > _WORD:
            yield f"ldr %[d], [%[a], #{first + _WORD}]"
        if sums.advances and is_last:
            yield from (f"add %[a], %[a], #{sums.step}", f"str %[a], %[row{row}]")
        yield from _taps(row) if sums.advances and is_first else ()
        yield from ("sxtb16 %[a], %[b]", "sxtb16 %[b], %[b], ror #8")
        if pixels > _WORD:
            yield from ("sxtb16 %[c], %[d]", "sxtb16 %[d], %[d], ror #8")
        yield from _products(sums, row, outputs)


def _begin(sums: WindowSums, row: int, is_first: bool) -> Iterator[str]:
    """Yields the loads of the row's address and taps; what an addition needs is loaded before others."""
    yield f"ldr %[a], %[row{row}]" if sums.advances else f"ldr %[a], [%[x], #{_WORD * row}]"
    if sums.is_offset_loaded:
        yield "ldr %[b], %[offset]"
    if is_first:
        yield f"ldr %[t], [%[w], #{_WORD * row}]"
    if not sums.advances:
        yield f"add %[a], %[a], %[{'b' if sums.is_offset_loaded else 'offset'}]"
        yield from _taps(row) if is_first else ()


def _taps(row: int) -> Iterator[str]:
    """Yields the outer taps in t and the middle one in a half of u."""
    even, odd = ("u", "t") if row == 1 else ("t", "u")
    yield from (
        (f"sxtb16 %[{odd}], %[t], ror #8", f"sxtb16 %[{even}], %[t]")
        if even == "t"
        else (f"sxtb16 %[{even}], %[t]", f"sxtb16 %[{odd}], %[t], ror #8")
    )


# The order of products, by stride: the output, its pixels, and the half of them, empty for both outer ones.
# Pairs across the words replace a pair that no later line reads.
_ORDER = {
    1: (
        *((0, "a", ""), (1, "b", ""), (0, "b", "b"), (1, "a", "t"), (2, "ca", ""), (2, "b", "t")),
        *((3, "db", ""), (4, "c", ""), (5, "d", ""), (3, "c", "b"), (4, "d", "b"), (5, "c", "t")),
    ),
    2: ((0, "a", ""), (0, "b", "b"), (1, "ca", ""), (2, "c", ""), (1, "b", "t"), (2, "d", "b")),
}


def _products(sums: WindowSums, row: int, outputs: range) -> Iterator[str]:
    middle = "t" if row == 1 else "b"
    for number, pixels, half in _ORDER[sums.stride]:
        n = outputs.start + number
        if n not in outputs:
            continue
        total = f"%[s{n}]"
        if half:
            yield f"smla{half}{middle} {total}, %[{pixels}], %[u], {total}"
            continue
        pair, crosses = pixels[-1], len(pixels) > 1
        if crosses:
            yield f"pkhbt %[{pair}], %[{pixels[0]}], %[{pair}]"
        before = f"%[s{sums.outputs - 1}]" if row == 0 else total
        yield f"smlad{'x' if crosses else ''} {total}, %[{pair}], %[t], {before}"


def _text(sums: WindowSums, lines: list[str]) -> str:
    last, step = sums.sums[-1], sums.step
    operands = [f'[s{n}] "{"+" if name == last else "=&"}r"(*{name})' for n, name in enumerate(sums.sums)]
    temporary = [f'[{name}] "=&r"({name})' for name in _TEMPORARY]
    rows = [f'[row{n}] "+m"(x[{n}])' for n in range(KERNEL)] if sums.advances else []
    offset = f'[x] "r"(x), [offset] "{"m" if sums.is_offset_loaded else "r"}"(offset), '
    given = "const int8_t **x" if sums.advances else "const int8_t *const *x, int32_t offset"
    reads = f"reads up to {counted(READ_AHEAD, 'byte')} past them"
    text = [
        f"/* Sums of {counted(sums.outputs, '3x3 window')} along planes, stride {sums.stride}; {reads}. */",
        f"static inline __attribute__((always_inline)) void {sums.name}(",
        f"    {', '.join(f'int32_t *{name}' for name in sums.sums)},",
        f"    int32_t start, {given}, const int8_t *w)",
        "{",
        "#ifdef FEW_REGISTERS",
        *(
            f"    *{name} = window_sum_in_c(start, {_place(sums, n * sums.stride)}, w);"
            for n, name in enumerate(sums.sums)
        ),
        *([f"    x[0] += {step}, x[1] += {step}, x[2] += {step};"] if sums.advances else []),
        "#else",
        f"    int32_t {', '.join(_TEMPORARY)};",
        f"    *{last} = start;",
        "    __asm__ volatile(",
        *_in_twos([f'"{line}\\n\\t"' for line in lines]),
        f"        : {', '.join(operands)},",
        f"          {', '.join([*temporary, *rows])}",
        f'        : {"" if sums.advances else offset}[w] "r"(w)',
        '        : "memory");',
        "#endif",
        "}",
    ]
    return "\n".join(text) + "\n"


def _in_twos(lines: list[str]) -> list[str]:
    return [f"        {' '.join(lines[first : first + 2])}" for first in range(0, len(lines), 2)]


def _place(sums: WindowSums, pixels: int) -> str:
    """Returns C code for the rows and the offset of a window, so many pixels past the first one."""
    if sums.advances:
        return f"(const int8_t *const *)x, {pixels}"
    return f"x, offset{f' + {pixels}' if pixels else ''}"


_IN_C = ScalarFunction(
    "window_sum_in_c",
    DType.I32,
    """\
#ifdef FEW_REGISTERS
/* The outer taps of each row are a factor of SMLAD; row 1 has its taps a byte further in its word. */
static inline __attribute__((always_inline)) int32_t window_sum_in_c(
    int32_t sum, const int8_t *const *x, int32_t offset, const int8_t *w)
{
    for (int32_t r = 0; r < 3; ++r) {
        int32_t taps, pixels;
        memcpy(&taps, w + r * 4, sizeof taps);
        memcpy(&pixels, x[r] + offset, sizeof pixels);
        taps = r == 1 ? taps >> 8 : taps;
        sum = __smlad(__sxtb16(pixels), __sxtb16(taps), sum) + (int8_t)(pixels >> 8) * (int8_t)(taps >> 8);
    }
    return sum;
}
#endif
""",
    lambda *_: 0,
    includes=("arm_acle.h", "string.h"),
    needs=ANY_WORDS,
)
