"""Cortex-M DSP extension, depthwise windows of any size: four channels of neighboring pixels.

SMLABB, SMLABT, SMLATB and SMLATT multiply any half of one register by any half of another, so a channel finds
its weight in whichever half SXTB16 put them. Four weights are widened once for the pixels of a tile. Two
pixels by four channels need every register. Compilers that reserve some get one pixel at a time. If registers
do not suffice for that, its taps are unrolled and the end pointer of its weights is in memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from aot.ir.types import DType
from codegen.isa.asm import FEW_REGISTERS
from codegen.isa.dsp.needs import needs_of
from codegen.loops.affine import variable
from codegen.loops.ir import Accumulate, Buffer, For, Instruction, Role, at, load

CHANNELS = 4  # per 32-bit load of weights
PIXELS = 2
_WRITTEN_OUT, _WRITTEN_OUT_SMALL = 9, 3  # taps of a kernel row, or of a whole window
_FEW = 12  # registers that every compiler leaves to one statement, even with a frame pointer and at -O0
LDR_REACH, LDRD_REACH, _POST_REACH = 4092, 1020, 255  # bytes


@dataclass(frozen=True, slots=True)
class ChannelsTile:
    """Sums of `pixels` by `channels` over a whole window."""

    pixels: int  # 1 or 2
    channels: int  # 1 to 4
    rows: int
    columns: int
    tap_step: int  # elements from one tap of a kernel row to the next
    pixel_step: int
    x_dtype: DType  # I16: widened activations; I8: widened in registers
    x_aligned: bool  # every four channels begin at a multiple of four bytes
    is_small: bool = False  # loops even over few taps
    w_dtype: DType = DType.I8  # I16: weights that do not fit into 8 bits

    @property
    def name(self) -> str:
        weights = "_w16" if self.w_dtype is DType.I16 else ""
        shape = f"{self.rows}x{self.columns}{weights}_of_{self.pixels}x{self.channels}"
        taps = f"_step_{self.tap_step}" if self.columns > 1 else ""
        pixels = f"_apart_{self.pixel_step}" if self.pixels > 1 else ""
        aligned = "" if self.x_aligned or self.x_dtype is DType.I8 else "_unaligned"
        return f"window_{shape}_{self.x_dtype.value}{taps}{pixels}{aligned}"

    @property
    def sums(self) -> tuple[str, ...]:
        return tuple(f"s{i}{j}" for i in range(self.pixels) for j in range(self.channels))

    @property
    def written_out(self) -> int:
        return _WRITTEN_OUT_SMALL if self.is_small else _WRITTEN_OUT

    @property
    def has_straight_rows(self) -> bool:
        """Returns True if all rows of the window are unrolled."""
        return self.rows * self.columns <= self.written_out

    @property
    def is_indexed(self) -> bool:
        """Returns True if the only load of a row includes its offset in the row."""
        only = self.pixels == 1 == self.columns and self.rows > 1
        return only and (self.x_dtype is DType.I8 or self.channels <= 2)

    @property
    def is_possible(self) -> bool:
        """Returns True if registers suffice. Two pixels leave none for a tap counter or for far steps."""
        reach = LDR_REACH if self.x_dtype is DType.I8 else LDRD_REACH - 4
        near = self.pixel_step * self.x_dtype.bytes <= reach and not _is_far(self)
        return self.pixels == 1 or (near and self.columns <= self.written_out)


def window(tile: ChannelsTile) -> Instruction:
    """sums[i][j] += sum over r, t of x[r][i * pixel_step + t * tap_step + j] * w[r][t][j]."""
    sums = Buffer("sums", DType.I32, tile.pixels * tile.channels, Role.LOCAL)
    x = Buffer("x", tile.x_dtype, 0, Role.ROWS, tile.rows)
    w = Buffer("w", tile.w_dtype, 0, Role.CONSTANT)
    i, j, r, t = (variable(v) for v in ("i", "j", "r", "t"))
    element = load(x, i * tile.pixel_step + t * tile.tap_step + j, r)
    product = element * load(w, (r * tile.columns + t) * CHANNELS + j)
    inner = For("j", tile.channels, (Accumulate(at(sums, i * tile.channels + j), product),))
    taps = For("t", tile.columns, (For("i", tile.pixels, (inner,)),))
    every = ", ".join(f"&{{sums[{n}]}}" for n in range(sums.elements))
    rows = "{x_array}, {x_offset}" if tile.rows > 1 else "{x[0]}, 0"
    written = tile.rows if tile.has_straight_rows else 1
    return Instruction(
        name=tile.name,
        params=(sums, x, w),
        body=(For("r", tile.rows, (taps,)),),
        call=f"{tile.name}({every},\n    {rows}, {{w}});",
        definition=_definition(tile),
        calls=(FEW_REGISTERS, *(window(part) for part in _parts(tile))),
        needs=needs_of(tile.x_aligned),
        machine_instructions=len(_tap(tile)) * min(tile.columns, tile.written_out) * written,
        is_asm=True,
        own_registers=_usual(tile).own_registers,
    )


def _parts(tile: ChannelsTile) -> tuple[ChannelsTile, ...]:
    return (replace(tile, pixels=1),) if tile.pixels > 1 else ()


def _macro(tile: ChannelsTile) -> str:
    return f"{tile.name.upper()}_TAP"


def _definition(tile: ChannelsTile) -> str:
    *most, last = (f'    "{line}\\n\\t"' for line in _tap(tile))
    row = "*const *x" if tile.rows > 1 else "*x"
    lines = [
        f"#define {_macro(tile)} \\",
        *(f"{line} \\" for line in most),
        last,
        f"/* Sums of {tile.pixels} x {tile.channels} pixels and channels over {tile.rows}x{tile.columns}. */",
        f"static inline __attribute__((always_inline)) void {tile.name}(",
        f"    {', '.join(f'int32_t *{s}' for s in tile.sums)},",
        f"    const {tile.x_dtype.c_name} {row}, int32_t offset, const {tile.w_dtype.c_name} *w)",
        "{",
        *_body(tile),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _body(tile: ChannelsTile) -> list[str]:
    kept = _usual(tile)
    if not _parts(tile) and len(kept.in_registers) <= _FEW:
        return _in_asm(kept)
    return [
        "#ifdef FEW_REGISTERS",
        *(_by_pixels(tile) if _parts(tile) else _in_asm(_kept(tile, tile.columns, is_few=True))),
        "#else",
        *_in_asm(kept),
        "#endif",
    ]


def _by_pixels(tile: ChannelsTile) -> list[str]:
    (part,) = _parts(tile)
    pixels = [", ".join(tile.sums[i * tile.channels : (i + 1) * tile.channels]) for i in range(tile.pixels)]
    return [f"    {part.name}({s}, x, offset + {i * tile.pixel_step}, w);" for i, s in enumerate(pixels)]


def _usual(tile: ChannelsTile) -> _Kept:
    """Returns the statement for a core on which it can use all registers."""
    return _kept(tile, tile.written_out)


def _kept(tile: ChannelsTile, most: int, is_few: bool = False) -> _Kept:
    in_memory = _in_memory(tile, is_few)
    rows = _rows(tile, _macro(tile), most, in_memory)
    return _Kept(tile, in_memory, tuple(rows), " ".join([*rows, *_tap(tile)]))


def _in_memory(tile: ChannelsTile, is_few: bool) -> tuple[str, ...]:
    """Returns the operands of a row in memory; each costs a load per row instead of a register."""
    if tile.pixels > 1:
        return ("row", "begin", "end")
    if is_few:
        return ("begin", "end") if _is_far(tile) else ("end",)
    return ()


def _in_asm(kept: _Kept) -> list[str]:
    """Returns one asm statement; with several, compilers would move all these registers in between."""
    tile = kept.tile
    return [
        f"    int32_t {', '.join(f'sum_{s} = *{s}' for s in tile.sums)};",
        f"    int32_t {', '.join(kept.temporary)};",
        *(f"    {text}" for text in kept.declared),
        "    __asm__ volatile(",
        *(f"        {line}" for line in kept.rows),
        f"        : {', '.join(f'[{s}] {chr(34)}+r{chr(34)}(sum_{s})' for s in tile.sums)},",
        f"          {', '.join(kept.outputs)}",
        f"        : {', '.join(kept.inputs)}".rstrip(),
        '        : "memory", "cc");',
        *(f"    *{s} = sum_{s};" for s in tile.sums),
    ]


@dataclass(frozen=True, slots=True)
class _Kept:
    """The operands of a statement besides the sums."""

    tile: ChannelsTile
    in_memory: tuple[str, ...]
    rows: tuple[str, ...]  # lines of the statement
    text: str  # these and the taps

    def _has(self, name: str) -> bool:
        return f"%[{name}]" in self.text

    @property
    def in_registers(self) -> list[str]:
        """Returns all registers of a pixel, including its sums."""
        once = [n for n in ("row", "begin", "end", "step") if self._has(n) and n not in self.in_memory]
        return [*self.tile.sums, "x", "w", *self.temporary, *once]

    @property
    def temporary(self) -> list[str]:
        return [n for n in ("a", "b", "p", "q", "count") if self._has(n)]

    @property
    def own_registers(self) -> int:
        """Counts the registers besides the operands. With several rows, each loads the pixel's pointer."""
        return len(self.temporary) + (self.tile.rows > 1)

    @property
    def declared(self) -> list[str]:
        x_type = self.tile.x_dtype.c_name
        end = self.tile.rows * self.tile.columns * CHANNELS
        lines = {
            "begin": f"const int32_t begin = offset * {self.tile.x_dtype.bytes};",
            "row": f"const {x_type} *const *row = x;",
            "end": f"const {self.tile.w_dtype.c_name} *const end = w + {end};",
        }
        pixel = f"const {x_type} *pixel{' = x + offset' if self.tile.rows == 1 else ''};"
        return [pixel, *(line for name, line in lines.items() if self._has(name))]

    @property
    def outputs(self) -> list[str]:
        pixel = "+r" if self.tile.rows == 1 else "=&r"
        operands = [f'[x] "{pixel}"(pixel)', '[w] "+r"(w)']
        operands += [f'[{n}] "=&r"({n})' for n in self.temporary]
        return [*operands, *([f'[row] "+{self._kind("row")}"(row)'] if self._has("row") else [])]

    def _kind(self, name: str) -> str:
        return "m" if name in self.in_memory else "r"

    @property
    def inputs(self) -> list[str]:
        operands = {
            "begin": f'"{self._kind("begin")}"(begin)',
            "end": f'"{self._kind("end")}"(end)',
            "step": f'"r"({_tap_bytes(self.tile)})',
        }
        return [f"[{name}] {operand}" for name, operand in operands.items() if self._has(name)]


