"""depthwise_conv2d on Helium for windows of any size: sixteen channels of a row of pixels at a time.

VLDRB widens eight channels to 16 bits; VMULLB and VMULLT compute the 32-bit products of the even and the odd
ones. Sixteen channels share the cost of finding a row of the window. Weights are packed by tap, so that their
pointer advances through all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aot.ir.types import DType
from aot.target import Optimize
from codegen.formats import RowFormat
from codegen.isa.helium import INCLUDES, NEEDS
from codegen.isa.helium.requantise import NARROW_HALVES, NARROW_WORDS, narrowed, rounded, shift_of, suffix
from codegen.isa.plain.requantise import Requant, exact_store
from codegen.kernels.depthwise_conv2d import (
    ONE_FILTER_EACH,
    Blocks,
    DepthwiseRows,
    blocks_nest,
    blocks_request,
    depthwise_kernel,
    op_of,
    tail_of,
)
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.requantised import Requantised
from codegen.kernels.strategy import BYTES, RowRequests, Strategy, requantised_in_lanes
from codegen.loops.affine import variable
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Binary,
    Buffer,
    Declare,
    For,
    Instruction,
    Proc,
    Role,
    Store,
    at,
    load,
)
from codegen.loops.tensorize import tensorize

LANES = 8  # 16-bit channels per vector
MOST = 16  # channels per call
_WRITTEN_OUT, _WRITTEN_OUT_SMALL = 9, 3  # taps
_PART_BYTES = 84  # of stack, where lanes are left over: places of another tile's tables are kept meanwhile
_ENDS = 60  # instructions that load constants, requantize and store
_REACH = 127  # bytes by which a byte load can advance its pointer
_PARITIES = ("even", "odd")


@dataclass(frozen=True, slots=True)
class DepthwiseChannels:
    """A row of outputs of up to sixteen channels."""

    channels: int
    rows: int
    columns: int
    tap_step: int  # bytes from one tap of a kernel row to the next
    outputs: int
    x_step: int  # bytes from one output's window to the next
    y_step: int
    y_channel_step: int
    is_small: bool = False  # loops even over few taps

    @property
    def name(self) -> str:
        steps = f"step_{self.tap_step}" if self.columns > 1 else "alone"
        outputs = f"{self.outputs}_by_{self.x_step}_to_{self.y_step}" if self.outputs > 1 else "1"
        planes = f"_and_{self.y_channel_step}" if self.y_channel_step > 1 else ""
        return f"depthwise_{self.rows}x{self.columns}_{steps}_of_{self.channels}_channels_{outputs}{planes}"

    @property
    def counts(self) -> tuple[int, ...]:
        """Returns the number of channels in each vector of eight."""
        return tuple(min(LANES, self.channels - first) for first in range(0, self.channels, LANES))

    @property
    def written_out(self) -> int:
        """Returns the largest number of unrolled taps of a kernel row, or of a whole window."""
        return _WRITTEN_OUT_SMALL if self.is_small else _WRITTEN_OUT

    @property
    def packed(self) -> int:
        """Returns the stored weights of a tap, including padding."""
        return LANES * len(self.counts)


def depthwise_channels(tile: DepthwiseChannels, requant: Requant) -> Instruction:
    """y[i][j] = stored(bias[j] + sum over r, t of x[r][i * x_step + t * tap_step + j] * w[r][t][j])."""
    y = Buffer("y", DType.I8, 0, Role.OUTPUT)
    x = Buffer("x", DType.I8, 0, Role.ROWS, tile.rows)
    w, right = (Buffer(n, DType.I8, 0, Role.CONSTANT) for n in ("w", "right"))
    bias, mult = (Buffer(n, DType.I32, 0, Role.CONSTANT) for n in ("bias", "mult"))
    start, scale, shift, total = (Buffer(n, DType.I32, 1, Role.LOCAL) for n in ("a", "b", "c", "sum"))
    i, j, r, t = (variable(v) for v in ("i", "j", "r", "t"))
    weight = (r * tile.columns + t) * tile.packed + j
    product = Binary("*", load(x, i * tile.x_step + t * tile.tap_step + j, r), load(w, weight))
    output = (
        Declare(total),
        Store(at(total), load(start)),
        For("r", tile.rows, (For("t", tile.columns, (Accumulate(at(total), product),)),)),
        Store(
            at(y, i * tile.y_step + j * tile.y_channel_step),
            Apply(exact_store(requant).store, (load(total), load(scale), load(shift))),
        ),
    )
    loads = [
        s
        for b, table in ((start, bias), (scale, mult), (shift, right))
        for s in (Declare(b), Store(at(b), load(table, j)))
    ]
    name = f"{tile.name}_{suffix(requant)}"
    return Instruction(
        name=name,
        params=(y, x, w, bias, mult, right),
        body=(For("j", tile.channels, (*loads, For("i", tile.outputs, output))),),
        call=f"{name}(\n    {{y}}, {_given_rows(tile)}, {{w}}, {{bias}}, {{mult}}, {{right}});",
        definition=_definition(name, tile, requant),
        includes=INCLUDES,
        needs=NEEDS,
        machine_instructions=len(_rows(tile)) + _ENDS,
        is_asm=True,
        own_registers=int(_counts(tile)),
        stack_bytes=_PART_BYTES if tile.channels % LANES else 0,
        calls=(NARROW_WORDS, NARROW_HALVES, rounded(requant)),
    )


def _given_rows(tile: DepthwiseChannels) -> str:
    return "{x_array}, {x_offset}" if tile.rows > 1 else "{x[0]}, 0"


def _definition(name: str, tile: DepthwiseChannels, r: Requant) -> str:
    halves = range(len(tile.counts))
    row = "const int8_t *const *x" if tile.rows > 1 else "const int8_t *x"
    even, odd = (", ".join(str(2 * n + parity) for n in range(LANES // 2)) for parity in (0, 1))
    body = [
        *(
            f"int32x4_t sum{h}_{p} = {_table('bias', h, p, tile.counts[h])};"
            for h in halves
            for p in _PARITIES
        ),
        *_window(tile),
        *(line for h in halves for line in _stored(tile, h, r)),
    ]
    if tile.outputs > 1:
        body = [
            f"for (int32_t i = 0; i < {tile.outputs}; ++i) {{",
            *(f"    {line}" for line in body),
            f"    offset += {tile.x_step};",
            f"    y += {tile.y_step};",
            "}",
        ]
    lines = [
        f"/* {tile.outputs} outputs of {tile.channels} channels, windows of {tile.rows}x{tile.columns}. */",
        f"static inline void {name}(",
        f"    int8_t *y, {row}, int32_t offset, const int8_t *w,",
        "    const int32_t *bias, const int32_t *mult, const int8_t *right)",
        "{",
        f"    const uint32x4_t even_places = {{{even}}};",
        f"    const uint32x4_t odd_places = {{{odd}}};",
        *(f"    {line}" for line in body),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _table(name: str, half: int, parity: str, count: int) -> str:
    """Returns C code for the constants of the even or the odd channels of a vector."""
    load = "vldrbq_gather_offset" if name == "right" else "vldrwq_gather_shifted_offset"
    place = f"{name} + {half * LANES}" if half else name
    if count == LANES:
        return f"{load}_s32({place}, {parity}_places)"
    own = (count + (parity == "even")) // 2
    return f"{load}_z_s32({place}, {parity}_places, vctp32q({own}))"


def _window(tile: DepthwiseChannels) -> list[str]:
    """Returns one asm statement; otherwise compilers group the loads of many taps and spill the values."""
    text = _rows(tile)
    sums = [f"sum{h}_{p}" for h in range(len(tile.counts)) for p in _PARITIES]
    moved = [*sums, "taps", *(["row"] if tile.rows > 1 else ["p"])]
    temporary = [*"abc", *(["p"] if tile.rows > 1 else []), *(["count"] if _counts(tile) else [])]
    given = [*(["offset"] if tile.rows > 1 else []), *(["step"] if _steps_far(tile) else [])]
    kinds = {**dict.fromkeys((*sums, *"abc"), "w"), "taps": "l", "p": "l"}
    outputs = [f'[{n}] "+{kinds.get(n, "r")}"({n})' for n in moved]
    outputs += [f'[{n}] "=&{kinds.get(n, "r")}"({n})' for n in temporary]
    clobbered = [*(["lr"] if "dls lr" in " ".join(text) else []), *(["cc"] if _counts(tile) else [])]
    return [
        "const int8_t *taps = w;",
        "int16x8_t a, b, c;",
        *(
            ["const int8_t *const *row = x;", "const int8_t *p;"]
            if tile.rows > 1
            else ["const int8_t *p = x + offset;"]
        ),
        *(["int32_t count;"] if _counts(tile) else []),
        *([f"const int32_t step = {tile.tap_step};"] if _steps_far(tile) else []),
        "__asm__ volatile(",
        *(f'    "{line}\\n\\t"' for line in text),
        f"    : {', '.join(outputs[:3])},",
        f"      {', '.join(outputs[3:])}",
        f"    : {', '.join(f'[{n}] {chr(34)}r{chr(34)}({n})' for n in given)}".rstrip(),
        f"    : {', '.join(f'{chr(34)}{n}{chr(34)}' for n in (*clobbered, 'memory'))});",
    ]


def _counts(tile: DepthwiseChannels) -> bool:
    """Returns True if a register counts rows, because the loop register counts taps."""
    return tile.rows > 1 and tile.columns > tile.written_out


def _steps_far(tile: DepthwiseChannels) -> bool:
    return tile.columns > 1 and tile.tap_step > _REACH


def _rows(tile: DepthwiseChannels) -> list[str]:
    if tile.rows == 1:
        return _row(tile)
    row = ["ldr %[p], [%[row]], #4", "add %[p], %[offset]", *_row(tile)]
    if tile.rows * tile.columns <= tile.written_out:
        return row * tile.rows
    if _counts(tile):
        return [f"mov %[count], #{tile.rows}", "2:", *row, "subs %[count], #1", "bne 2b"]
    return [f"mov %[p], #{tile.rows}", "dls lr, %[p]", "2:", *row, "le lr, 2b"]


def _row(tile: DepthwiseChannels) -> list[str]:
    if tile.columns <= tile.written_out:
        return [line for t in range(tile.columns) for line in _tap(tile, t == tile.columns - 1)]
    return [f"mov lr, #{tile.columns}", "dls lr, lr", "1:", *_tap(tile, is_last=False), "le lr, 1b"]


def _tap(tile: DepthwiseChannels, is_last: bool) -> list[str]:
    """Returns the products of one pixel. The load of its first channels advances to the next tap."""
    if len(tile.counts) == 1:
        lines = _half(0, "[%[p]]", "[%[taps]]", tile, is_last)
    else:
        lines = _half(1, f"[%[p], #{LANES}]", f"[%[taps], #{LANES}]", tile, True)
        lines += _half(0, "[%[p]]", "[%[taps]]", tile, is_last)
    return [*lines, "add %[p], %[step]"] if _steps_far(tile) and not is_last else lines


def _half(half: int, pixel: str, weights: str, tile: DepthwiseChannels, is_last: bool) -> list[str]:
    """Adds eight channels' products to the sums of the even and odd ones."""
    even, odd = (f"%q[sum{half}_{p}]" for p in _PARITIES)
    moves_on = not (is_last or _steps_far(tile))
    return [
        f"vldrb.s16 %q[a], {pixel}{f', #{tile.tap_step}' if moves_on else ''}",
        f"vldrb.s16 %q[b], {weights}{f', #{tile.packed}' if half == 0 else ''}",
        "vmullb.s16 %q[c], %q[a], %q[b]",
        f"vadd.i32 {even}, {even}, %q[c]",
        "vmullt.s16 %q[c], %q[a], %q[b]",
        f"vadd.i32 {odd}, {odd}, %q[c]",
    ]


