"""Attention to a cache on Helium: four elements of a head, or the exponentials of four scores, at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log

from codegen.formats import RowFormat
from codegen.isa.helium import INCLUDES
from codegen.isa.helium.f32 import FLOAT_NEEDS, FOURS
from codegen.isa.plain.f32 import literal
from codegen.kernels.approximate import EXP_TERMS, LEAST_RESULT, LN2, LN2_REST, PER_LN2, ROUNDS
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.row_nests import flat_requests
from codegen.kernels.strategy import Condition, Strategy
from codegen.kernels.transformer import AttentionGroup, attention_kernel
from codegen.loops.ir import Instruction

_VECTORS = 4  # of a result, in registers
_POSITIONS = 2  # whose values are added in a turn of the loop


def _exp_of_four() -> Instruction:
    """Returns C code with the steps of approximate_exp for numbers of at most 0."""
    first, *others = (literal(each) for each in reversed(EXP_TERMS))
    terms = "\n".join(f"    y = vaddq_n_f32(vmulq_f32(y, r), {each});" for each in others)
    definition = f"""\
/* e to the power of each of four numbers of at most 0, as approximate_exp computes it. */
static inline float32x4_t exp_of_four(float32x4_t v)
{{
    const float32x4_t above = vmaxnmq_f32(v, vdupq_n_f32({literal(log(LEAST_RESULT))}));
    const float32x4_t sum = vaddq_n_f32(vmulq_n_f32(above, {literal(PER_LN2)}), {literal(ROUNDS)});
    const float32x4_t power = vsubq_n_f32(sum, {literal(ROUNDS)});
    const float32x4_t most = vsubq_f32(above, vmulq_n_f32(power, {literal(LN2)}));
    const float32x4_t r = vsubq_f32(most, vmulq_n_f32(power, {literal(LN2_REST)}));
    const int32x4_t bits = vaddq_n_s32(vshlq_n_s32(vreinterpretq_s32_f32(sum), 23), 0x3f800000);
    float32x4_t y = vdupq_n_f32({first});
{terms}
    y = vaddq_n_f32(vaddq_f32(vmulq_f32(y, vmulq_f32(r, r)), r), 1.0f);
    return vmulq_f32(y, vreinterpretq_f32_s32(bits));
}}
"""
    return Instruction("exp_of_four", (), (), "", definition, INCLUDES, needs=FLOAT_NEEDS)


_SUM_OF_LANES = Instruction(
    "sum_of_lanes",
    (),
    (),
    "",
    """\
/* The sum of four numbers, in pairs. Compilers would move each one through a core register. */
static inline float sum_of_lanes(float32x4_t v)
{
    register float32x4_t lanes __asm__("q7") = v;
    __asm__("vadd.f32 s28, s28, s29\\n\\t"
            "vadd.f32 s30, s30, s31\\n\\t"
            "vadd.f32 s28, s28, s30"
            : "+w"(lanes));
    return vgetq_lane_f32(lanes, 0);
}
""",
    INCLUDES,
    needs=FLOAT_NEEDS,
)


class _VectorGroup(AttentionGroup):
    """Heads whose elements are a multiple of four."""

    @property
    def together(self) -> int:
        return 1

    def instruction(self) -> Instruction:
        made = super().instruction()
        return replace(
            made, includes=(*INCLUDES, "math.h"), calls=(_exp_of_four(), _SUM_OF_LANES), needs=FLOAT_NEEDS
        )

    def _four(self, place: str) -> str:
        """Returns four keys or values as floats."""
        return f"vcvtq_f32_s32(vldrbq_s32({place}))" if self.is_scaled else f"vldrwq_f32({place})"

    def _shares(self, four: str) -> str:
        return f"vmulq_f32({four}, vldrwq_z_f32(&value_scales[t], valid))" if self.is_scaled else four

    def _definition(self) -> str:
        vectors = range(self.head // FOURS)
        lines = [
            *self.heading(),
            *(f"        const float32x4_t q{i} = vldrwq_f32(q + {i * FOURS});" for i in vectors),
            f"        const {self.cached.c_name} *keys = k;",
            "        float32x4_t totals = vdupq_n_f32(0.0f);",
            f"        float most = {literal(self.LEAST)};",
            "        float total;",
            "        for (int32_t t = 0; t < count; ++t) {",
            f"            float32x4_t sum = vmulq_f32(q0, {self._four('keys')});",
            *(
                f"            sum = vfmaq_f32(sum, q{i}, {self._four(f'keys + {i * FOURS}')});"
                for i in vectors[1:]
            ),
            f"            const float score = sum_of_lanes(sum) * {self.factor('t')};",
            "            most = fmaxf(most, score);",
            "            shares[t] = score;",
            f"            keys += {self.head};",
            "        }",
            f"        for (int32_t t = 0; t < count; t += {FOURS}) {{",
            "            const mve_pred16_t valid = vctp32q((uint32_t)(count - t));",
            "            const float32x4_t below = vsubq_n_f32(vldrwq_z_f32(&shares[t], valid), most);",
            "            const float32x4_t four = exp_of_four(below);",
            f"            vstrwq_p_f32(&shares[t], {self._shares('four')}, valid);",
            "            totals = vaddq_m_f32(totals, totals, four, valid);",
            "        }",
            "        total = 1.0f / sum_of_lanes(totals);",
        ]
        for first in vectors[::_VECTORS]:
            lines += self._mixed(first * FOURS, min(_VECTORS, len(vectors) - first))
        return "\n".join([*lines, "    }", "}"]) + "\n"

    def _mixed(self, first: int, count: int) -> list[str]:
        sums = range(count)
        position = [
            *(f"s{i} = vfmaq_n_f32(s{i}, {self._four(f'values + {i * FOURS}')}, share);" for i in sums),
            f"values += {self.head};",
        ]
        body = [
            "{",
            f"    const {self.cached.c_name} *values = v + {first};",
            *(f"    float32x4_t s{i} = vdupq_n_f32(0.0f);" for i in sums),
            "    int32_t t = 0;",
            f"    for (; t + {_POSITIONS} <= count; t += {_POSITIONS}) {{",
            "        float share = shares[t];",
            *(f"        {line}" for line in position),
            *(
                f"        {line}"
                for n in range(1, _POSITIONS)
                for line in (f"share = shares[t + {n}];", *position)
            ),
            "    }",
            "    for (; t < count; ++t) {",
            "        const float share = shares[t];",
            *(f"        {line}" for line in position),
            "    }",
            *(f"    vstrwq_f32(y + {first + i * FOURS}, vmulq_n_f32(s{i}, total));" for i in sums),
            "}",
        ]
        return [f"        {line}" for line in body]


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    return replace(attention_kernel(site, _VectorGroup), strategy="helium-f32", why="4 elements at a time")


STRATEGY = Strategy(
    "helium-f32",
    flat_requests,
    _lower,
    FLOAT_NEEDS,
    (Condition("heads of a multiple of four elements", lambda site: site.input(1).shape[3] % FOURS == 0),),
)
