"""Helium, depthwise: interleaves rows so that a window is sixteen contiguous bytes.

In planes, the pixels of a channel are contiguous, but the rows of a window are not. VST4 interleaves up to
four rows (zeros for missing ones), four bytes per pixel. Sixteen bytes then are four columns of the window,
and one VMLADAV computes one output. For narrower windows, the next output needs no additional load: its
weights are the same, shifted by four bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aot.ir.types import DType
from aot.wording import counted
from codegen.isa.asm import FEW_REGISTERS
from codegen.isa.helium import ANY_WORDS, INCLUDES, NEEDS
from codegen.isa.helium.depthwise_row import DepthwiseLines
from codegen.isa.helium.four_bits import DIGITS, SHIFT, WeightForm, weight_of
from codegen.isa.helium.requantise import (
    NARROW_HALVES,
    NARROW_WORDS,
    VECTOR_OF,
    WORDS,
    RequantTile,
    in_vector,
    narrowed,
    ones_as_scale,
    rounded,
    shift_of,
    stored,
    suffix,
)
from codegen.isa.plain.requantise import Requant, exact_store
from codegen.loops.affine import Affine, to_affine, variable
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Binary,
    Buffer,
    BufferPlace,
    Const,
    Declare,
    Expr,
    For,
    Instruction,
    Role,
    Stmt,
    Store,
    at,
    load,
)

PIXEL = 4  # bytes of an interleaved pixel: the maximum number of rows
COLUMNS = 4  # maximum of a window
_COLUMN_NAMES = "abcd"
CHUNK = 16  # pixels interleaved at a time
_STORE_REACH = 127  # bytes, of a byte store
READ_AHEAD = PIXEL - 1  # unused bytes loaded past a channel's weights
_UNROLLED = 6  # outputs of a short row; a loop would cost more than its code saves


def interleaved_elements(pixels: int) -> int:
    """Returns the bytes of interleaved pixels, with whole chunks and a whole window at the last pixel."""
    return (-(-pixels // CHUNK) * CHUNK + COLUMNS) * PIXEL


def interleave(rows: int, pixels: int) -> Instruction:
    """lines[4 * i + r] = x[r][i], zeros for missing rows. Reads and writes up to a whole chunk."""
    lines = Buffer("lines", DType.I8, 0, Role.SCRATCH)
    x = Buffer("x", DType.I8, 0, Role.ROWS, rows)
    i, r = variable("i"), variable("r")
    body: tuple[For, ...] = (For("r", rows, (Store(at(lines, i * PIXEL + r), load(x, i, r)),)),)
    if rows < PIXEL:
        body += (For("r", PIXEL - rows, (Store(at(lines, i * PIXEL + r + rows), Const(0)),)),)
    name = f"interleave_{rows}_rows"
    given = ", ".join(f"{{x[{r}]}}" for r in range(rows))
    return Instruction(
        name=f"{name}_of_{pixels}",
        params=(lines, x),
        body=(For("i", pixels, body),),
        call=f"{name}({{lines}}, {given}, {-(-pixels // CHUNK)});",
        definition=_interleave_definition(name, rows),
        includes=INCLUDES,
        needs=NEEDS,
        is_asm=True,
    )


def _interleave_definition(name: str, rows: int) -> str:
    xs = ", ".join(f"const int8_t *x{r}" for r in range(rows))
    text = [f"vmov.i32 q{r}, #0" for r in range(rows, PIXEL)]
    text += ["dls lr, %[chunks]", "1:"]
    text += [f"vldrb.8 q{r}, [%[x{r}]], #{CHUNK}" for r in range(rows)]
    text += [
        f"vst4{part}.8 {{q0, q1, q2, q3}}, [%[lines]]{'!' if part == PIXEL - 1 else ''}"
        for part in range(PIXEL)
    ]
    text += ["le lr, 1b"]
    pointers = ", ".join(f'[x{r}] "+r"(x{r})' for r in range(rows))
    lines = [
        "/* Rows side by side, four bytes to a pixel, sixteen pixels at a time. */",
        f"static inline void {name}(int8_t *lines, {xs}, int32_t chunks)",
        "{",
        "    __asm__ volatile(",
        *(f'        "{line}\\n\\t"' for line in text),
        f'        : [lines] "+r"(lines), {pointers}',
        '        : [chunks] "r"(chunks)',
        '        : "q0", "q1", "q2", "q3", "lr", "memory");',
        "}",
    ]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class InterleavedRows:
    """A row of outputs of up to four channels."""

    channels: int
    rows: int
    columns: int
    stride: int
    outputs: int
    pitch: int  # pixels from one channel to the next
    y_step: int  # bytes from one output to the next
    y_channel_step: int
    is_general: bool = False  # one function for any number of outputs and any distance between them
    is_padded: bool = False  # a column of weights has four bytes for any number of rows
    is_inlined: bool = False  # into a function that keeps nothing else in registers
    form: WeightForm = WeightForm.BYTES

    @property
    def is_written_out(self) -> bool:
        return self.outputs <= _UNROLLED and not self.is_general

    @property
    def loads_columns(self) -> bool:
        """Returns True if weights are loaded column by column through core registers."""
        return not (self.form.is_four_bits or self.is_padded)

    @property
    def weight_bytes(self) -> int:
        """Returns the bytes of all channels' weights."""
        return self.form.vectors(self.channels) * self.columns * self.weight_rows

    @property
    def weight_rows(self) -> int:
        return PIXEL if self.is_padded else self.rows

    @property
    def name(self) -> str:
        own = ("_padded" if self.is_padded else "") + ("_inlined" if self.is_inlined else "")
        own += self.form.value
        shape = f"{self.rows}x{self.columns}_stride_{self.stride}{own}"
        if self.is_general:
            apart = f"_by_{self.y_channel_step}" if self.y_channel_step != 1 else ""
            return f"depthwise_{shape}_{self.channels}{apart}"
        by = f"{self.y_step}" if self.y_channel_step == 1 else f"{self.y_step}_and_{self.y_channel_step}"
        planes = f"_of_planes_{self.pitch}" if self.channels > 1 else ""
        return f"depthwise_{shape}_{self.channels}x{self.outputs}{planes}_by_{by}"

    @property
    def numbers(self) -> tuple[tuple[str, int], ...]:
        """Returns the numbers that a call passes to its function."""
        if not self.is_general:
            return ()
        pitch = (("pitch", self.pitch * PIXEL),) if self.channels > 1 else ()
        return (("outputs", self.outputs), ("y_step", self.y_step), *pitch)

    @property
    def said(self) -> str:
        """Describes the layout of pixels and results in a comment."""
        apart = [] if self.is_general else [f"results {self.y_step} apart"]
        apart += [f"channels {self.y_channel_step} apart"] if self.y_channel_step != 1 else []
        apart += [f"planes of {self.pitch} pixels"] if self.channels > 1 and not self.is_general else []
        return ", ".join([f"{self.rows}x{self.columns} windows, stride {self.stride}", *apart])

    def plane(self, channel: int) -> str:
        """Returns C code for the start of a channel."""
        if channel == 0:
            return "lines"
        apart = f"{channel} * pitch" if self.is_general else str(channel * self.pitch * PIXEL)
        return f"lines + {apart}"