def _line(text: str) -> str:
    return f'"{text}\\n\\t"'


def _rows(tile: ChannelsTile, macro: str, most: int, in_memory: tuple[str, ...]) -> list[str]:
    """Returns the rows of the window, with at most `most` taps of a row unrolled."""
    if tile.rows == 1:
        return _row(tile, macro, most)
    row = [*(_line(text) for text in _begin_of_row(tile, in_memory)), *_row(tile, macro, most)]
    if tile.has_straight_rows:
        return row * tile.rows
    last = ["ldr %[p], %[end]", "cmp %[w], %[p]"] if "end" in in_memory else ["cmp %[w], %[end]"]
    return [_line("1:"), *row, *(_line(text) for text in (*last, "bne 1b"))]


def _begin_of_row(tile: ChannelsTile, in_memory: tuple[str, ...]) -> list[str]:
    loaded = ["ldr %[x], [%[row]], #4"]
    if "row" in in_memory:
        loaded = ["ldr %[p], %[row]", "ldr %[x], [%[p]], #4", "str %[p], %[row]"]
    if tile.is_indexed:
        return loaded
    if "begin" in in_memory:
        return [*loaded, "ldr %[p], %[begin]", "add %[x], %[x], %[p]"]
    return [*loaded, "add %[x], %[x], %[begin]"]


