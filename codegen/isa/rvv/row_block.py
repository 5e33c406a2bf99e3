"""RISC-V vectors: computes a row of outputs for a block of channels, one per lane, as one instruction.

The sums of some pixels stay in register groups while the weights of the block are read, those of one tap for
all channels, and widened once for all these pixels. The remainder of a row is a smaller tile. See
`dot_channels` and `depthwise_channels` for the products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aot.ir.types import DType
from codegen.isa.plain.requantise import Requant, exact_store
from codegen.isa.rvv import INCLUDES, NEEDS
from codegen.isa.rvv.requantise import CONSTANTS, Groups, as_bytes, constants, suffix
from codegen.loops.affine import variable
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Buffer,
    For,
    Instruction,
    Role,
    Stmt,
    Store,
    at,
    let,
    load,
    local,
)

# In a tile of several pixels, LLVM keeps all constants in registers while it stores sums, and spills sums to
# the stack. Measured by stack painting with builds of eight models.
_SPILLED_BYTES = 232
# Machine instructions: length and first sums; load and widening of a tap's weights; a store.
_BEGIN, _WEIGHTS, _STORE = 2, 2, 1
_INLINE = "__attribute__((always_inline)) "
_TABLES = "const int32_t *bias, const int32_t *mult, const int8_t *right"


@dataclass(frozen=True, slots=True)
class RowBlock:
    """`outputs` pixels by up to 32 channels, with windows of `rows` by `taps`."""

    channels: int
    rows: int
    taps: int
    tap_step: int  # bytes from one tap of a kernel row to the next
    outputs: int
    x_step: int  # bytes from one output's window to the next
    y_step: int
    y_channel_step: int

    @property
    def groups(self) -> Groups:
        return Groups(self.channels)

    @property
    def steps(self) -> str:
        """Returns the part of the name that distinguishes blocks of equal size."""
        taps = f"_{self.taps}_taps_{self.tap_step}" if self.taps > 1 else ""
        outputs = f"_{self.outputs}_by_{self.x_step}_to_{self.y_step}" if self.outputs > 1 else "_1"
        planes = f"_and_{self.y_channel_step}" if self.y_channel_step > 1 else ""
        return f"{taps}{outputs}{planes}"

    @property
    def said(self) -> str:
        """Describes the distances of windows and results in a comment."""
        taps = f", taps {self.tap_step}" if self.taps > 1 else ""
        planes = f", channels {self.y_channel_step}" if self.y_channel_step > 1 else ""
        return f"{self.x_step} bytes apart{taps}, results {self.y_step}{planes}"


@dataclass(frozen=True)
class Products:
    """How the products of a block are computed: as a nest, and in C for each pixel of a tile."""

    name: str
    says: str
    at_once: int  # pixels of a tile
    window: tuple[Stmt, ...]  # adds to `total` of output i and channel j, from x and w
    lines: Callable[[int], Sequence[str]]  # of a kernel row, from p and v on, for that many pixels
    pixel_instructions: int  # of `lines` per pixel: loads and products


TOTAL = local("total", DType.I32)
WEIGHTS = Buffer("w", DType.I8, 0, Role.CONSTANT)


def rows_read(block: RowBlock) -> Buffer:
    return Buffer("x", DType.I8, 0, Role.ROWS, block.rows)


def row_block(block: RowBlock, products: Products, requant: Requant) -> Instruction:
    """y[i][j] = stored(bias[j] + the sum of the products of output i and channel j)."""
    y, x = Buffer("y", DType.I8, 0, Role.OUTPUT), rows_read(block)
    bias, mult = (Buffer(n, DType.I32, 0, Role.CONSTANT) for n in ("bias", "mult"))
    right = Buffer("right", DType.I8, 0, Role.CONSTANT)
    i, j = variable("i"), variable("j")
    held = [
        (local(name, DType.I32), table)
        for name, table in (("start", bias), ("scale", mult), ("shift", right))
    ]
    loads = [s for b, table in held for s in let(b, load(table, j))]
    start, scale, shift = (load(b) for b, _ in held)
    place = at(y, i * block.y_step + j * block.y_channel_step)
    output = (
        *let(TOTAL, start),
        *products.window,
        Store(place, Apply(exact_store(requant).store, (load(TOTAL), scale, shift))),
    )
    name = f"{products.name}_{suffix(requant)}"
    rows = "{x_array}, {x_offset}" if block.rows > 1 else "{x[0]}, 0"
    tiles, stores = _tiles(block, products), as_bytes(block.groups, requant)
    if tiles == [(block.outputs, 1)]:
        parts, definition = [], _tile(block, products, requant, name, block.outputs)
    else:
        parts = [_part(block, products, requant, name, count) for count, _ in tiles]
        definition = _row_of_tiles(block, products, requant, name)
    return Instruction(
        name=name,
        params=(y, x, WEIGHTS, bias, mult, right),
        body=(For("j", block.channels, (*loads, For("i", block.outputs, output))),),
        call=f"{name}(\n    {{y}}, {rows}, {{w}}, {{bias}}, {{mult}}, {{right}});",
        definition=definition,
        includes=INCLUDES,
        calls=(stores, *parts),
        needs=NEEDS,
        machine_instructions=sum(_machine_instructions(products, stores, count) for count, _ in tiles),
        stack_bytes=_SPILLED_BYTES * sum(count > 1 for count, _ in tiles),
    )


def _machine_instructions(products: Products, stores: Instruction, pixels: int) -> int:
    """Counts the instructions of a tile: one per vector intrinsic, and the byte loads."""
    each = products.pixel_instructions + stores.machine_instructions + _STORE
    return _BEGIN + _WEIGHTS + CONSTANTS + pixels * each


def _tiles(block: RowBlock, products: Products) -> list[tuple[int, int]]:
    """Returns (pixels, number of tiles) along the row."""
    whole, rest = divmod(block.outputs, products.at_once)
    return [(n, many) for n, many in ((products.at_once, whole), (rest, 1)) if n and many]


def _row_type(block: RowBlock) -> str:
    return "const int8_t *const *x" if block.rows > 1 else "const int8_t *x"


def _part(block: RowBlock, products: Products, requant: Requant, row: str, count: int) -> Instruction:
    """Returns a C function. It has no meaning as loops, because no nest contains it."""
    name = f"{row}_tile_{count}"
    return Instruction(name, (), (), "", _tile(block, products, requant, name, count), INCLUDES, needs=NEEDS)


def _row_of_tiles(block: RowBlock, products: Products, requant: Requant, name: str) -> str:
    lines = []
    for count, many in _tiles(block, products):
        call = f"{name}_tile_{count}(y, x, offset, w, bias, mult, right);"
        moves = [f"offset += {count * block.x_step};", f"y += {count * block.y_step};"]
        if many > 1:
            body = [f"    {line}" for line in (call, *moves)]
            lines += [f"for (int32_t i = 0; i < {many}; ++i) {{", *body, "}"]
        else:
            lines += [call, *moves] if count == products.at_once else [call]
    says = [f"{block.outputs} outputs of {block.channels} channels, tile after tile:"]
    return _function([*says, f"{products.says}, {block.said}; {requant.said}"], name, block, lines)


def _tile(block: RowBlock, products: Products, requant: Requant, name: str, count: int) -> str:
    """Returns C code for some outputs, from `offset` on."""
    groups, pixels = block.groups, range(count)
    words = groups.words
    body = [
        f"const size_t vl = __riscv_vsetvl_e{words}({block.channels});",
        f"vint{words}_t sum0 = __riscv_vle32_v_i{words}(bias, vl);",
        *(f"vint{words}_t sum{i} = sum0;" for i in pixels[1:]),
        "const int8_t *v = w; /* runs through the weights */",
        *_window(block, products, count),
        *constants(groups),
        *(_stored(block, requant, i) for i in pixels),
    ]
    says = [f"{count} outputs of {block.channels} channels: {products.says},"]
    return _function([*says, f"{block.said}; {requant.said}"], name, block, body, _INLINE)


def _function(says: Sequence[str], name: str, block: RowBlock, body: Sequence[str], kind: str = "") -> str:
    lines = [
        "/* " + "\n   ".join(says) + ". */",
        f"static inline {kind}void {name}(",
        f"    int8_t *y, {_row_type(block)}, int32_t offset, const int8_t *w,",
        f"    {_TABLES})",
        "{",
        *(f"    {line}" for line in body),
        "}\n",
    ]
    return "\n".join(lines)


def _stored(block: RowBlock, requant: Requant, pixel: int) -> str:
    place = f"y + {pixel * block.y_step}" if pixel else "y"
    value = f"{as_bytes(block.groups, requant).name}(sum{pixel}, scale, shift, vl)"
    if block.y_channel_step == 1:
        return f"__riscv_vse8_v_i{block.groups.bytes}({place}, {value}, vl);"
    return f"__riscv_vsse8_v_i{block.groups.bytes}({place}, {block.y_channel_step}, {value}, vl);"


def _window(block: RowBlock, products: Products, count: int) -> list[str]:
    taps = list(products.lines(count))
    if block.rows == 1:
        return ["const int8_t *p = x + offset;", *taps]
    row = ["const int8_t *p = x[r] + offset;", *taps]
    return [f"for (int32_t r = 0; r < {block.rows}; ++r) {{", *(f"    {line}" for line in row), "}"]


_DEPTHWISE_PIXEL = 3  # VLE8, VSEXT, VWMACC


def depthwise_channels(block: RowBlock, requant: Requant) -> Instruction:
    """Returns the instruction. The weights of a tap are contiguous, one per channel of the block."""
    i, j, r, t = (variable(v) for v in ("i", "j", "r", "t"))
    weight = (r * block.taps + t) * block.channels + j
    element = load(rows_read(block), i * block.x_step + t * block.tap_step + j, r)
    product = Accumulate(at(TOTAL), element * load(WEIGHTS, weight))
    products = Products(
        f"depthwise_{block.rows}x{block.taps}_of_{block.channels}_channels{block.steps}",
        f"windows of {block.rows}x{block.taps}",
        block.groups.sums_at_once(wide=2),
        (For("r", block.rows, (For("t", block.taps, (product,)),)),),
        lambda pixels: _depthwise_lines(block, pixels),
        _DEPTHWISE_PIXEL,
    )
    return row_block(block, products, requant)


def _depthwise_lines(block: RowBlock, pixels: int) -> list[str]:
    groups = block.groups
    inner = [f"const vint{groups.halves}_t weights = {_widened(block, 'v')};"]
    for n in range(pixels):
        place = f"p + {n * block.x_step}" if n else "p"
        operands = f"sum{n}, {_widened(block, place)}, weights, vl"
        inner.append(f"sum{n} = __riscv_vwmacc_vv_i{groups.words}({operands});")
    inner.append(f"v += {block.channels};")
    if block.taps == 1:
        return inner
    body = [f"    {line}" for line in (*inner, f"p += {block.tap_step};")]
    return [f"for (int32_t t = 0; t < {block.taps}; ++t) {{", *body, "}"]


def _widened(block: RowBlock, place: str) -> str:
    groups = block.groups
    return f"__riscv_vsext_vf2_i{groups.halves}(__riscv_vle8_v_i{groups.bytes}({place}, vl), vl)"


# RISC-V vectors, dot products: multiplies each element of a window by the weights of a block of channels.
#
# VWMACC multiplies a byte in a core register by the channels' weights and adds the products to 32-bit sums.
# Neither rows nor weights are padded.

_DOT_PIXEL = 2  # a byte load, VWMACC


def dot_channels(block: RowBlock, length: int, requant: Requant) -> Instruction:
    """Returns the instruction. A tap has `length` bytes, and that many weights per channel."""
    i, j, r, t, k = (variable(v) for v in ("i", "j", "r", "t", "k"))
    weight = ((r * block.taps + t) * length + k) * block.channels + j
    element = load(rows_read(block), i * block.x_step + t * block.tap_step + k, r)
    product = Accumulate(at(TOTAL), element * load(WEIGHTS, weight))
    window = For("r", block.rows, (For("t", block.taps, (For("k", length, (product,)),)),))
    says = f"windows of {block.rows}x{block.taps * length}"
    products = Products(
        f"dots_{block.rows}x{length}_of_{block.channels}_channels{block.steps}",
        says,
        block.groups.sums_at_once(wide=1),
        (window,),
        lambda pixels: _dot_lines(block, length, pixels),
        _DOT_PIXEL,
    )
    return row_block(block, products, requant)


def _dot_lines(block: RowBlock, length: int, pixels: int) -> list[str]:
    groups = block.groups
    weights = f"__riscv_vle8_v_i{groups.bytes}(v, vl)"
    inner = [
        f"const vint{groups.halves}_t weights = __riscv_vsext_vf2_i{groups.halves}({weights}, vl);",
        *(
            f"sum{n} = __riscv_vwmacc_vx_i{groups.words}(sum{n}, p[{_place(n * block.x_step)}], weights, vl);"
            for n in range(pixels)
        ),
        f"v += {block.channels};",
    ]
    lines = [f"for (int32_t k = 0; k < {length}; ++k) {{", *(f"    {line}" for line in inner), "}"]
    if block.taps == 1:
        return lines
    body = [f"    {line}" for line in (*lines, f"p += {block.tap_step};")]
    return [f"for (int32_t t = 0; t < {block.taps}; ++t) {{", *body, "}"]


def _place(offset: int) -> str:
    return f"k + {offset}" if offset else "k"
