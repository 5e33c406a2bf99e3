"""Helium: VMLADAVA adds sixteen products of bytes to a sum in a core register.

A tile of sums of some pixels and channels advances along the kernel's rows: the pixels' sixteen bytes stay in
vector registers while the channels' weights are read. Sums need even core registers, which compilers assign
badly, so the inner steps are inline assembly. The remainder of a row after whole sixteens is loaded with the
lanes past the end as zeros, so neither weights nor activations are padded.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from aot.ir.types import DType
from aot.wording import counted
from codegen.isa.asm import (
    FEW_REGISTERS,
    Address,
    AsmLine,
    adds_to,
    computes,
    in_order,
    loads,
    operand,
    predicate,
    stays,
)
from codegen.isa.helium import INCLUDES, NEEDS
from codegen.isa.helium.four_bits import DIGITS, SHIFT, WeightForm, weight_of
from codegen.isa.helium.pipeline import HELIUM
from codegen.loops.affine import Affine, variable
from codegen.loops.ir import (
    Accumulate,
    Binary,
    Buffer,
    BufferPlace,
    Const,
    For,
    Instruction,
    Role,
    Stmt,
    Store,
    at,
    load,
)

LANES = 16
READ_AHEAD = LANES - 1  # bytes loaded past the last weight; these lanes are zero in the pixels
_WORD_REACH, _BYTE_REACH = 508, 127  # largest offsets of vector loads
_UNROLLED = 4  # steps per iteration
_ODD_REGISTERS = ("r1", "r3", "r5", "r7", "r9")  # not usable for sums; R11 is left to the compiler
_MOST_SUMS = 8  # they take all even registers
_STRAIGHT = 8  # steps of a row without a loop
_COUNTS = {8: "eight", 16: "sixteen"}


@dataclass(frozen=True, slots=True)
class HeliumDotTile:
    """Sums of `pixels` by `channels` over a whole window: kernel rows of taps of `length` elements each."""

    pixels: int  # 1 or 2
    channels: int  # 1 to 4; up to 8 for a single pixel
    kernel_rows: int
    taps: int
    length: int
    x_step: int  # elements from one pixel's window to the next, if there are two, of bytes
    tap_step: int
    x_aligned: bool  # every window begins at a multiple of four bytes
    form: WeightForm = WeightForm.BYTES
    x_dtype: DType = DType.I8  # I16: weights are widened as they are loaded
    sum_dtype: DType = DType.I32  # I64: for pixels of 16 bits

    @property
    def lanes(self) -> int:
        """Returns the products of an instruction."""
        return LANES // self.x_dtype.bytes

    @property
    def is_in_asm(self) -> bool:
        """Returns True if the window is one statement."""
        return not self.form.is_four_bits

    @property
    def bits(self) -> int:
        """Returns the bits of a lane."""
        return 8 * self.x_dtype.bytes

    def total(self, i: int, j: int) -> str:
        """Returns the register of a sum, or the pair of registers."""
        name = f"s{i}{j}"
        return operand(name) if self.sum_dtype is DType.I32 else f"%Q[{name}], %R[{name}]"

    @property
    def vectors(self) -> int:
        """Returns the number of weight vectors per step."""
        return self.form.vectors(self.channels)

    @property
    def steps(self) -> int:
        return self.length // self.lanes

    @property
    def rest(self) -> int:
        return self.length % self.lanes

    @property
    def name(self) -> str:
        taps = f"_{self.taps}_taps_{self.tap_step}" if self.taps > 1 else ""
        step = f"_step_{self.x_step}" if self.pixels > 1 else ""
        rows = f"{self.kernel_rows}_rows_of_{self.length}"
        ends = ("" if self.x_aligned else "_unaligned") + self.form.value
        if self.x_dtype is not DType.I8:
            ends = f"_{self.x_dtype.value}_in_{self.sum_dtype.value}"
        return f"dot_{self.pixels}x{self.channels}_{rows}{taps}{step}{ends}"

    @property
    def window_text(self) -> str:
        """Describes the window in a comment."""
        taps = f", {self.taps} of them {self.tap_step} apart" if self.taps > 1 else ""
        address = "" if self.x_aligned or self.x_dtype is not DType.I8 else ", at any address"
        elements = "bytes" if self.x_dtype is DType.I8 else "halves"
        return f"{counted(self.kernel_rows, 'row')} of {self.length} {elements}{taps}{address}"

    @property
    def sums(self) -> list[tuple[int, int]]:
        return [(i, j) for i in range(self.pixels) for j in range(self.channels)]


def dot(tile: HeliumDotTile) -> Instruction:
    """sums[i][j] = sum over the window of x * w; `w` has whole steps, `rest` the remainder of each tap."""
    sums = Buffer("sums", tile.sum_dtype, tile.pixels * tile.channels, Role.LOCAL)
    x = Buffer("x", tile.x_dtype, 0, Role.ROWS, tile.kernel_rows)
    w = Buffer("w", DType.I8, 0, Role.CONSTANT)
    rest = Buffer("rest", DType.I8, 0, Role.CONSTANT)
    weights = ((w,) if tile.steps else ()) + ((rest,) if tile.rest else ())
    arguments = [f"&{{sums[{i}]}}" for i in range(sums.elements)]
    arguments += [f"{{x[{r}]}}" for r in range(tile.kernel_rows)]
    arguments += [f"{{{b.name}}}" for b in weights]
    return Instruction(
        name=tile.name,
        params=(sums, x, *weights),
        body=_meaning(tile, sums, x, w, rest),
        call=f"{tile.name}({', '.join(arguments)});",
        definition=_definition(tile),
        includes=INCLUDES,
        calls=(FEW_REGISTERS,),
        needs=NEEDS,
        machine_instructions=len(_asm_lines(tile)) if tile.is_in_asm else 0,
        is_asm=tile.is_in_asm,
        own_registers=_own_registers(tile) if tile.is_in_asm else 0,
    )


def _meaning(tile: HeliumDotTile, sums: Buffer, x: Buffer, w: Buffer, rest: Buffer) -> tuple[Stmt, ...]:
    i, j, r, t, n, lane = (variable(v) for v in ("i", "j", "r", "t", "n", "lane"))
    if tile.form.is_four_bits:
        body: list[Stmt] = []
        for channel in range(tile.channels):
            total = at(sums, i * tile.channels + channel)
            window = four_bit_window(tile, total, (x, w, rest), (channel, i * tile.x_step))
            body += [Store(total, Const(0)), window]
        return (For("i", tile.pixels, tuple(body)),)
    total = at(sums, i * tile.channels + j)
    tap = r * tile.taps + t
    begin = i * tile.x_step + t * tile.tap_step

    def product(k: Affine, weights: Buffer, place: Affine) -> Accumulate:
        return Accumulate(total, Binary("*", load(x, begin + k, r), load(weights, place)))

    lanes = tile.lanes
    whole = ((tap * tile.steps + n) * tile.channels + j) * lanes + lane
    left = (tap * tile.channels + j) * tile.rest + lane
    inner: tuple[Stmt, ...] = ()
    if tile.steps:
        inner += (For("n", tile.steps, (For("lane", lanes, (product(n * lanes + lane, w, whole),)),)),)
    if tile.rest:
        inner += (For("lane", tile.rest, (product(lane + tile.steps * lanes, rest, left),)),)
    window = For("r", tile.kernel_rows, (For("t", tile.taps, inner),))
    return (For("i", tile.pixels, (For("j", tile.channels, (Store(total, Const(0)), window)),)),)


def four_bit_window(
    tile: HeliumDotTile,
    total: BufferPlace,
    buffers: tuple[Buffer, Buffer, Buffer],
    begin: tuple[int, Affine],
    w_first: Affine | None = None,
) -> For:
    """Adds the products of a channel, for the pixel that begins at an element of x."""
    (x, w, rest), (channel, first) = buffers, begin
    r, t, n, lane = (variable(v) for v in ("r", "t", "n", "lane"))
    number = channel // DIGITS
    tap = r * tile.taps + t

    def product(k: Affine, weights: Buffer, place: Affine) -> Accumulate:
        weight = weight_of(tile.form, channel, tile.channels, load(weights, place))
        return Accumulate(total, Binary("*", load(x, first + t * tile.tap_step + k, r), weight))

    whole = ((tap * tile.steps + n) * tile.vectors + number) * LANES + lane + (w_first or 0)
    left = (tap * tile.vectors + number) * tile.rest + lane
    inner: tuple[Stmt, ...] = ()
    if tile.steps:
        inner += (For("n", tile.steps, (For("lane", LANES, (product(n * LANES + lane, w, whole),)),)),)
    if tile.rest:
        inner += (For("lane", tile.rest, (product(lane + tile.steps * LANES, rest, left),)),)
    return For("r", tile.kernel_rows, (For("t", tile.taps, inner),))


def _definition(tile: HeliumDotTile) -> str:
    params = [f"{tile.sum_dtype.c_name} *sum{i}{j}" for i, j in tile.sums]
    rows = [f"const {tile.x_dtype.c_name} *x{r}" for r in range(tile.kernel_rows)]
    weights = (["const int8_t *w"] if tile.steps else []) + (["const int8_t *rest"] if tile.rest else [])
    lines = [
        f"/* Sums of {_describe(tile)}, {_COUNTS[tile.lanes]} products at a time:",
        f"   {tile.window_text}. */",
        f"static inline __attribute__((always_inline)) void {tile.name}(",
        f"    {', '.join(params)},",
        f"    {', '.join([*rows, *weights])})",
        "{",
        *_body(tile),
        *(f"    *sum{i}{j} = s{i}{j};" for i, j in tile.sums),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _body(tile: HeliumDotTile) -> list[str]:
    if tile.form.is_four_bits:  # for code outside of the single statements for rows and vectors
        return [*_in_intrinsics(tile), *_of_digits(tile)]
    return [
        "#ifdef FEW_REGISTERS /* compilers find even ones, and the predicate's, for intrinsics */",
        *_in_intrinsics(tile),
        "#else",
        f"    {tile.sum_dtype.c_name} {', '.join(f's{i}{j}' for i, j in tile.sums)};",
        *_window(tile),
        "#endif",
    ]


def _of_digits(tile: HeliumDotTile) -> list[str]:
    """Computes the channels' sums from those with bytes and with low digits."""
    lines = []
    for i, j in tile.sums:
        if j % DIGITS:
            high, low = f"s{i}{j - 1}", f"s{i}{j}"
            lines += [f"    {low} >>= {SHIFT};"]
            if tile.form is WeightForm.JOINED:
                lines += [f"    {high} = ({high} - {low}) >> {SHIFT};"]
    return lines