def _stored(tile: DepthwiseChannels, half: int, r: Requant) -> list[str]:
    results = [
        f"    const int32x4_t {p} = {rounded(r).name}("
        f"\n        sum{half}_{p}, {_scale(r, half, p, tile.counts[half])},"
        f"\n        {shift_of(r, _table('right', half, p, tile.counts[half]))});"
        for p in _PARITIES
    ]
    return [
        "{",
        *results,
        "    int16x8_t halves = narrow_words(even);",
        "    halves = vqmovntq_s32(halves, odd);",
        *narrowed(r, "halves"),
        f"    {_store(tile, half)}",
        "}",
    ]


def _scale(r: Requant, half: int, parity: str, count: int) -> str:
    """Returns C code of the scales of `rounded`."""
    mult = _table("mult", half, parity, count)
    return mult if r.parity is None else f"vshrq_n_s32({mult}, 30)"


def _store(tile: DepthwiseChannels, half: int) -> str:
    place, count, step = f"y + {half * LANES * tile.y_channel_step}", tile.counts[half], tile.y_channel_step
    masked, mask = ("", "") if count == LANES else ("_p", f", vctp16q({count})")
    value = f"vreinterpretq_s16_s8(bytes){mask}"
    if step == 1:
        return f"vstrbq{masked}_s16({place}, {value});"
    places = ", ".join(str(n * step) for n in range(LANES))
    return (
        f"const uint16x8_t places = {{{places}}};\n"
        f"    vstrbq_scatter_offset{masked}_s16({place}, places, {value});"
    )


