"""Helium: requantizes four or eight sums at once, one channel per lane.

If the reference rounds twice, VQRDMULH is exactly its first rounding, round(sum * mult / 2**31) half up.
VRSHL also rounds half up, but the reference half away from zero. So negative values are first reduced by one,
unless the clamp cuts off everything below the zero point anyway. Narrowing saturates.

If it rounds once, half up, VQDMULH takes the place of VQRDMULH. The fraction that it drops cannot change how
VRSHL rounds, since floor((floor(p / a) + b) / c) equals floor((p + a * b) / (a * c)) for integers.

If all multipliers are 1/2 and halves go to even, there is no product. VSHL gives the quotient rounded down.
If that is even, the sum is reduced by one, so that VRSHL moves a half down. To odd, the opposite holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from aot.ir.types import DType
from aot.ops.rounding import RequantRounding
from codegen.isa.asm import AsmLine, computes
from codegen.isa.helium import INCLUDES, INT32X4, NEEDS
from codegen.isa.names import in_name
from codegen.isa.plain.requantise import Requant, exact_store, type_name
from codegen.loops.affine import variable
from codegen.loops.ir import Apply, Binary, Buffer, For, Instruction, Role, Store, at, load

WORDS = 4  # 32-bit lanes
_REDUCED = 15  # bits that a multiplier of 16 bits adds to the shift
_PER_LINE = 6
_ROUNDING_NAMES = {
    RequantRounding.SINGLE: "_once",
    RequantRounding.EVEN: "_to_even",
    RequantRounding.ODD: "_to_odd",
}


def fits_vectors(r: Requant) -> bool:
    """Returns True if vectors store the results. Those of 16 bits have no room to add a zero point."""
    is_scaled = r.fits_lanes or r.rounding is RequantRounding.REDUCED
    return is_scaled and (r.dtype is DType.I8 or (r.dtype is DType.I16 and r.zero_point == 0))


def high_product(r: Requant) -> str:
    """Returns the instruction that scales sums: it rounds, unless only the last shift may."""
    return "vqdmulh" if r.is_rounded_once else "vqrdmulh"


def shift_of(r: Requant, right: str = "right") -> str:
    """Returns C code of the vector by which VRSHL shifts; it includes multipliers of 1/2."""
    return f"vnegq_s32({right})" if r.parity is None else f"vmvnq_s32({right})"


def ones_as_scale(r: Requant) -> list[str]:
    """Returns C code that replaces scales of 1/2, which are not multiplied, by ones for `halves_moved`."""
    return [] if r.parity is None else ["    scale = vdupq_n_s32(1); /* all are 1/2: no product */"]


def turned(r: Requant, shift: str) -> AsmLine:
    """Turns right shifts that were loaded from a table into those of `shift_of`."""
    return computes("vneg.s32", shift, shift) if r.parity is None else computes("vmvn", shift, shift)


def to_ones(r: Requant, scale: str) -> Iterator[AsmLine]:
    """Turns scales that were loaded from a table into those of `ones_as_scale`."""
    if r.parity is not None:
        yield computes("vshr.u32", scale, scale, end="#30")


def scaled(r: Requant, v: str, scale: str) -> Iterator[AsmLine]:
    """Multiplies sums by scales, if there is a product."""
    if r.parity is None:
        yield computes(f"{high_product(r)}.s32", v, v, scale)


def halves_moved(r: Requant, v: str, scale: str, shift: str, free: str) -> Iterator[AsmLine]:
    """Reduces values whose halves go down by one. `free` may be the vector of shifts, which it overwrites."""
    if r.parity is not None:
        yield computes("vshl.s32", free, v, shift)
        yield computes("vand" if r.parity else "vbic", free, scale, free)
        yield computes("vqsub.s32", v, v, free)
    elif r.sign_matters:
        yield computes("vshr.s32", free, v, end="#31")
        yield computes("vadd.i32", v, v, free)


def in_vector(name: str, count: int) -> Buffer:
    """Returns an instruction's parameter with a number per channel, one in each lane."""
    return Buffer(name, DType.I32, count, Role.LOCAL, vector_type=INT32X4)


