"""Convolutions with packed pixels: chooses the tile and the taps per iteration with the lowest cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product, takewhile

from aot.ir.types import Array, DType
from aot.wording import counted
from codegen.kernels.dot_product import DotProblem, ScheduledDot, ends_of, rows_of, task_of
from codegen.kernels.kernel import Site
from codegen.kernels.knobs import Knob, Point, Space
from codegen.kernels.packed_pixels import PAIR, packed_nest, packed_tiles, products, tap_order
from codegen.kernels.register_tile import (
    BYTES_PER_SUM,
    INSTRUCTIONS_PER_SUM,
    INSTRUCTIONS_WORTH_A_BYTE,
    Sums,
)
from codegen.loops.affine import variable
from codegen.loops.ir import Buffer, For, Instruction, Role, load
from codegen.loops.pack import pack
from codegen.loops.schedule import privatize, reorder, split, unroll
from codegen.loops.tensorize import tensorize

# Sums with two pixels per 32-bit register, by plain 32-bit multiplications.

# Bytes per sum: constants and result addresses are spilled while iterations use all registers.
_STACKED = 12


@dataclass(frozen=True, slots=True)
class PackedTile:
    """Sums of `pixels` by `channels`. After `taps` products in packed form, they are added to 32-bit sums."""

    pixels: int
    channels: int
    taps: int  # per iteration
    turns: int
    rest: int = 0  # taps after the last iteration

    @property
    def name(self) -> str:
        rest = f"_and_{self.rest}" if self.rest else ""
        return f"packed_dot_{self.pixels}x{self.channels}_by_{self.taps}{rest}"

    @property
    def words(self) -> int:
        return -(-self.pixels // PAIR)

    @property
    def pairs(self) -> int:
        return self.pixels // PAIR

    @property
    def turn_instructions(self) -> int:
        """Returns the machine instructions of an iteration."""
        return self._instructions(self.taps) + 3

    @property
    def rest_instructions(self) -> int:
        """Returns the machine instructions of the taps after the last iteration."""
        return self._instructions(self.rest) if self.rest else 0

    def _instructions(self, taps: int) -> int:
        """Returns the machine instructions of some taps: loads, products and sums."""
        alone = self.words - self.pairs
        loads = taps * (self.words + self.channels)
        return self.channels * (self.pairs * (2 * taps + 3) + alone * 2 * taps) + loads


def packed_dot(tile: PackedTile) -> Instruction:
    """sums[channel][pixel] += all products of the pixel's half of v with the channel's weights.

    It is exact only if the absolute weights of each iteration sum up to at most 255.
    """
    sums = Buffer("sums", DType.I32, tile.pixels * tile.channels, Role.LOCAL)
    v = Buffer("v", DType.I32, 0, Role.SCRATCH)
    w = Buffer("w", DType.I8, 0, Role.CONSTANT)
    tap, channel = variable("n"), variable("j")
    weight = load(w, tap * tile.channels + channel)
    adds = products(tile.pixels, sums, v, weight, channel * tile.pixels)
    every = ", ".join(f"&{{sums[{number}]}}" for number in range(sums.elements))
    return Instruction(
        name=tile.name,
        params=(sums, v, w),
        body=(For("n", tile.turns * tile.taps + tile.rest, (For("j", tile.channels, adds),)),),
        call=f"{tile.name}({every}, {{v}}, {{w}}, {{turns}});",
        definition=_text(tile),
        machine_instructions=tile.turn_instructions + tile.rest_instructions + 4 * tile.channels * tile.words,
        stack_bytes=_STACKED * tile.pixels * tile.channels,
        numbers=(("turns", tile.turns),),
    )


def _text(tile: PackedTile) -> str:
    sums = [f"sum{j}{i}" for j in range(tile.channels) for i in range(tile.pixels)]
    lines = [
        f"/* Sums of {counted(tile.pixels, 'pixel')} and {counted(tile.channels, 'channel')}: a product with"
        " the word of two pixels is",
        f"   both their products. After {counted(tile.taps, 'tap')} they are added to `all`, as they are, and"
        " the second to `high`. */",
        f"static inline __attribute__((always_inline)) void {tile.name}(",  # a call would pass all sums
        f"    {', '.join(f'int32_t *{name}' for name in sums)},",
        "    const int32_t *v, const int8_t *w, int32_t turns)",
        "{",
        *_begun(tile),
        f"    const int8_t *const end = w + turns * {tile.taps * tile.channels};",
        "    do {",
        *(f"        {line}" for line in _turn(tile, tile.taps)),
        "    } while (w != end);",
        *(f"    {line}" for line in _rest(tile)),
        *_ended(tile),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _pairs(tile: PackedTile) -> Iterator[tuple[int, int, str, str, str]]:
    """Yields each pair of pixels with its channel: their numbers, the suffix of its names, and its sums."""
    for j in range(tile.channels):
        for q in range(tile.pairs):
            yield q, j, f"{j}{q}", f"sum{j}{q * PAIR}", f"sum{j}{q * PAIR + 1}"


def _lone(tile: PackedTile) -> list[int]:
    """Returns the channels if the last pixel has no partner, otherwise nothing."""
    return list(range(tile.channels)) if tile.pixels % PAIR else []


def _begun(tile: PackedTile) -> Iterator[str]:
    """Yields the first code. `all` starts with what its iterations add too much, 32,768 each."""
    pairs = list(_pairs(tile))
    if pairs:
        turns = "((uint32_t)turns + 1u)" if tile.rest else "(uint32_t)turns"
        yield f"    const uint32_t added = {turns} << 15;"
    for _, _, name, first, second in pairs:
        yield f"    uint32_t all{name} = (uint32_t)*{first} + ((uint32_t)*{second} << 16) - added;"
        yield f"    int32_t high{name} = *{second};"
    yield from (f"    int32_t alone{j} = *sum{j}{tile.pixels - 1};" for j in _lone(tile))


def _turn(tile: PackedTile, taps: int) -> Iterator[str]:
    names = [f"both{name}" for _, _, name, _, _ in _pairs(tile)]
    if names:
        yield f"int32_t {', '.join(names)};"
    for tap in range(taps):
        yield "{"
        for q in range(tile.words):
            yield f"    const int32_t x{q} = v[{tap * tile.words + q}];"
        for j in range(tile.channels):
            yield f"    const int32_t w{j} = w[{tap * tile.channels + j}];"
            for q in range(tile.pairs):
                # Adding 32768 rounds: the upper half is then the second sum, whatever the sign of the first.
                begin = "= 32768 +" if tap == 0 else "+="
                yield f"    both{j}{q} {begin} x{q} * w{j};"
            if tile.pixels % PAIR:
                yield f"    alone{j} += x{tile.pairs} * w{j};"
        yield "}"
    for _, _, name, _, _ in _pairs(tile):
        yield f"all{name} += (uint32_t)both{name};"
        yield f"high{name} += both{name} >> 16;"
    if taps == tile.taps:
        yield f"v += {taps * tile.words};"
        yield f"w += {taps * tile.channels};"


def _rest(tile: PackedTile) -> Iterator[str]:
    """Yields the taps after the last iteration, in a block."""
    if tile.rest:
        yield "{"
        yield from (f"    {line}" for line in _turn(tile, tile.rest))
        yield "}"


def _ended(tile: PackedTile) -> Iterator[str]:
    for _, _, name, first, second in _pairs(tile):
        yield f"    *{second} = high{name};"
        yield f"    *{first} = (int32_t)(all{name} - ((uint32_t)high{name} << 16));"
    yield from (f"    *sum{j}{tile.pixels - 1} = alone{j};" for j in _lone(tile))


TAPS = (2, 3, 4, 6, 8)  # per iteration
KNOBS = (
    Knob("pixels", (1, 2, 3, 4, 5, 6)),
    Knob("channels", (1, 2, 3, 4, 5, 6)),
    Knob("taps", TAPS, is_written_out=True),
)
_RESERVED_REGISTERS = 5  # for a weight, a product, two pointers and their end, besides sums and packed values
_TILE, _PAIR = 14, 5  # instructions per tile, and per pair of sums, outside iterations and stores
_ROW, _TAP, _WORD = 6, 5, 5  # instructions per kernel row, per tap and per pair to pack values
_BYTES_PER_INSTRUCTION = 3  # of an iteration, approximate


def packed_rows(site: Site, p: DotProblem) -> ScheduledDot:
    """Returns the strategy for rows of pixels, with packed values in scratch."""
    space = _space(site, p)
    point = space.chosen(site.tuned)
    order = tap_order(site.constants[1], point["taps"])
    assert order is not None, "a point without an order is outside the search space"
    proc = split(packed_nest(p, point["pixels"], order), "o", point["channels"], "ob", "oi")
    proc = unroll(privatize(proc, (*ends_of(p).locals, "sum"), "oi"), "oi")
    proc = reorder(proc, "oi", "n")
    taps = p.kernel_rows * order.length
    proc, packing = pack(proc, "w", ("ob", "ob_tail", "n", "oi"), valid=variable("n"), limit=taps)
    pixels = [tiles.pixels for tiles in packed_tiles(p.pixels, point["pixels"])]
    sizes = [(i, j) for i in pixels for j in (point["channels"], 1)]
    dots = [packed_dot(PackedTile(*size, order.taps, order.turns, order.rest)) for size in sizes]
    why = f"{point['pixels']} x {point['channels']} sums per tile, two pixels in a word for {order.taps} taps"
    return ScheduledDot(
        "packed",
        why,
        tensorize(proc, "n", dots),
        packing,
        space,
        point,
        order.reordered,
        {"taps": order.elements},
    )


def packed_cost(sums: Sums, weights: Array, registers: int) -> int | None:
    """Returns the cost of the best tile, or None if none is possible."""
    return min((_cost(sums, weights, point) for point in _points(sums, weights, registers)), default=None)


def _space(site: Site, p: DotProblem) -> Space:
    weights = site.constants[1]
    sums = Sums(rows_of(site), p.pixels, p.channels, p.kernel_rows * p.length)
    points = list(_points(sums, weights, site.target.registers))
    default = min(points, key=lambda point: (_cost(sums, weights, point), *point.values()))
    extents = {"pixels": p.pixels, "channels": p.channels, "taps": p.length}
    return Space(f"{task_of(p)} packed", KNOBS, default, lambda point: point in points, extents)


def _points(sums: Sums, weights: Array, registers: int) -> Iterator[Point]:
    """Yields the points with enough registers and a valid tap order."""
    found = [taps for taps in TAPS if taps <= weights.size // (len(weights) * weights.shape[1])]
    taps = list(takewhile(lambda each: tap_order(weights, each) is not None, found))
    for values in product(*(knob.values for knob in KNOBS[:2]), taps):
        point = dict(zip((knob.name for knob in KNOBS), values, strict=True))
        pixels, channels, _ = values
        if pixels <= sums.pixels and channels <= sums.channels and _registers(pixels, channels) <= registers:
            yield point


def _registers(pixels: int, channels: int) -> int:
    """Returns the registers: three sums per pair and channel, one for a pixel without partner."""
    pairs, lone = divmod(pixels, PAIR)
    return (3 * pairs + lone) * channels + min(pairs + lone, channels) + _RESERVED_REGISTERS


def _cost(sums: Sums, weights: Array, point: Point) -> int:
    """Returns the approximate instructions of a run, plus the code's cost in instructions."""
    kernel_rows, taps = weights.shape[1], point["taps"]
    order = tap_order(weights, taps)
    assert order is not None
    pieces = [
        (many, size)
        for many, size in zip(divmod(sums.channels, point["channels"]), (point["channels"], 1), strict=True)
        if many
    ]
    run = code = 0
    for tiles in packed_tiles(sums.pixels, point["pixels"]):
        run += tiles.tiles * kernel_rows * (_ROW + order.length * (_TAP + _WORD * tiles.words))
        for many, channels in pieces:
            tile = PackedTile(tiles.pixels, channels, taps, order.turns, order.rest)
            ends = channels * (INSTRUCTIONS_PER_SUM * tiles.pixels + _PAIR * tile.pairs)
            one = tile.turns * tile.turn_instructions + tile.rest_instructions
            run += tiles.tiles * many * (one + _TILE + ends)
            code += BYTES_PER_SUM * tiles.pixels * channels
            code += _BYTES_PER_INSTRUCTION * (tile.turn_instructions + tile.rest_instructions)
    return sums.rows * run + INSTRUCTIONS_WORTH_A_BYTE * code