def _row(tile: ChannelsTile, macro: str, most: int) -> list[str]:
    """Returns the taps of one kernel row: a loop with as many as may be unrolled, and the rest."""
    turns, rest = divmod(tile.columns, most)
    if turns == 0 or tile.columns == most:
        return _taps(macro, tile.columns)
    counted = [_line(f"mov %[count], #{turns}"), _line("2:")]
    again = [_line("subs %[count], %[count], #1"), _line("bne 2b")]
    return [*counted, *_taps(macro, most), *again, *_taps(macro, rest)]


def _taps(macro: str, count: int) -> list[str]:
    return [" ".join([macro] * min(3, count - n)) for n in range(0, count, 3)]


def _tap_bytes(tile: ChannelsTile) -> int:
    return tile.tap_step * tile.x_dtype.bytes if tile.columns > 1 else 0


def _is_far(tile: ChannelsTile) -> bool:
    """Returns True if the offset to the next tap fits no instruction. A single pixel has a register."""
    return _tap_bytes(tile) > LDR_REACH


def _tap(tile: ChannelsTile) -> list[str]:
    if tile.w_dtype is DType.I16:
        lines = ["ldrd %[a], %[b], [%[w]], #8"]
    else:
        lines = ["ldr %[a], [%[w]], #4", "sxtb16 %[b], %[a]", "sxtb16 %[a], %[a], ror #8"]
    for i in reversed(range(tile.pixels)):
        lines += [*(_load_bytes(tile, i) if tile.x_dtype is DType.I8 else _load_halves(tile, i))]
        lines += _products(tile, i)
    return lines