def load_channels(count: int, dtype: DType) -> Instruction:
    """lanes[i] = table[i]: a constant of `count` channels, one in each lane."""
    lanes = in_vector("lanes", count)
    table = Buffer("table", dtype, 0, Role.CONSTANT)
    name = {DType.I32: "vldrwq", DType.I8: "vldrbq"}[dtype]
    call = f"{name}_s32({{table}})" if count == WORDS else f"{name}_z_s32({{table}}, vctp32q({count}))"
    body = For("i", count, (Store(at(lanes, variable("i")), load(table, variable("i"))),))
    return Instruction(
        f"load_{count}_{dtype.value}",
        (lanes, table),
        (body,),
        f"{{lanes}} = {call};",
        "",
        INCLUDES,
        needs=NEEDS,
    )


@dataclass(frozen=True, slots=True)
class RequantTile:
    pixels: int  # 1 or 2
    channels: int  # up to 4
    pixel_step: int  # elements of the output
    channel_step: int

    @property
    def name(self) -> str:
        pixels = f"_step_{self.pixel_step}" if self.pixels > 1 else ""
        channels = f"_by_{self.channel_step}" if self.channel_step > 1 and self.channels > 1 else ""
        return f"requantise_{self.pixels}x{self.channels}{pixels}{channels}"

    @property
    def steps_text(self) -> str:
        """Describes the distances of results in a comment."""
        pixels = f", pixels {self.pixel_step} apart" if self.pixels > 1 else ""
        channels = f", channels {self.channel_step} apart" if self.channel_step > 1 < self.channels else ""
        return pixels + channels


def requantise_tile(tile: RequantTile, requant: Requant) -> Instruction:
    """y[i][j] = stored(sums[i][j] + start[j], scale[j], right[j])."""
    y = Buffer("y", requant.dtype, 0, Role.OUTPUT)
    sums = Buffer("sums", requant.sum_dtype, tile.pixels * tile.channels, Role.LOCAL)
    start, scale, right = constants = _constants(requant, tile.channels)
    i, j = variable("i"), variable("j")
    total = Binary("+", load(sums, i * tile.channels + j), load(start, j))
    stored = Apply(exact_store(requant).store, (total, load(scale, j), load(right, j)))
    place = at(y, i * tile.pixel_step + j * tile.channel_step)
    name = f"{tile.name}_{suffix(requant)}"
    given = [f"{{sums[{n}]}}" for n in range(sums.elements)]
    for each in constants:
        lanes = range(tile.channels)
        given += [f"{{{each.name}}}"] if each.vector_type else [f"{{{each.name}[{n}]}}" for n in lanes]
    to_bytes = (NARROW_HALVES,) if requant.dtype is DType.I8 else ()
    return Instruction(
        name=name,
        params=(y, sums, *constants),
        body=(For("i", tile.pixels, (For("j", tile.channels, (Store(place, stored),)),)),),
        call=f"{name}({{y}}, {', '.join(given)});",
        definition=_tile_definition(name, tile, requant),
        includes=INCLUDES,
        needs=NEEDS,
        calls=(VECTOR_OF, NARROW_WORDS, *to_bytes, rounded(requant)),
    )


def _constants(r: Requant, channels: int) -> tuple[Buffer, Buffer, Buffer]:
    """Returns the parameters start, scale and right: in lanes, or in core registers for 64-bit products."""
    if r.rounding is not RequantRounding.REDUCED:
        start, scale, right = (in_vector(name, channels) for name in ("start", "scale", "right"))
        return start, scale, right
    dtypes = {"start": r.sum_dtype, "scale": DType.I32, "right": DType.I32}
    start, scale, right = (Buffer(name, dtype, channels, Role.LOCAL) for name, dtype in dtypes.items())
    return start, scale, right