def _in_intrinsics(tile: HeliumDotTile) -> list[str]:
    bits, lanes = tile.bits, tile.lanes
    loaded = "vldrbq" if tile.x_dtype is DType.I8 else "vldrhq"
    lines = [f"    {tile.sum_dtype.c_name} {', '.join(f's{i}{j} = 0' for i, j in tile.sums)};"]
    for tap in _taps(tile):
        lines += ["    {", f"        const {tile.x_dtype.c_name} *x = {tap};"]
        if tile.steps:
            lines += [f"        for (int32_t n = 0; n < {tile.steps}; ++n) {{"]
            lines += _step_in_intrinsics(tile, f"{loaded}_s{bits}({{}})", "w", lanes)
            lines += [f"            x += {lanes};", "        }"]
        if tile.rest:
            lines += [f"        const mve_pred16_t valid = vctp{bits}q({tile.rest});"]
            lines += _step_in_intrinsics(tile, f"{loaded}_z_s{bits}({{}}, valid)", "rest", tile.rest)
        lines.append("    }")
    return lines


def _step_in_intrinsics(tile: HeliumDotTile, loaded: str, weights: str, length: int) -> list[str]:
    bits, added = tile.bits, "vmladavaq" if tile.sum_dtype is DType.I32 else "vmlaldavaq"
    pixels = [
        f"const int{bits}x{tile.lanes}_t q{i} = {loaded.format(f'x + {i * tile.x_step}')};"
        for i in range(tile.pixels)
    ]
    if tile.form.is_four_bits:
        sums = _digits_in_intrinsics(tile, weights, length)
    else:
        sums = [
            f"s{i}{j} = {added}_s{bits}(s{i}{j}, q{i}, vldrbq_s{bits}({weights} + {j * length}));"
            for j in range(tile.channels)
            for i in range(tile.pixels)
        ]
    return [f"            {line}" for line in (*pixels, *sums, f"{weights} += {tile.vectors * length};")]


