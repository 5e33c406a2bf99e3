"""C code for blocks of one or two outputs of 3x3 windows along planes, as macros that rows share.

gcc keeps the sums of a block in registers until they are stored, in one statement that uses all registers.
clang reserves two of them, so there a statement computes one row of the windows, and C code requantizes the
sums. The macros select the variant, so that a row's code is the same for both compilers.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import cache

import numpy as np

from aot.ir.types import Array
from codegen.isa.asm import FEW_REGISTERS
from codegen.isa.dsp.needs import NEEDS
from codegen.isa.dsp.window import WindowBlock, window_row
from codegen.loops.affine import Affine
from codegen.loops.ir import Buffer, Expr, Instruction, ScalarFunction, load

# A channel's nine weights [kernel row][column], in the order in which few instructions make pairs of them:
# two words and a byte. Rows 0 and 1 of the windows share a register for their middle taps.
TAPS_ORDER = (0, 1, 2, 4, 3, 7, 5, 8, 6)
TAPS = """\
    int32_t taps02[3], tap1[3], even, odd;
    uint32_t first, second;
    memcpy(&first, w, sizeof first);
    memcpy(&second, w + 4, sizeof second);
    taps02[2] = w[8];
    __asm__("sxtb16 %0, %1" : "=r"(taps02[0]) : "r"(first));
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(tap1[0]) : "r"(first));
    __asm__("sxtb16 %0, %1" : "=r"(taps02[1]) : "r"(second));
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(tap1[2]) : "r"(second));
    __asm__("pkhbt %0, %0, %1" : "+r"(taps02[2]) : "r"(tap1[2]));"""
TAPS_BYTES = len(TAPS_ORDER)
# 4-bit weights are stored plus 8: four in the lower halves of bytes, and the next four in the upper halves.
_DIGITS, _HALF, _MASK = 4, 8, 15
FOUR_BIT_BYTES = _DIGITS + 1  # the last weight has a whole byte
FOUR_BIT_TAPS = TAPS.replace(
    """\
    memcpy(&first, w, sizeof first);
    memcpy(&second, w + 4, sizeof second);
    taps02[2] = w[8];
""",
    """\
    memcpy(&second, w, sizeof second);
    first = second & 0x0F0F0F0Fu;
    second = (second >> 4) & 0x0F0F0F0Fu;
    taps02[2] = w[4];
    __asm__("ssub8 %0, %0, %1" : "+r"(first) : "r"(0x08080808u));
    __asm__("ssub8 %0, %0, %1" : "+r"(second) : "r"(0x08080808u));
""",
)


def four_bit_taps(weights: Array) -> Array:
    """Packs weights [channel][position in `TAPS_ORDER`] into five bytes per channel."""
    low, high, last = np.split(weights.astype(np.int16), (_DIGITS, 2 * _DIGITS), axis=1)
    both = (low + _HALF) | (high + _HALF) << _DIGITS
    return np.concatenate([both.astype(np.uint8).view(np.int8), last.astype(np.int8)], axis=1)


def four_bit_tap(number: int, w: Buffer, first: Affine) -> Expr:
    """Returns the weight at that position of `TAPS_ORDER`; a channel's bytes begin at `first`."""
    byte = load(w, first + (number % _DIGITS if number < 2 * _DIGITS else _DIGITS))
    if number == 2 * _DIGITS:
        return byte
    digit = byte if number < _DIGITS else byte >> _DIGITS
    return (digit & _MASK) - _HALF


_IN_MEMORY = "#ifndef FEW_REGISTERS /* all are taken: the channel's constants stay in memory */"
_FITTED_IN_MEMORY = f"""\
{_IN_MEMORY}
    const int32_t kept_start = start, scales[2] = {{scale, rounding}};
#endif"""
_DOUBLED_IN_MEMORY = f"""\
{_IN_MEMORY}
    const int32_t kept_start = start * 2, scales[2] = {{scale, rounding}};
    __asm__("sadd16 %0, %0, %0" : "+r"(taps02[0]));
    __asm__("sadd16 %0, %0, %0" : "+r"(taps02[1]));
    __asm__("sadd16 %0, %0, %0" : "+r"(taps02[2]));
    __asm__("sadd16 %0, %0, %0" : "+r"(tap1[0]));
    __asm__("sadd16 %0, %0, %0" : "+r"(tap1[2]));
#endif"""
_ZERO = ', [zero] "r"(zero)'


class End(Enum):
    """How sums in registers are finished. The value is a part of the macro's name."""

    SIGNED = ""  # doubled sums, rounded away from zero on both sides
    RELU = "_RELU"  # doubled sums; none below the zero point is stored
    FITTED = "_FITTED"  # scales are fitted to the sums, and the saturation includes the shift


