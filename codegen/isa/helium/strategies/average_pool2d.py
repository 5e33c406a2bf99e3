"""average_pool2d on Helium: accumulates the rows of an image four channels at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aot.ir.types import DType
from codegen.formats import RowFormat
from codegen.isa.helium import INCLUDES, NEEDS
from codegen.isa.helium.requantise import WORDS
from codegen.kernels.average_pool2d import NO_ROWS_AROUND, ONE_ROW, requests, rows_added
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.pools import pool_of
from codegen.kernels.strategy import Condition, RowFormats, Strategy
from codegen.loops.affine import variable
from codegen.loops.ir import Accumulate, Buffer, For, Instruction, Proc, Role, at, load
from codegen.loops.schedule import partition, split
from codegen.loops.tensorize import tensorize


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


def _lower(site: Site, inputs: Sequence[RowFormat], y: RowFormat) -> Kernel:
    kernel = rows_added(site, inputs[0], y)
    return replace(kernel, proc=_in_vectors(kernel.proc, y.channels, pool_of(site).size[1], inputs[0]))


def _in_vectors(proc: Proc, channels: int, taps: int, x: RowFormat) -> Proc:
    whole, rest = channels // WORDS * WORDS, channels % WORDS
    if whole and rest:
        proc = partition(proc, "c", whole, "c", "c_rest")
    if rest:
        proc = split(proc, "c_rest" if whole else "c", rest, "cb_rest", "ci")
    if whole:
        proc = split(proc, "c", WORDS, "cb", "ci")
    return tensorize(proc, "ci", [add_pixels(n, taps, x.x_step) for n in (WORDS, rest) if n])


_CHANNELS_TOGETHER = Condition[RowFormats]("channels side by side", lambda rows: rows.inputs[0].c_step == 1)
STRATEGY = Strategy(
    "helium",
    requests,
    _lower,
    NEEDS,
    (Condition("data of 8 bits", lambda site: site.input(0).dtype is DType.I8), ONE_ROW),
    (NO_ROWS_AROUND, _CHANNELS_TOGETHER),
)