def _digits_in_intrinsics(tile: HeliumDotTile, weights: str, length: int) -> list[str]:
    places = [f"vldrbq_s8({weights} + {n * length})" for n in range(tile.vectors)]
    lines = [f"const int8x16_t w{n} = {place};" for n, place in enumerate(places)]
    for j in range(tile.channels):
        number, digit = divmod(j, DIGITS)
        is_whole = tile.form is WeightForm.JOINED or j == tile.channels - 1
        high = f"w{number}" if is_whole else f"vshrq_n_s8(w{number}, {SHIFT})"
        factor = f"vshlq_n_s8(w{number}, {SHIFT})" if digit else high
        lines += [f"s{i}{j} = vmladavaq_s8(s{i}{j}, q{i}, {factor});" for i in range(tile.pixels)]
    return lines


def _describe(tile: HeliumDotTile) -> str:
    channels = counted(tile.channels, "channel") + (" of four bits" if tile.form.is_four_bits else "")
    if tile.pixels == 1:
        return f"one pixel and {channels}"
    return f"{tile.pixels} pixels, {tile.x_step} bytes apart, and {channels}"


def _window(tile: HeliumDotTile) -> list[str]:
    """Returns one asm statement for the whole window. Many tap pointers are on the stack."""
    moved, temporary = _moved(tile), _temporary(tile)
    is_pinned = _is_pinned(tile)

    def low(name: str) -> str:  # loads that widen have only the lower registers
        return "+l" if tile.x_dtype is DType.I16 and name in ("w", "rest") else "+r"

    kind = "Te" if tile.sum_dtype is DType.I32 else "r"
    sums = ", ".join(f'[s{i}{j}] "=&{kind}"(s{i}{j})' for i, j in tile.sums)
    others = [f'[{n}] "{low(n)}"({"in_" * is_pinned}{n})' for n in moved]
    others += [f'[{n}] "=&r"({n})' for n in temporary]
    others += ['[rest] "+m"(rest)'] if _shares_register(tile) else []
    clobbered = ["q0", "q1", "q2", "q3", *(["p0"] if tile.rest else []), "memory", "cc"]
    return [
        *_declared(tile),
        "    __asm__ volatile(",
        *(f'        "{line.text}\\n\\t"' for line in _asm_lines(tile)),
        f"        : {sums},",
        f"          {', '.join(others)}",
        "        :",
        f"        : {', '.join(chr(34) + name + chr(34) for name in clobbered)});",
    ]