def constants_in_memory(end: End) -> str:
    """Declares the statement's operands in memory. Doubled taps give doubled sums."""
    return _FITTED_IN_MEMORY if end is End.FITTED else _DOUBLED_IN_MEMORY


def in_registers(blocks: Sequence[WindowBlock], end: End) -> tuple[Instruction, ...]:
    """Returns the macros of blocks whose sums are requantized in registers."""
    at_edge = (_sums_at_edge(),) if True in _edges(blocks) else ()
    ends = (_requantised(together, end) for together in sorted({b.together for b in blocks}))
    return (_sums_by_rows(is_edge=False), *in_c(blocks), _sums(), *at_edge, *ends)


def in_c(blocks: Sequence[WindowBlock]) -> tuple[Instruction, ...]:
    """Returns the macros of blocks whose sums are requantized in C."""
    return (*(_sums_by_rows(is_edge) for is_edge in _edges(blocks)), *(_windows(block) for block in blocks))


def block_in_registers(block: WindowBlock, end: End) -> list[str]:
    """Returns code that declares sum0 and sum1 and computes the results in them."""
    names = [f"sum{n}" for n in range(block.together)]
    scales = "FITTED_SCALES" if end is End.FITTED else "SCALES"
    given = [_windows_name(block), f"START_OF_{block.together}", _end_name(block.together, end), scales]
    sums = [f"SUM({name})" for name in names]
    return [
        f"        int32_t {', '.join(f'{name} SUM_STARTS' for name in names)};",
        f"        SUMS_OF_WINDOWS{_at_edge(_is_edge(block))}({', '.join([*given, *sums])});",
    ]


def block_in_c(block: WindowBlock) -> list[str]:
    """Returns code that declares sum0 and sum1 and computes the sums of products in them."""
    names = [f"sum{n}" for n in range(block.together)]
    sums = [f'[{name}] "+r"({name})' for name in names]
    given = ", ".join([_windows_name(block), *sums])
    return [
        f"        int32_t {', '.join(f'{name} = start' for name in names)};",
        f"        SUMS_BY_ROWS{_at_edge(_is_edge(block))}({given});",
    ]


def instructions_of(block: WindowBlock, end: End) -> int:
    """Returns the number of instructions of a block of this kind."""
    return 3 * len(window_row(block)) + len(_START[: block.together]) + len(_end(block.together, end))


def _shared(name: str, definition: str, calls: tuple[ScalarFunction, ...] = ()) -> Instruction:
    """Returns a macro. It has no meaning as loops, because no nest contains it."""
    return Instruction(name, (), (), "", definition, calls=calls, needs=NEEDS)


def _edges(blocks: Sequence[WindowBlock]) -> list[bool]:
    return sorted({_is_edge(block) for block in blocks})


def _is_edge(block: WindowBlock) -> bool:
    return block.left or block.right


def _at_edge(is_edge: bool) -> str:
    return "_AT_EDGE" if is_edge else ""


def _windows_name(block: WindowBlock) -> str:
    edges = f"{'_LEFT' if block.left else ''}{'_RIGHT' if block.right else ''}"
    return f"WINDOWS_OF_{block.together}_STRIDE_{block.stride}{edges}"


@cache
def _windows(block: WindowBlock) -> Instruction:
    """Returns the products of one row of the windows. Operands are passed by their names."""
    lines = [
        f'    "{line}\\n\\t"'.format(x='" x "', outer='" outer "', middle='" middle "', half='" half "')
        for line in window_row(block)
    ]
    name = _windows_name(block)
    outputs = "One output" if block.together == 1 else "Two outputs"
    says = (
        f"/* {outputs}, one row of the windows: its pixels, its taps, and which half has the middle one. */\n"
    )
    return _shared(name, says + _macro(f"{name}(x, outer, middle, half)", lines))


@cache
def _sums_by_rows(is_edge: bool) -> Instruction:
    edge, zero = _at_edge(is_edge), _ZERO if is_edge else ""
    rows = [(0, 0, "b"), (1, 0, "t"), (2, 2, "b")]
    calls = [f'    ROW_OF_WINDOWS{edge}(text, {n}, {tap}, "{half}", __VA_ARGS__);' for n, tap, half in rows]
    calls[-1] = calls[-1].removesuffix(";")
    row = [
        '    __asm__ volatile(text("x", "outer", "middle", half)',
        '        : __VA_ARGS__, [x] "+r"(x##n), [even] "=&r"(even), [odd] "=&r"(odd)',
        f'        : [outer] "r"(taps02[n]), [middle] "r"(tap1[tap]){zero}',
        '        : "memory")',
    ]
    text = _macro(f"ROW_OF_WINDOWS{edge}(text, n, tap, half, ...)", row)
    return _shared(f"SUMS_BY_ROWS{edge}", text + _macro(f"SUMS_BY_ROWS{edge}(text, ...)", calls))