def blocks_of(site: Site) -> Blocks:
    return Blocks(site.constants[1].shape[2], MOST, LANES)


def _proc(site: Site, x: RowFormat, y: RowFormat, tail: Requantised) -> Proc:
    rows, columns, _ = site.constants[1].shape
    stride, dilation = op_of(site).stride[1], op_of(site).dilation[1]
    small = site.optimize is Optimize.SIZE
    proc = blocks_nest(site, blocks_of(site), x, y, exact_store(tail.requant))
    tiles = [
        DepthwiseChannels(
            size, rows, columns, dilation * x.x_step, y.width, stride * x.x_step, y.x_step, y.c_step, small
        )
        for size in blocks_of(site).sizes
    ]
    return tensorize(proc, "c", [depthwise_channels(tile, tail.requant) for tile in tiles])


def _requests(site: Site) -> RowRequests:
    return (blocks_request(site, blocks_of(site), 1),)


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    tail = tail_of(site)
    proc, weights = _proc(site, inputs[0], output, tail), blocks_of(site).packed(site.constants[1])
    made = DepthwiseRows("helium", "sixteen channels side by side", proc, weights)
    return depthwise_kernel(site, output, tail, made)


STRATEGY = Strategy(
    "helium",
    _requests,
    _lower,
    NEEDS,
    (
        BYTES,
        ONE_FILTER_EACH,
        requantised_in_lanes(tail_of),
    ),
)
