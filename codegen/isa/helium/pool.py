"""Helium: adds pixels to 32-bit sums, one channel per lane."""

from __future__ import annotations

from aot.ir.types import DType
from codegen.isa.helium.needs import INCLUDES, NEEDS
from codegen.isa.helium.requantise import WORDS
from codegen.loops.affine import variable
from codegen.loops.ir import Accumulate, Buffer, For, Instruction, Role, at, load


def add_pixels(channels: int, pixels: int, x_step: int) -> Instruction:
    """sums[i] += channel i of each of some pixels, for up to four channels."""
    sums = Buffer("sums", DType.I32, channels, Role.STATE)
    x = Buffer("x", DType.I8, 0, Role.INPUT)
    i, t = variable("i"), variable("t")
    add = Accumulate(at(sums, i), load(x, t * x_step + i))
    name = f"add_{pixels}_pixels_of_{channels}_step_{x_step}"
    return Instruction(
        name=name,
        params=(sums, x),
        body=(For("i", channels, (For("t", pixels, (add,)),)),),
        call=f"{name}({{sums}}, {{x}});",
        definition=_definition(name, channels, pixels, x_step),
        includes=INCLUDES,
        needs=NEEDS,
    )


def _definition(name: str, channels: int, pixels: int, x_step: int) -> str:
    masked = channels < WORDS
    z, p, mask = ("_z", "_p", ", valid") if masked else ("", "", "")
    lines = [
        f"/* {pixels} pixels added to the sums of {channels} channels. */",
        f"static inline void {name}(int32_t *sums, const int8_t *x)",
        "{",
        *([f"    const mve_pred16_t valid = vctp32q({channels});"] if masked else []),
        f"    int32x4_t total = vldrwq{z}_s32(sums{mask});",
        f"    for (int32_t t = 0; t < {pixels}; ++t) {{",
        f"        total = vaddq_s32(total, vldrbq{z}_s32(x{mask}));",
        f"        x += {x_step};",
        "    }",
        f"    vstrwq{p}_s32(sums, total{mask});",
        "}",
    ]
    return "\n".join(lines) + "\n"
