"""Cortex-M DSP extension: computes the factors of pixels for halfwords of two weights."""

from __future__ import annotations

from functools import lru_cache

from aot.ir.types import DType
from aot.wording import counted
from codegen.isa.dsp.needs import NEEDS, needs_of
from codegen.isa.dsp.paired_vector import FACTORS, FACTORS_OF_WORD
from codegen.kernels.paired_rows import FACTORS as FACTORS_EACH
from codegen.kernels.paired_rows import factors_nest, rests_nest
from codegen.kernels.paired_weights import GROUP, HALVES
from codegen.loops.affine import Affine
from codegen.loops.ir import Buffer, Instruction, Role


@lru_cache(maxsize=256)
def factors_of(pixels: int, x_step: int, groups: int, is_aligned: bool) -> Instruction:
    """Returns an instruction that computes the factors of a tile over the groups of a kernel row."""
    v = Buffer("v", DType.I16, 0, Role.SCRATCH)
    x = Buffer("x", DType.I8, 0, Role.INPUT)
    zero = Affine()
    name = f"paired_factors_{pixels}"
    step = () if pixels == 1 else (("x_step", x_step),)
    return Instruction(
        name=name,
        params=(v, x),
        body=(factors_nest(v, x, pixels, x_step, groups, (zero, zero, zero)),),
        call=f"{name}({{v}}, {{x}}, {'{x_step}, ' if step else ''}{{groups}});",
        definition=_factors_text(name, pixels),
        includes=("arm_acle.h", "string.h"),
        calls=(FACTORS,),
        needs=needs_of(is_aligned),
        machine_instructions=6 * pixels + 6,
        numbers=(*step, ("groups", groups)),
    )


def _factors_text(name: str, pixels: int) -> str:
    each = range(pixels)
    lines = [
        f"/* Factors of {counted(pixels, 'pixel')}, x_step bytes apart, four bytes of each at a time. */"
        if pixels > 1
        else "/* Factors of a pixel, four bytes at a time. */",
        f"static inline __attribute__((always_inline)) void {name}(",
        f"    int16_t *v, const int8_t *x, {'int32_t x_step, ' if pixels > 1 else ''}int32_t groups)",
        "{",
        "    for (int32_t n = 0; n < groups; ++n) {",
        f"        int32_t factors[{pixels * FACTORS_EACH}];",
        *(f"        factors_of_pixels(x{_steps(i)}, &factors[{i}], &factors[{pixels + i}]);" for i in each),
        "        memcpy(__builtin_assume_aligned(v, 4), factors, sizeof factors);",
        f"        v += {pixels * HALVES * FACTORS_EACH};",
        f"        x += {GROUP};",
        "    }",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _steps(count: int) -> str:
    """Returns C code for an offset of that many pixels."""
    return {0: "", 1: " + x_step"}.get(count, f" + x_step * {count}")


@lru_cache(maxsize=256)
def rests_of(pixels: int, x_step: int, rows: int, rest: int) -> Instruction:
    """Returns an instruction that computes the factors of the joined remainders of kernel rows."""
    v = Buffer("v", DType.I16, 0, Role.SCRATCH)
    x = Buffer("x", DType.I8, 0, Role.ROWS, rows)
    name = f"paired_rests_{pixels}_{rest}_of_{rows}_rows"
    return Instruction(
        name=name,
        params=(v, x),
        body=(rests_nest(v, x, pixels, x_step, (rows, rest), (0, 0)),),
        call=f"{name}({{v}}, {{x_array}}, {{x_offset}}, {{x_step}});",
        definition=_rests_text(name, pixels, rows, rest),
        includes=("string.h",),
        calls=(FACTORS_OF_WORD,),
        needs=NEEDS,
        machine_instructions=3 * rows * rest + 4 * -(-rows * rest // GROUP) + 4,
        numbers=(("x_step", x_step),),
    )


def _rests_text(name: str, pixels: int, rows: int, rest: int) -> str:
    groups = [range(first, min(first + GROUP, rows * rest)) for first in range(0, rows * rest, GROUP)]
    lines = [
        f"/* The same of what {rows} kernel rows of {counted(pixels, 'pixel')} have left,"
        f" {counted(rest, 'byte')} each, joined. */",
        f"static inline __attribute__((always_inline)) void {name}(",
        "    int16_t *v, const int8_t *const *x, int32_t offset, int32_t x_step)",
        "{",
        f"    for (int32_t i = 0; i < {pixels}; ++i, offset += x_step) {{",
        "        int32_t firsts, mixed;",
    ]
    for n, numbers in enumerate(groups):
        place = n * pixels * HALVES * FACTORS_EACH
        word = " |\n            ".join(
            _shifted(*divmod(number, rest), number % GROUP * 8) for number in numbers
        )
        lines += [
            f"        factors_of_word((int32_t)(\n            {word}),\n            &firsts, &mixed);",
            f"        memcpy(__builtin_assume_aligned({_factor(place)}, 4), &firsts, 4);",
            f"        memcpy(__builtin_assume_aligned({_factor(place + pixels * HALVES)}, 4), &mixed, 4);",
        ]
    return "\n".join([*lines, "    }", "}"]) + "\n"


def _shifted(row: int, place: int, shift: int) -> str:
    """Returns C code for a byte of a row, shifted to its position in a word."""
    byte = f"(uint32_t)(uint8_t)x[{row}][offset{f' + {place}' if place else ''}]"
    return f"{byte} << {shift}" if shift else byte


def _factor(place: int) -> str:
    return f"v{f' + {place}' if place else ''} + i * {HALVES}"
