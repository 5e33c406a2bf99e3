"""Helium: vectors of floats quantized by their range, and their products with bytes as floats."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from aot.ir.types import DType
from codegen.isa.asm import FEW_REGISTERS, Address, AsmLine, computes, loads, operand
from codegen.isa.helium import INCLUDES
from codegen.isa.helium.dot_blocks import FREE, SUMS, BlockSums, summed_blocks
from codegen.isa.helium.dots import LANES, dot
from codegen.isa.helium.f32 import FLOAT_NEEDS
from codegen.isa.helium.fours import Fours
from codegen.isa.helium.requantise import VECTOR_OF, WORDS
from codegen.isa.plain.f32 import DISTANCE, IN_OWN_STEPS, SCALED_SUM, SYMMETRIC_LIMITS
from codegen.loops.affine import variable
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Buffer,
    Cast,
    Const,
    Expr,
    For,
    Instruction,
    Role,
    Store,
    at,
    let,
    load,
    local,
    maximum,
)

_ENDS = 6  # instructions of a loop besides its body


def largest_of(count: int) -> Instruction:
    """reach = the largest distance of x[i] from 0."""
    x, reach = Buffer("x", DType.F32, 0, Role.ROWS), Buffer("reach", DType.F32, 1, Role.LOCAL)
    farther = maximum(load(reach), Apply(DISTANCE, (load(x, variable("i")),)))
    own = Fours(count, "w", "f32")
    name = f"reach_of_{count}_reals"
    lines = [
        f"/* The largest distance from 0 of {count} numbers, of which NaN is none. */",
        f"static inline float {name}(const float *x)",
        "{",
        "    float32x4_t most = vdupq_n_f32(0.0f);",
        *own.loop([f"most = vmaxnmaq_f32(most, {own.loaded('x + u')});"]),
        "    return vmaxnmvq_f32(0.0f, most);",
        "}",
    ]
    return Instruction(
        name=name,
        params=(reach, x),
        body=(Store(at(reach), Const(0.0)), For("i", count, (Store(at(reach), farther),))),
        call=f"{{reach[0]}} = {name}({{x[0]}});",
        definition="\n".join(lines) + "\n",
        includes=INCLUDES,
        needs=FLOAT_NEEDS,
        machine_instructions=_ENDS + 2,
    )


def steps_of(count: int) -> Instruction:
    """in_steps[j] = x[j] in steps, from -127 to 127."""
    x, steps = Buffer("x", DType.F32, 0, Role.ROWS), Buffer("in_steps", DType.I8, 0, Role.SCRATCH)
    inverse, j = Buffer("inverse", DType.F32, 1, Role.LOCAL), variable("j")
    low, high = SYMMETRIC_LIMITS
    own_steps = Apply(IN_OWN_STEPS, (load(x, j), load(inverse), Const(low), Const(high)))
    own = Fours(count, "w", "f32")
    stored = Fours(count, "b", "s32").stored("in_steps + u", "v")
    name = f"in_steps_of_{count}"
    lines = [
        f"/* {count} numbers in steps from 0, rounded half away from 0; VCVTA saturates. */",
        f"static inline void {name}(int8_t *in_steps, const float *x, float inverse)",
        "{",
        *own.loop(
            [
                f"int32x4_t v = vcvtaq_s32_f32(vmulq_n_f32({own.loaded('x + u')}, inverse));",
                f"v = vminq_s32(vmaxq_s32(v, vdupq_n_s32({low})), vdupq_n_s32({high}));",
                stored,
            ]
        ),
        "}",
    ]
    return Instruction(
        name=name,
        params=(steps, x, inverse),
        body=(For("j", count, (Store(at(steps, j), Cast(DType.I8, own_steps)),)),),
        call=f"{name}({{in_steps}}, {{x[0]}}, {{inverse[0]}});",
        definition="\n".join(lines) + "\n",
        includes=INCLUDES,
        needs=FLOAT_NEEDS,
        machine_instructions=_ENDS + 6,
    )


@dataclass(frozen=True, slots=True)
class ScaledBlocks:
    """Sums of blocks of four channels as floats."""

    sums: BlockSums
    has_bias: bool

    @property
    def name(self) -> str:
        return f"reals_of_{self.sums.name}{'_biased' if self.has_bias else ''}"


def scaled_blocks(tile: ScaledBlocks) -> Instruction:
    """y[b * 4 + j] = (sum over n of x[n] * w[b][n // 16][j][n % 16]) * (step * scales[b * 4 + j])."""
    y = Buffer("y", DType.F32, 0, Role.OUTPUT)
    x, w = Buffer("x", DType.I8, 0, Role.ROWS), Buffer("w", DType.I8, 0, Role.CONSTANT)
    tables = [Buffer(n, DType.F32, 0, Role.CONSTANT) for n in ("scales", "bias")[: 1 + tile.has_bias]]
    step, total = Buffer("step", DType.F32, 1, Role.LOCAL), local("sum", DType.I32)
    b, j, n, lane = (variable(v) for v in ("b", "j", "n", "lane"))
    channel, steps = b * WORDS + j, tile.sums.steps
    weight = load(w, ((b * steps + n) * WORDS + j) * LANES + lane)
    product = Accumulate(at(total), load(x, n * LANES + lane) * weight)
    value: Expr = Apply(SCALED_SUM, (load(total), load(step) * load(tables[0], channel)))
    value = load(tables[1], channel) + value if tile.has_bias else value
    one = (
        *let(total, 0),
        For("n", steps, (For("lane", LANES, (product,)),)),
        Store(at(y, channel), value),
    )
    params = (y, x, w, *tables, step)
    given = ", ".join("{x[0]}" if p is x else "{step[0]}" if p is step else f"{{{p.name}}}" for p in params)
    return Instruction(
        name=tile.name,
        params=params,
        body=(For("b", tile.sums.blocks, (For("j", WORDS, one),)),),
        call=f"{tile.name}({given});",
        definition=_definition(tile),
        includes=INCLUDES,
        calls=(FEW_REGISTERS, dot(tile.sums.tile), VECTOR_OF),
        needs=FLOAT_NEEDS,
        machine_instructions=len(_asm_lines(tile)),
        is_asm=True,
    )


@lru_cache(maxsize=64)
def _definition(tile: ScaledBlocks) -> str:
    sums = tile.sums
    totals = [f"s{j}" for j in range(WORDS)]
    pointers = ["x", "w", "y", "scales", *(["bias"] if tile.has_bias else [])]
    moved = ", ".join(f'[{n}] "+r"({n})' for n in pointers)
    clobbered = ", ".join(f'"q{n}"' for n in range(8))
    added = ["        v = vaddq_f32(vldrwq_f32(bias + i), v);"] if tile.has_bias else []
    bias = ", const float *bias" if tile.has_bias else ""
    lines = [
        f"/* A vector of {sums.steps * LANES} by {sums.blocks} blocks of 4 channels, as floats. */",
        f"static inline void {tile.name}(",
        f"    float *y, const int8_t *x, const int8_t *w, const float *scales{bias}, float step)",
        "{",
        f"    int32_t {', '.join(totals)};",
        "#ifdef FEW_REGISTERS /* compilers find even registers for intrinsics */",
        f"    for (int32_t i = 0; i < {sums.blocks * WORDS}; i += {WORDS}) {{",
        "        float32x4_t v = vmulq_n_f32(vldrwq_f32(scales + i), step);",
        f"        {sums.tile.name}({', '.join(f'&{t}' for t in totals)}, x, w + i * {sums.steps * LANES});",
        f"        v = vmulq_f32(vcvtq_f32_s32(vector_of({', '.join(totals)})), v);",
        *added,
        "        vstrwq_f32(y + i, v);",
        "    }",
        "#else",
        "    __asm__ volatile(",
        *(f'        "{line.text}\\n\\t"' for line in _asm_lines(tile)),
        f"        : {', '.join(f'[{t}] {chr(34)}=&Te{chr(34)}({t})' for t in totals)},",
        f"          {moved}",
        '        : [step] "r"(step)',
        f'        : {clobbered}, "lr", "memory", "cc");',
        "#endif",
        "}",
    ]
    return "\n".join(lines) + "\n"


@lru_cache(maxsize=64)
def _asm_lines(tile: ScaledBlocks) -> tuple[AsmLine, ...]:
    def four(name: str) -> AsmLine:
        return loads("vldrw.32", (FREE,), Address(operand(name), 4 * WORDS, moves=True))

    y = operand("y")
    ends = [
        four("scales"),
        computes("vmul.f32", FREE, FREE, operand("step")),
        computes("vcvt.f32.s32", SUMS, SUMS),
        computes("vmul.f32", SUMS, SUMS, FREE),
        *((four("bias"), computes("vadd.f32", SUMS, FREE, SUMS)) if tile.has_bias else ()),
        AsmLine("vstrw.32", f"vstrw.32 {SUMS}, [{y}], #{4 * WORDS}", (y,), (y, SUMS)),
    ]
    return summed_blocks(tile.sums, tuple(ends))