@lru_cache(maxsize=256)
def _asm_lines(tile: HeliumDotTile) -> tuple[AsmLine, ...]:
    """Returns the instructions of the window. Cached, since they are ordered and counted."""
    lines = [line for n in range(len(_taps(tile))) for line in _tap(tile, n)]
    if tile.rest:
        of_sum = tile.total(0, 0).partition(",")[0]  # not yet in use
        count = operand("count") if _counts(tile) else of_sum
        lines = [stays(f"mov {count}, #{tile.rest}"), stays(f"vctp.{tile.bits} {count}"), *lines]
    return tuple(in_order(lines, HELIUM))


def _own_registers(tile: HeliumDotTile) -> int:
    """Returns the registers besides operands. Pairs may be any, so that a compiler's choice counts."""
    pairs = len(tile.sums) if tile.sum_dtype is DType.I64 else 0
    return len(_temporary(tile)) + pairs


def _temporary(tile: HeliumDotTile) -> list[str]:
    """Returns the registers other than sums and advancing pointers."""
    names = [*([] if _in_registers(tile) else ["p"]), *(["next"] if _is_far(tile) else [])]
    return [*names, *(["count"] if _counts(tile) else [])]


def _moved(tile: HeliumDotTile) -> dict[str, tuple[str, str]]:
    """Returns the advancing pointers in registers, with C code of their types and values."""
    element = f"const {tile.x_dtype.c_name}"
    if _in_registers(tile):
        found = {f"p{n}": (element, tap) for n, tap in enumerate(_taps(tile))}
    else:
        found = {"tap": (f"{element} *const", "taps")}
    weights = (["w"] if tile.steps else []) + (["rest"] if tile.rest and not _shares_register(tile) else [])
    return found | {n: ("const int8_t", n) for n in weights}