def depthwise_rows(tile: InterleavedRows, requant: Requant) -> Instruction:
    """y[j][i] = stored(start[j] + sum over t, r of pixel(j * pitch + i * stride + t)[r] * w[j][t][r])."""
    y = Buffer("y", DType.I8, 0, Role.OUTPUT)
    lines = Buffer("lines", DType.I8, 0, Role.SCRATCH)
    w = Buffer("w", DType.I8, 0, Role.CONSTANT)
    start, scale, right = (in_vector(name, tile.channels) for name in ("start", "scale", "right"))
    i = variable("i")

    def output(j: Affine, number: int | None) -> For:
        total = Buffer("total", DType.I32, 1, Role.LOCAL)
        given = (Binary("+", load(total), load(start, j)), load(scale, j), load(right, j))
        stored = Apply(exact_store(requant).store, given)
        place = at(y, i * tile.y_step + j * tile.y_channel_step)
        sums = output_sums(tile, at(total), (lines, w), (j, Affine()), number)
        return For("i", tile.outputs, (Declare(total), *sums, Store(place, stored)))

    name, in_order = f"{tile.name}_{suffix(requant)}", _in_order(tile, requant)
    told = "".join(f", {{{number}}}" for number, _ in tile.numbers)
    return Instruction(
        name=name,
        params=(y, lines, w, start, scale, right),
        body=by_channel(tile, output),
        call=f"{name}({{y}}, {{lines}}, {{w}}, {{start}}, {{scale}}, {{right}}{told});",
        definition=_definition(name, tile, requant),
        numbers=tile.numbers,
        includes=INCLUDES,
        needs=ANY_WORDS,
        machine_instructions=_lines_of_asm(tile, requant) * 2,
        is_inline=tile.is_inlined,
        is_asm=True,
        own_registers=0 if in_order is not None or not tile.loads_columns else tile.columns,
        calls=(FEW_REGISTERS, VECTOR_OF, NARROW_WORDS, NARROW_HALVES, rounded(requant)),
    )