def _sums_in_registers(is_edge: bool) -> tuple[str, str]:
    """Returns the macros that begin and end sums in one statement, for clang and for gcc."""
    edge, zero = _at_edge(is_edge), _ZERO if is_edge else ""
    head = f"SUMS_OF_WINDOWS{edge}(text, start_text, end_text, scale_operands, ...)"
    lines = [
        "    __asm__ volatile(start_text",
        '        text("x0", "outer0", "middle0", "b") text("x1", "outer1", "middle0", "t")',
        '        text("x2", "outer2", "middle1", "b") end_text',
        '        : __VA_ARGS__, [x0] "+r"(x0), [x1] "+r"(x1), [x2] "+r"(x2),',
        '          [even] "=&r"(even), [odd] "=&r"(odd)',
        '        : [outer0] "r"(taps02[0]), [outer1] "r"(taps02[1]), [outer2] "r"(taps02[2]),',
        f'          [middle0] "r"(tap1[0]), [middle1] "r"(tap1[2]){zero},',
        '          [start] "m"(kept_start), scale_operands',
        '        : "memory")',
    ]
    return f"#define {head} SUMS_BY_ROWS{edge}(text, __VA_ARGS__)\n", _macro(head, lines)


@cache
def _sums() -> Instruction:
    """Returns the macros that distinguish the compilers."""
    clang, gcc = _sums_in_registers(is_edge=False)
    starts = "".join(f"#define START_OF_{n} {_quoted(_START[:n]).strip()}\n" for n in (1, 2))
    return _shared(
        "SUMS_OF_WINDOWS",
        f"""\
#ifdef FEW_REGISTERS /* a statement for each row of the windows */
{clang}\
#define SUM_STARTS = start
#define SUM(sum) [sum] "+r"(sum)
#define STORED(in_c, in_registers) in_c
#else
{gcc}\
#define SUM_STARTS
#define SUM(sum) [sum] "=&r"(sum)
#define STORED(in_c, in_registers) in_registers
#define SCALES [scales] "m"(scales), [rounding] "m"(scales[1]), [shift] "m"(shift)
#define FITTED_SCALES [scales] "m"(scales)
#endif
{starts}""",
        (FEW_REGISTERS,),
    )


@cache
def _sums_at_edge() -> Instruction:
    clang, gcc = _sums_in_registers(is_edge=True)
    return _shared(
        "SUMS_OF_WINDOWS_AT_EDGE", f"#ifdef FEW_REGISTERS\n{clang}#else\n{gcc}#endif\n", (FEW_REGISTERS,)
    )


def _end_name(together: int, end: End) -> str:
    return f"END_OF_{together}{end.value}"


# Loads, so that the pixels' first load follows a load: consecutive loads need one cycle each.
_START = ("ldr %[sum0], %[start]", "ldr %[sum1], %[start]")


def _end(together: int, end: End) -> list[str]:
    """Multiplies sums by the scale and adds the rounding term; shifts right unless scales are fitted."""
    sums = [f"%[sum{n}]" for n in range(together)]
    text = ["ldrd %[even], %[odd], %[scales]"]
    for n, total in enumerate(sums):
        if end is End.SIGNED:
            text += [*(["ldr %[odd], %[rounding]"] if n else []), f"add %[odd], %[odd], {total}, asr #31"]
        text.append(f"smmlar {total}, {total}, %[even], %[odd]")
    if end is End.FITTED:
        return text
    return [*text, "ldr %[even], %[shift]", *(f"asr {total}, {total}, %[even]" for total in sums)]


@cache
def _requantised(together: int, end: End) -> Instruction:
    text = _end(together, end)
    lines = [_quoted(text[first : first + 2]) for first in range(0, len(text), 2)]
    name = _end_name(together, end)
    return _shared(name, _macro(name, lines))


def _quoted(lines: Sequence[str]) -> str:
    return "    " + " ".join(f'"{line}\\n\\t"' for line in lines)


def _macro(head: str, lines: Sequence[str]) -> str:
    return "\n".join([f"#define {head} \\", *(f"{line} \\" for line in lines[:-1]), lines[-1], ""])
