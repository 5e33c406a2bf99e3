"""RISC-V vectors: requantizes the sums of a block of channels, one per lane.

VSMUL is exactly the reference's first rounding, round(sum * mult / 2**31) half up. VNCLIP shifts right, also
rounds half up, and saturates to half the width. The reference rounds half away from zero there, so negative
values are first reduced by one, unless the clamp cuts off everything below the zero point anyway. If the
reference rounds once, half up, VSMUL rounds down: the fraction that it drops cannot change how VNCLIP rounds.
If it rounds halves to even and all multipliers are powers of two, VNCLIP alone does so.
"""

from __future__ import annotations

from dataclasses import dataclass

from codegen.isa.names import in_name
from codegen.isa.plain.requantise import Requant
from codegen.isa.rvv import INCLUDES, NEEDS
from codegen.loops.ir import Instruction

# Vector register groups for the sums of a block of channels, and their type suffixes in C.
#
# A register has at least 128 bits, and 1, 2, 4 or 8 consecutive ones form an operand. Sums have 32 bits,
# factors 16 and results 8, so a block of 16 channels needs 4, 2 and 1 registers.

_REGISTER_BYTES = 16
_MOST_REGISTERS = 8  # per group
MOST_CHANNELS = _MOST_REGISTERS * _REGISTER_BYTES // 4
_REGISTERS = 32
_OTHERS = 1  # v0, reserved for masks


@dataclass(frozen=True, slots=True)
class Groups:
    """The register groups for a block of `channels` channels."""

    channels: int

    @property
    def sums(self) -> int:
        """Returns the registers of a group of sums."""
        return next(n for n in (4, 8) if n * _REGISTER_BYTES >= 4 * self.channels)

    @property
    def words(self) -> str:
        """Returns the type suffix of 32-bit groups."""
        return f"32m{self.sums}"

    @property
    def halves(self) -> str:
        return f"16m{self.sums // 2}"

    @property
    def bytes(self) -> str:
        return f"8m{self.sums // 4}"

    def sums_at_once(self, wide: int) -> int:
        """Returns how many groups of sums fit, together with `wide` 16-bit operands and one 8-bit operand."""
        others = _OTHERS + wide * self.sums // 2 + self.sums // 4
        return (_REGISTERS - others) // self.sums


_HALF_UP, _TO_EVEN, _DOWN = "__RISCV_VXRM_RNU", "__RISCV_VXRM_RNE", "__RISCV_VXRM_RDN"
# Machine instructions of the parts of requantization.
_SCALED_AND_NARROWED, _SHIFTED_LEFT, _SIGN_TAKEN, _SIGN_MASKED, _BOUND = 3, 4, 2, 3, 1
_SATURATED_LEFT = 10
_MOST_LEFT = 30  # bits: with one more, nothing but zero would be left to saturate to
CONSTANTS = 3  # machine instructions of `constants`


def suffix(r: Requant) -> str:
    clamp = "" if (r.low, r.high) == (-128, 127) else f"_{in_name(r.low)}_{in_name(r.high)}"
    sign = "_signed" if r.sign_matters else "_once" if r.is_rounded_once else ""
    if r.halves_are_even:
        return f"zero_{in_name(r.zero_point)}{clamp}_even"
    shift = "" if r.rights[0] >= 1 else "_any_shift"
    return f"zero_{in_name(r.zero_point)}{clamp}{sign}{shift}"


def constants(groups: Groups) -> list[str]:
    """Returns C code that loads `scale` and `shift`, the channels' multipliers and right shifts."""
    words, halves, eights = groups.words, groups.halves, groups.bytes
    return [
        f"const vint{words}_t scale = __riscv_vle32_v_i{words}(mult, vl);",
        f"const vint{halves}_t shift = __riscv_vsext_vf2_i{halves}(__riscv_vle8_v_i{eights}(right, vl), vl);",
    ]