# The registers of channels 0 to 3 and of their weights, with b for the lower half or t for the upper one.
_BYTES = ("pb", "qb", "pt", "qt")
_HALVES = ("pb", "pt", "qb", "qt")
_WEIGHTS_OF = {DType.I8: ("bb", "ab", "bt", "at"), DType.I16: ("ab", "at", "bb", "bt")}


def _products(tile: ChannelsTile, i: int) -> list[str]:
    pixels = _BYTES if tile.x_dtype is DType.I8 else _HALVES
    places = zip(pixels[: tile.channels], _WEIGHTS_OF[tile.w_dtype], strict=False)
    return [
        f"smla{x[1]}{w[1]} %[s{i}{j}], %[{x[0]}], %[{w[0]}], %[s{i}{j}]" for j, (x, w) in enumerate(places)
    ]


def _load_bytes(tile: ChannelsTile, i: int) -> list[str]:
    widened = ["sxtb16 %[p], %[q]", "sxtb16 %[q], %[q], ror #8"]
    return [*_moved(tile, i, ["ldr %[q], "], _POST_REACH), *widened]


def _load_halves(tile: ChannelsTile, i: int) -> list[str]:
    if tile.channels <= 2:
        return _moved(tile, i, ["ldr %[p], "], _POST_REACH)
    if tile.x_aligned:
        return _moved(tile, i, ["ldrd %[p], %[q], "], LDRD_REACH)
    return _moved(tile, i, ["ldr %[q], ", "ldr %[p], "], _POST_REACH)


def _moved(tile: ChannelsTile, i: int, loads: list[str], reach: int) -> list[str]:
    """Returns the loads of a pixel, its first word last. Pixel 0's pointer advances to the next tap."""
    begin, step = i * tile.pixel_step * tile.x_dtype.bytes, _tap_bytes(tile) if i == 0 else 0
    places = [begin + 4 * word for word in reversed(range(len(loads)))]
    lines = [
        f"{name}[%[x]{f', #{place}' if place else ''}]" for name, place in zip(loads, places, strict=True)
    ]
    if step == 0:
        return [lines[0].replace("[%[x]]", "[%[x], %[begin]]")] if tile.is_indexed else lines
    if step <= reach:
        return [*lines[:-1], f"{lines[-1]}, #{step}"]
    return [*lines, "add %[x], %[step]" if _is_far(tile) else f"add %[x], %[x], #{step}"]
