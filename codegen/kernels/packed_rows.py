"""Convolutions with packed pixels: chooses the tile and the taps per iteration with the lowest cost."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product, takewhile

from aot.ir.types import Array
from codegen.kernels.dot_product import DotProblem, ScheduledDot, ends_of, rows_of, task_of
from codegen.kernels.kernel import Site
from codegen.kernels.knobs import Knob, Point, Space
from codegen.kernels.packed_dot import PackedTile, packed_dot
from codegen.kernels.packed_pixels import PAIR, packed_nest, packed_tiles
from codegen.kernels.register_tile import (
    BYTES_PER_SUM,
    INSTRUCTIONS_PER_SUM,
    INSTRUCTIONS_WORTH_A_BYTE,
    Sums,
    widest_cost,
)
from codegen.kernels.tap_order import tap_order
from codegen.loops.affine import variable
from codegen.loops.pack import pack
from codegen.loops.schedule import privatize, reorder, split, unroll
from codegen.loops.tensorize import tensorize

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
    dots = [packed_dot(PackedTile(*size, order.taps, taps // order.taps)) for size in sizes]
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


def packed_saves(sums: Sums, weights: Array, registers: int, least: tuple[int, int]) -> bool:
    """Returns True if the best tile costs less than the best unpacked one, which is at least `least`."""
    costs = [_cost(sums, weights, point) for point in _points(sums, weights, registers)]
    return bool(costs) and min(costs) < widest_cost(sums, registers, least)


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
    in_row = -(-sums.products // kernel_rows // taps)  # iterations
    pieces = [
        (many, size)
        for many, size in zip(divmod(sums.channels, point["channels"]), (point["channels"], 1), strict=True)
        if many
    ]
    run = code = 0
    for tiles in packed_tiles(sums.pixels, point["pixels"]):
        run += tiles.tiles * kernel_rows * (_ROW + in_row * taps * (_TAP + _WORD * tiles.words))
        for many, channels in pieces:
            tile = PackedTile(tiles.pixels, channels, taps, kernel_rows * in_row)
            ends = channels * (INSTRUCTIONS_PER_SUM * tiles.pixels + _PAIR * tile.pairs)
            run += tiles.tiles * many * (tile.turns * tile.turn_instructions + _TILE + ends)
            code += _BYTES_PER_INSTRUCTION * tile.turn_instructions + BYTES_PER_SUM * tiles.pixels * channels
    return sums.rows * run + INSTRUCTIONS_WORTH_A_BYTE * code