def _taps(tile: HeliumDotTile) -> list[str]:
    """Returns C code for the start of each tap of the first pixel's window."""
    every = [(r, t * tile.tap_step) for r in range(tile.kernel_rows) for t in range(tile.taps)]
    return [f"x{r} + {offset}" if offset else f"x{r}" for r, offset in every]


def _declared(tile: HeliumDotTile) -> list[str]:
    moved, temporary, taps = _moved(tile), _temporary(tile), _taps(tile)
    kind = f"const {tile.x_dtype.c_name} *const"
    listed = [] if _in_registers(tile) else [f"    {kind} taps[{len(taps)}] = {{{', '.join(taps)}}};"]
    if not _is_pinned(tile):
        pointers = [f"    {kind} *{n} = {value};" for n, (kind, value) in moved.items() if n != value]
        return [*listed, *pointers, *(f"    int32_t {n};" for n in temporary)]
    values = [(f"{kind} *in_{n}", f" = {value}") for n, (kind, value) in moved.items()]
    values += [(f"int32_t {n}", "") for n in temporary]
    return listed + [
        f'    register {name} __asm__("{register}"){value};'
        for register, (name, value) in zip(_ODD_REGISTERS, values, strict=False)
    ]


def _is_pinned(tile: HeliumDotTile) -> bool:
    """Returns True if sums have all even registers: compilers fail to assign the others."""
    return len(tile.sums) == _MOST_SUMS


def _in_registers(tile: HeliumDotTile) -> bool:
    """Returns True if each tap's pointer has a register: of four, gcc finds none with -O1 and -Os."""
    others = (tile.steps > 0) + (tile.rest > 0) + _is_far(tile) + (_turns(tile) > 0)
    return len(_taps(tile)) < 4 and len(_taps(tile)) + others <= len(_ODD_REGISTERS)


def _counts(tile: HeliumDotTile) -> bool:
    """Returns True if a register is only a counter."""
    is_free = len(_taps(tile)) == 1 and not _is_pinned(tile)
    return _turns(tile) > 0 or (tile.rest > 0 and is_free)


def _shares_register(tile: HeliumDotTile) -> bool:
    """Returns True if the counter's register has the address of the remainder's weights after each loop."""
    return (
        _is_pinned(tile) and not _in_registers(tile) and _is_far(tile) and _turns(tile) > 0 and tile.rest > 0
    )


def _tap(tile: HeliumDotTile, number: int) -> list[AsmLine]:
    pointer = operand(f"p{number}" if _in_registers(tile) else "p")
    lines = []
    if not _in_registers(tile):
        lines.append(loads("ldr", (pointer,), Address(operand("tap"), 4, moves=True)))
    if _is_far(tile):
        lines.append(computes("add", operand("next"), pointer, end=f"#{tile.x_step}"))
    if tile.steps:
        lines += _whole_steps(tile, pointer, sets=number == 0)
    if tile.rest:
        lines += _rest_step(tile, pointer, sets=number == 0 and not tile.steps)
    return lines