def _shared(name: str, definition: str) -> Instruction:
    """Returns C code that instructions share. It has no meaning as loops, because no nest contains it."""
    return Instruction(name, (), (), "", definition, INCLUDES, needs=NEEDS)


VECTOR_OF = _shared(
    "vector_of",
    """\
static inline __attribute__((always_inline)) int32x4_t vector_of(int32_t a, int32_t b, int32_t c, int32_t d)
{
    int32x4_t v;
    __asm__("vmov %q0[2], %q0[0], %1, %2" : "=w"(v) : "r"(a), "r"(c));
    __asm__("vmov %q0[3], %q0[1], %1, %2" : "+w"(v) : "r"(b), "r"(d));
    return v;
}
""",
)
NARROW_WORDS = _shared(
    "narrow_words",
    """\
/* Saturated to half the width, in even places; in place, for which compilers make a copy first. */
static inline __attribute__((always_inline)) int16x8_t narrow_words(int32x4_t v)
{
    __asm__("vqmovnb.s32 %q0, %q0" : "+w"(v));
    return vreinterpretq_s16_s32(v);
}
""",
)
NARROW_HALVES = _shared(
    "narrow_halves",
    """\
static inline __attribute__((always_inline)) int8x16_t narrow_halves(int16x8_t v)
{
    __asm__("vqmovnb.s16 %q0, %q0" : "+w"(v));
    return vreinterpretq_s8_s16(v);
}
""",
)


def suffix(r: Requant) -> str:
    clamp = "" if (r.low, r.high) == r.dtype.limits else f"_{in_name(r.low)}_{in_name(r.high)}"
    sign = "_signed" if r.sign_matters else ""
    once = _ROUNDING_NAMES.get(r.rounding, "")
    short = "_short" if r.scaled_fits_16_bits else ""
    shift = "" if r.rights[0] >= 1 else "_any_shift"
    halves = "" if r.dtype is DType.I8 else "_halves"
    return f"zero_{in_name(r.zero_point)}{clamp}{sign}{once}{short}{shift}{halves}"


def rounded(r: Requant) -> Instruction:
    """v * scale / 2**31 / 2**-shift in every lane; of a number in core registers if mult has 16 bits."""
    if r.rounding is RequantRounding.REDUCED:
        return _SCALED_WORD if r.sum_dtype is DType.I32 else _SCALED_LONG
    if r.parity is not None:
        return _to_parity(r)
    any_shift, signed = r.rights[0] < 1, r.sign_matters
    once = _ROUNDING_NAMES.get(r.rounding, "")
    name = "rounded" + once + ("_signed" if signed else "") + ("_any_shift" if any_shift else "")
    lines = [
        *_rounding_text(r),
        f"static inline __attribute__((always_inline)) int32x4_t {name}(",
        "    int32x4_t v, int32x4_t scale, int32x4_t shift)",
        "{",
        *(_shifted_left(r) if any_shift else []),
        f"    v = {high_product(r)}q_s32(v, scale);",
    ]
    if signed:
        negative = "vandq_s32(v, shift)" if any_shift else "v"
        lines.append(f"    v = vaddq_s32(v, vshrq_n_s32({negative}, 31));")
    lines += ["    return vrshlq_s32(v, shift);", "}"]
    return _shared(name, "\n".join(lines) + "\n")


def _to_parity(r: Requant) -> Instruction:
    name = f"rounded{_ROUNDING_NAMES[r.rounding]}"
    moved = f"{'vandq' if r.parity else 'vbicq'}_s32(scale, vshlq_s32(v, shift))"
    definition = f"""\
/* v * 2^shift, rounded once, halves to {r.rounding.value}: one less if they go down. All scales are 1. */
static inline __attribute__((always_inline)) int32x4_t {name}(
    int32x4_t v, int32x4_t scale, int32x4_t shift)
{{
    return vrshlq_s32(vqsubq_s32(v, {moved}), shift);
}}
"""
    return _shared(name, definition)