def by_channel(tile: InterleavedRows, output: Callable[[Affine, int | None], For]) -> tuple[For, ...]:
    """Returns the outputs of each channel; unrolled for 4-bit weights, whose digits differ by channel."""
    if tile.form is WeightForm.BYTES:
        return (For("j", tile.channels, (output(variable("j"), None),)),)
    return (For("channels", 1, tuple(output(to_affine(c), c) for c in range(tile.channels))),)


def output_sums(
    tile: InterleavedRows,
    total: BufferPlace,
    buffers: tuple[Buffer, Buffer],
    channel: tuple[Affine, Affine],
    number: int | None,
) -> tuple[Stmt, ...]:
    """Returns a sum from zero, for a channel given by its number in its four and the number of the four."""
    (lines, w), (j, four), (i, t, r) = buffers, channel, (variable(v) for v in ("i", "t", "r"))
    pixel = (four * WORDS + j) * tile.pitch + i * tile.stride + t
    vector = j if number is None else to_affine(number // DIGITS)
    place = (vector * tile.columns + t) * tile.weight_rows + r + four * tile.weight_bytes
    weight: Expr = load(w, place)
    if number is not None:
        weight = weight_of(tile.form, number, tile.channels, weight)
    product = Binary("*", load(lines, pixel * PIXEL + r), weight)
    taps = For("t", tile.columns, (For("r", tile.rows, (Accumulate(total, product),)),))
    return (Store(total, Const(0)), taps)


def _definition(name: str, tile: InterleavedRows, r: Requant) -> str:
    every = range(tile.channels)
    numbers = "".join(f", int32_t {number}" for number, _ in tile.numbers)
    count = "So many" if tile.is_general else tile.outputs
    body = _outputs(tile, r)
    lines = _in_order(tile, r)
    if lines is not None:
        why = "/* compilers find even registers for intrinsics */"
        body = [f"#ifdef FEW_REGISTERS {why}", *body, "#else", *lines.statement(), "#endif"]
    inlined = "inline __attribute__((always_inline))"
    lines_of_c = [
        f"/* {count} outputs of {counted(tile.channels, 'channel')}, a lane for each channel:",
        f"   {tile.said}; {r.said}. */",
        # Inlined into other loops, compilers would spill its vectors, which use all registers.
        f"static {inlined if tile.is_inlined else '__attribute__((noinline))'} void {name}(",
        "    int8_t *y, const int8_t *lines, const int8_t *w,",
        f"    int32x4_t start, int32x4_t scale, int32x4_t right{numbers})",
        "{",
        f"    const int32x4_t shift = {shift_of(r)};",
        *ones_as_scale(r),
        f"    int8x16_t {', '.join(f'taps{j}' for j in every)};",
        *(f"    const int8_t *x{j} = {tile.plane(j)};" for j in every),
        *_load_weights(tile),
        *body,
        "}",
    ]
    return "\n".join(lines_of_c) + "\n"


def _in_order(tile: InterleavedRows, r: Requant) -> DepthwiseLines | None:
    """Returns the outputs as one statement, or None if that is not possible."""
    if tile.channels != WORDS or tile.is_general or r.rights[0] < 1:
        return None
    return DepthwiseLines(tile.outputs, tile.stride * PIXEL, tile.y_step, tile.y_channel_step, r)


def _lines_of_asm(tile: InterleavedRows, r: Requant) -> int:
    """Counts the lines of all statements, in both variants if there are two."""
    lines, outputs = _in_order(tile, r), tile.outputs if tile.is_written_out else 1
    in_order = 0 if lines is None else sum(1 for _ in lines.lines())
    return len(_column_loads(tile)) + outputs * len(_sum_lines(tile)) + in_order


def _outputs(tile: InterleavedRows, r: Requant) -> list[str]:
    """Returns the outputs one after the other, in intrinsics."""
    if tile.is_written_out:
        return ["    {", *_output(tile, r), "    }"] * tile.outputs
    return [
        f"    for (int32_t i = 0; i < {'outputs' if tile.is_general else tile.outputs}; ++i) {{",
        *_output(tile, r),
        "    }",
    ]


def _load_weights(tile: InterleavedRows) -> list[str]:
    """Loads a column of weights into each lane. Extra bytes are multiplied by zero."""
    if tile.form.is_four_bits:
        return _load_digits(tile)
    if tile.is_padded:
        size = tile.columns * PIXEL
        return [
            f"    const mve_pred16_t valid = vctp8q({size});",
            *(f"    taps{j} = vldrbq_z_s8(w + {j * size}, valid);" for j in range(tile.channels)),
        ]
    names = _COLUMN_NAMES[: tile.columns]
    taps = ", ".join(f'[taps{j}] "=&w"(taps{j})' for j in range(tile.channels))
    temporary = ", ".join(f'[{n}] "=&r"({n})' for n in names)
    return [
        "    {",
        f"        int32_t {', '.join(names)};",
        "        __asm__ volatile(",
        *(f'            "{line}\\n\\t"' for line in _column_loads(tile)),
        f"            : {taps}, {temporary}",
        '            : [w] "r"(w), [zero] "r"(0)',
        '            : "memory");',
        "    }",
    ]


def _column_loads(tile: InterleavedRows) -> list[str]:
    """Returns the assembly that loads columns into lanes; empty if columns are not loaded separately."""
    if not tile.loads_columns:
        return []
    names = _COLUMN_NAMES[: tile.columns]
    lanes = [f"%[{n}]" for n in names] + ["%[zero]"] * (COLUMNS - tile.columns)
    text = []
    for j in range(tile.channels):
        begin = j * tile.columns * tile.rows
        text += [f"ldr %[{n}], [%[w], #{begin + t * tile.rows}]" for t, n in enumerate(names)]
        text += [f"vmov %q[taps{j}][2], %q[taps{j}][0], {lanes[0]}, {lanes[2]}"]
        text += [f"vmov %q[taps{j}][3], %q[taps{j}][1], {lanes[1]}, {lanes[3]}"]
    return text


def _load_digits(tile: InterleavedRows) -> list[str]:
    """Loads the weights of two channels from the halves of their bytes."""
    size = tile.columns * PIXEL
    lines = [f"    const mve_pred16_t valid = vctp8q({size});"]
    for j in range(0, tile.channels, DIGITS):
        lines += [f"    taps{j} = vldrbq_z_s8(w + {j // DIGITS * size}, valid);"]
        if j + 1 < tile.channels:
            lines += [f"    taps{j + 1} = vshrq_n_s8(vshlq_n_s8(taps{j}, {SHIFT}), {SHIFT});"]
            lines += [f"    taps{j} = vshrq_n_s8(taps{j}, {SHIFT});"]
    return lines


def _output(tile: InterleavedRows, r: Requant) -> list[str]:
    """Returns one output of each channel."""
    every = range(tile.channels)
    sums = ", ".join(f"s{min(j, tile.channels - 1)}" for j in range(WORDS))
    one = RequantTile(1, tile.channels, tile.y_step, tile.y_channel_step)
    y_step = "y_step" if tile.is_general else tile.y_step
    moves_on = _moves_on(one) and not tile.is_general
    lines = [
        f"int32_t {', '.join(f's{j}' for j in every)};",
        "int8x16_t x;",
        "__asm__ volatile(",
        *(f'    "{line}\\n\\t"' for line in _sum_lines(tile)),
        f"    : {', '.join(f'[s{j}] {chr(34)}=&Te{chr(34)}(s{j})' for j in every)},",
        f'      {", ".join(f"[x{j}] {chr(34)}+r{chr(34)}(x{j})" for j in every)}, [x] "=&w"(x)',
        f"    : {', '.join(f'[taps{j}] {chr(34)}w{chr(34)}(taps{j})' for j in every)}",
        '    : "memory");',
        f"const int32x4_t v0 = {rounded(r).name}(vaddq_s32(vector_of({sums}), start), scale, shift);",
        *(
            line.strip()
            for line in (_stored_on(one, r) if moves_on else [*stored(one, r), f"y += {y_step};"])
        ),
    ]
    return [f"        {line}" for line in lines]


def _sum_lines(tile: InterleavedRows) -> list[str]:
    """Returns the assembly of the sums of one output."""
    return [
        line
        for j in range(tile.channels)
        for line in (
            f"vldrb.8 %q[x], [%[x{j}]], #{tile.stride * PIXEL}",
            f"vmladav.s8 %[s{j}], %q[x], %q[taps{j}]",
        )
    ]


def _moves_on(one: RequantTile) -> bool:
    """Returns True if one instruction stores four channels and advances the pointer to the next pixel."""
    return one.channels == WORDS and one.channel_step == 1 and one.pixel_step <= _STORE_REACH


def _stored_on(one: RequantTile, r: Requant) -> list[str]:
    store = f'"vstrb.32 %q[bytes], [%[y]], #{one.pixel_step}"'
    return [
        "int16x8_t halves = narrow_words(v0);",
        *narrowed(r, "halves"),
        f'__asm__ volatile({store} : [y] "+l"(y) : [bytes] "w"(bytes) : "memory");',
    ]