def as_bytes(groups: Groups, r: Requant) -> Instruction:
    """Returns a C function. It has no meaning as loops, because no nest contains it."""
    name = f"as_bytes_m{groups.sums}_{suffix(r)}"
    words, halves = groups.words, groups.halves
    lines = [
        f"/* v * scale / 2^31 * 2^-shift, rounded {_when(r)}, and stored:",
        f"   {r.said}. */",
        f"static inline __attribute__((always_inline)) vint{groups.bytes}_t {name}(",
        f"    vint{words}_t v, vint{words}_t scale, vint{halves}_t shift, size_t vl)",
        "{",
    ]
    least = int(r.is_rounded_once)  # shifts to the right round, except one by zero
    if r.halves_are_even:
        lines.append("    (void)scale;")
    elif r.rights[0] < least:
        lines += _saturated_left(groups) if r.is_rounded_once else _shifted_left(groups)
    if not r.halves_are_even:
        down = _DOWN if r.is_rounded_once else _HALF_UP
        lines.append(f"    v = __riscv_vsmul_vv_i{words}(v, scale, {down}, vl);")
    if r.sign_matters:
        sign = f"__riscv_vsra_vx_i{words}({_negative(groups, r)}, 31, vl)"
        lines.append(f"    v = __riscv_vadd_vv_i{words}(v, {sign}, vl);")
    right = "shift" if r.rights[0] >= least else f"__riscv_vmax_vx_i{halves}(shift, {least}, vl)"
    if r.halves_are_even:
        right = f"__riscv_vadd_vx_i{halves}(shift, 1, vl)"  # the multipliers are 1/2
    halves_go = _TO_EVEN if r.halves_are_even else _HALF_UP
    lines += [
        f"    const vuint{halves}_t right = __riscv_vreinterpret_v_i{halves}_u{halves}({right});",
        f"    vint{halves}_t y = __riscv_vnclip_wv_i{halves}(v, right, {halves_go}, vl);",
    ]
    if r.zero_point:
        lines.append(f"    y = __riscv_vsadd_vx_i{halves}(y, {r.zero_point}, vl);")
    if r.low > -128:
        lines.append(f"    y = __riscv_vmax_vx_i{halves}(y, {r.low}, vl);")
    if r.high < 127:
        lines.append(f"    y = __riscv_vmin_vx_i{halves}(y, {r.high}, vl);")
    lines += [f"    return __riscv_vnclip_wx_i{groups.bytes}(y, 0, {_HALF_UP}, vl);", "}"]
    return Instruction(
        name,
        (),
        (),
        "",
        "\n".join(lines) + "\n",
        INCLUDES,
        needs=NEEDS,
        machine_instructions=_machine_instructions(r),
    )


def _when(r: Requant) -> str:
    if r.halves_are_even:
        return "once, halves to even; all scales are 2^30"
    return "once, by the last shift" if r.is_rounded_once else "after each division as the reference does"


def _shifted_left(groups: Groups) -> list[str]:
    words = groups.words
    left = f"__riscv_vmax_vx_i{words}(__riscv_vneg_v_i{words}({_in_words(groups)}, vl), 0, vl)"
    return [f"    v = __riscv_vsll_vv_i{words}(v, __riscv_vreinterpret_v_i{words}_u{words}({left}), vl);"]


def _saturated_left(groups: Groups) -> list[str]:
    """Returns C code that leaves right shifts of at least one bit; it saturates what results would."""
    words = groups.words
    shift = f"__riscv_vmax_vx_i{words}({_in_words(groups)}, {1 - _MOST_LEFT}, vl)"
    left = f"__riscv_vmax_vx_i{words}(__riscv_vrsub_vx_i{words}({shift}, 1, vl), 0, vl)"
    return [
        f"    const vuint{words}_t left = __riscv_vreinterpret_v_i{words}_u{words}({left});",
        f"    const vint{words}_t most =",
        f"        __riscv_vsra_vv_i{words}(__riscv_vmv_v_x_i{words}(INT32_MAX, vl), left, vl);",
        f"    v = __riscv_vmax_vv_i{words}(__riscv_vmin_vv_i{words}(v, most, vl),",
        f"        __riscv_vnot_v_i{words}(most, vl), vl);",
        f"    v = __riscv_vsll_vv_i{words}(v, left, vl);",
    ]


def _machine_instructions(r: Requant) -> int:
    """Counts one instruction per vector intrinsic."""
    left = _SATURATED_LEFT if r.is_rounded_once else _SHIFTED_LEFT
    each = (
        (_SCALED_AND_NARROWED, True),
        (left, r.rights[0] < int(r.is_rounded_once)),  # never if halves are even
        (_SIGN_TAKEN, r.sign_matters),
        (_SIGN_MASKED, r.sign_matters and r.rights[0] < 1),
        (_BOUND, r.rights[0] < int(r.is_rounded_once)),  # of shifts: right shifts only
        (_BOUND, r.zero_point != 0),
        (_BOUND, r.low > -128),
        (_BOUND, r.high < 127),
    )
    return sum(count for count, is_there in each if is_there)


def _in_words(groups: Groups) -> str:
    return f"__riscv_vsext_vf2_i{groups.words}(shift, vl)"


def _negative(groups: Groups, r: Requant) -> str:
    """Returns a value that is negative for negative sums that are shifted right."""
    if r.rights[0] >= 1:
        return "v"
    words = groups.words
    return f"__riscv_vand_vv_i{words}(v, __riscv_vneg_v_i{words}({_in_words(groups)}, vl), vl)"