def _scaled(name: str, sum_dtype: DType, product: str) -> Instruction:
    definition = f"""\
/* sum * scale / 2^right, scale of 16 bits, rounded half up and saturated to 32 bits.
   One statement, since compilers move pairs of registers through memory. */
static inline __attribute__((always_inline)) int32_t {name}(
    {sum_dtype.c_name} sum, int32_t scale, int32_t right)
{{
    int64_t v;
    __asm__("{product}\\n\\t"
            "sqrshrl %Q0, %R0, #64, %3\\n\\t"
            "sqshll %Q0, %R0, #32"
            : "=&r"(v) : "r"(sum), "r"(scale), "r"(right) : "cc");
    return (int32_t)(v >> 32);
}}
"""
    return _shared(name, definition)


_SCALED_WORD = _scaled("scaled_word", DType.I32, "smull %Q0, %R0, %1, %2")
_SCALED_LONG = _scaled("scaled_long", DType.I64, "umull %Q0, %R0, %Q1, %2\\n\\tmla %R0, %R1, %2, %R0")


def _rounding_text(r: Requant) -> list[str]:
    """Returns the comment of `rounded`."""
    sides = ", shifted to either side" if r.rights[0] < 1 else ""
    if r.is_rounded_once:
        return [f"/* v * scale / 2^31 * 2^shift, rounded once, by the last shift{sides}. */"]
    signs = "for numbers of both signs" if r.sign_matters else "where none below 0 is kept"
    return [
        "/* v * scale / 2^31 * 2^shift, rounded after each division as the reference does",
        f"   {signs}{sides}. */",
    ]


def _shifted_left(r: Requant) -> list[str]:
    """Returns C code that leaves right shifts only; of at least one bit if that shift is to round."""
    if not r.is_rounded_once:
        return [
            "    const int32x4_t zero = vdupq_n_s32(0);",
            "    v = vshlq_s32(v, vmaxq_s32(shift, zero));",
            "    shift = vminq_s32(shift, zero);",
        ]
    return [
        "    v = vqshlq_s32(v, vmaxq_s32(vaddq_n_s32(shift, 1), vdupq_n_s32(0)));",
        "    shift = vminq_s32(shift, vdupq_n_s32(-1));",
    ]


def narrowed(r: Requant, halves: str) -> list[str]:
    """Returns C code that adds the zero point to `halves`, an int16x8_t, and narrows them to `bytes`."""
    lines = [f"    {halves} = vqaddq_n_s16({halves}, {r.zero_point});"] if r.zero_point else []
    if r.low > -128:
        lines.append(f"    {halves} = vmaxq_s16({halves}, vdupq_n_s16({r.low}));")
    if r.high < 127:
        lines.append(f"    {halves} = vminq_s16({halves}, vdupq_n_s16({r.high}));")
    lines.append(f"    const int8x16_t bytes = narrow_halves({halves});")
    return lines


def _tile_definition(name: str, tile: RequantTile, r: Requant) -> str:
    sums = [f"s{i}{j}" for i in range(tile.pixels) for j in range(tile.channels)]
    channels, in_lanes = range(tile.channels), r.rounding is not RequantRounding.REDUCED
    params = [f"{r.dtype.c_name} *y", *(f"{r.sum_dtype.c_name} {s}" for s in sums)]
    tables: list[str] = []
    for each in _constants(r, tile.channels):
        kind = each.vector_type or each.dtype.c_name
        tables += [f"{kind} {each.name}{n}" for n in channels] if not in_lanes else [f"{kind} {each.name}"]
    lines = [
        f"/* Sums of {tile.pixels} x {tile.channels} pixels and channels as {type_name(r)},"
        " a channel to a lane:",
        f"   {r.said}{tile.steps_text}. */",
        f"static inline __attribute__((always_inline)) void {name}(",
        f"    {', '.join(params)},",
        *_wrapped(tables),
        "{",
        *([f"    const int32x4_t shift = {shift_of(r)};", *ones_as_scale(r)] if in_lanes else []),
    ]
    for i in range(tile.pixels):
        own = sums[i * tile.channels : (i + 1) * tile.channels]
        if not in_lanes:
            own = [
                f"{rounded(r).name}({s} + start{j}, scale{j}, {_REDUCED} + right{j})"
                for j, s in enumerate(own)
            ]
            lines += [f"    const int32_t v{i}{j} = {value};" for j, value in enumerate(own)]
            own = [f"v{i}{j}" for j in channels]
        four = f"vector_of({', '.join([*own, *([own[-1]] * (WORDS - tile.channels))])})"
        v = f"{rounded(r).name}(vaddq_s32({four}, start), scale, shift)" if in_lanes else four
        lines.append(f"    const int32x4_t v{i} = {v};")
    return "\n".join([*lines, *stored(tile, r), "}"]) + "\n"