def _turns(tile: HeliumDotTile) -> int:
    return 0 if tile.steps <= _STRAIGHT else (tile.steps - 1) // _UNROLLED


def _whole_steps(tile: HeliumDotTile, pointer: str, sets: bool) -> list[AsmLine]:
    """Returns the first steps one by one and the others in a loop; the very first sets the sums."""
    turns = _turns(tile)
    lines = []
    for n in range(tile.steps - turns * _UNROLLED):
        lines += _step(tile, pointer, sets and n == 0)
    if turns:
        loop = _step(tile, pointer, sets=False) * _UNROLLED
        begin, end = (f"mov %[count], #{turns}", "1:"), ("subs %[count], #1", "bne 1b")
        lines += [*map(stays, begin), *loop, *map(stays, end)]
    return lines


def _step(tile: HeliumDotTile, pointer: str, sets: bool) -> list[AsmLine]:
    lines = [_load_x(tile, pointer, i, LANES) for i in reversed(range(tile.pixels))]
    for j in range(tile.channels):
        lines += [_load_w(tile, "w", j, tile.lanes), *_products(tile, j, sets)]
    return lines


def _rest_step(tile: HeliumDotTile, pointer: str, sets: bool) -> list[AsmLine]:
    """Returns the products of a remainder; pixels past the tap's end count as zero, with any weights."""
    place = "count" if _shares_register(tile) else "rest"
    lines = [predicate(f"vps{'t' * tile.pixels}", tile.pixels)]
    lines += [_load_x(tile, pointer, i, None) for i in reversed(range(tile.pixels))]
    for j in range(tile.channels):
        lines += [_load_w(tile, place, j, tile.rest), *_products(tile, j, sets)]
    if place == "rest":
        return lines
    return [stays("ldr %[count], %[rest]"), *lines, stays("str %[count], %[rest]")]


def _load_w(tile: HeliumDotTile, pointer: str, channel: int, length: int) -> AsmLine:
    name = "vldrb.8" if tile.x_dtype is DType.I8 else "vldrb.s16"
    return loads(name, (f"q{2 + channel % 2}",), Address(operand(pointer), length, moves=True))


def _products(tile: HeliumDotTile, j: int, sets: bool) -> list[AsmLine]:
    name = "vmladav" if tile.sum_dtype is DType.I32 else "vmlaldav"
    name, made = (f"{name}.s{tile.bits}", computes) if sets else (f"{name}a.s{tile.bits}", adds_to)
    return [made(name, tile.total(i, j), f"q{i}", f"q{2 + j % 2}") for i in range(tile.pixels)]


def _load_x(tile: HeliumDotTile, pointer: str, pixel: int, advance: int | None) -> AsmLine:
    """Returns the load of a pixel. Pixel 0 is loaded last and advances the pointer.

    A neighbor out of reach has a separate pointer. Without `advance`, it is a predicated load, the last by
    its pointer.
    """
    if tile.x_dtype is DType.I16:
        name = "vldrht.16" if advance is None else "vldrh.16"
    else:
        name = "vldrbt.8" if advance is None else "vldrw.32" if tile.x_aligned else "vldrb.8"
    if pixel and not _is_far(tile):
        return loads(name, (f"q{pixel}",), Address(pointer, tile.x_step))
    by = pointer if pixel == 0 else operand("next")
    return loads(name, (f"q{pixel}",), Address(by, advance, moves=advance is not None))


def _is_far(tile: HeliumDotTile) -> bool:
    words_only = tile.x_aligned and not tile.rest
    return tile.pixels > 1 and tile.x_step > (_WORD_REACH if words_only else _BYTE_REACH)