def _wrapped(params: list[str]) -> list[str]:
    """Returns the lines of a parameter list."""
    rows = [params[n : n + _PER_LINE] for n in range(0, len(params), _PER_LINE)]
    return [f"    {', '.join(row)}{')' if row is rows[-1] else ','}" for row in rows]


def stored(tile: RequantTile, r: Requant) -> list[str]:
    """Returns C code that narrows v0, and v1 if there are two pixels, and stores them at y."""
    if r.dtype is DType.I16:
        return [line for i in range(tile.pixels) for line in _halves_stored(tile, r, i)]
    lines = ["    int16x8_t halves = narrow_words(v0);"]
    if tile.pixels == 2:
        lines.append("    halves = vqmovntq_s32(halves, v1);")
    return [*lines, *narrowed(r, "halves"), f"    {_store(tile)}"]


def _halves_stored(tile: RequantTile, r: Requant, i: int) -> Iterator[str]:
    """Yields C code that narrows v0 or v1 to 16 bits and stores it; even halves are the low ones of words."""
    value = f"v{i}"
    for name, limit, is_needed in (
        ("vmaxq_s32", r.low, r.low > r.dtype.limits[0]),
        ("vminq_s32", r.high, r.high < r.dtype.limits[1]),
    ):
        value = f"{name}({value}, vdupq_n_s32({limit}))" if is_needed else value
    yield f"    const int32x4_t halves{i} = vreinterpretq_s32_s16(narrow_words({value}));"
    y = f"y + {i * tile.pixel_step}" if i else "y"
    own = replace(tile, pixels=1)
    if tile.channel_step == 1 or tile.channels == 1:
        yield "    " + _masked(f"vstrhq{{p}}_s32({y}, halves{i}{{mask}});", own, 32)
        return
    places = ", ".join(str(j * tile.channel_step) for j in range(WORDS))
    yield f"    const uint32x4_t places{i} = {{{places}}};"
    yield "    " + _masked(
        f"vstrhq_scatter_shifted_offset{{p}}_s32({y}, places{i}, halves{i}{{mask}});", own, 32
    )


def _store(tile: RequantTile) -> str:
    if tile.pixels == 1 and (tile.channel_step == 1 or tile.channels == 1):
        return _masked("vstrbq{p}_s32(y, vreinterpretq_s32_s8(bytes){mask});", tile, 32)
    offsets = [i * tile.pixel_step + j * tile.channel_step for j in range(WORDS) for i in range(tile.pixels)]
    lane = 32 // tile.pixels
    name = f"vstrbq_scatter_offset{{p}}_s{lane}"
    return f"const uint{lane}x{len(offsets)}_t places = {{{', '.join(map(str, offsets))}}};\n    " + _masked(
        f"{name}(y, places, vreinterpretq_s{lane}_s8(bytes){{mask}});", tile, lane
    )


def _masked(text: str, tile: RequantTile, lane: int) -> str:
    """Disables lanes past the last channel in a store."""
    if tile.channels == WORDS:
        return text.replace("{p}", "").replace("{mask}", "")
    return text.replace("{p}", "_p").replace("{mask}", f", vctp{lane}q({tile.channels * tile.pixels})")
