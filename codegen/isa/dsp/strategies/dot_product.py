"""conv2d and dense layers by SMLAD: groups of four products, tiles of up to 3 pixels by 2 channels."""

from __future__ import annotations

from collections.abc import Mapping

from aot.ir.types import DType
from aot.target import Optimize
from codegen.isa.dsp.dot_tile import LDRD_OFFSET_LIMIT, UNROLLS, SmladDotTile
from codegen.isa.dsp.dots import dot, dot_rows
from codegen.isa.dsp.needs import FINDS_WORDS, NEEDS, UNROLLED_HOT, is_hot, row_bytes
from codegen.isa.dsp.strategies.four_bits import four_bit_dots, four_bit_tail
from codegen.isa.dsp.strategies.paired_weights import can_pair, paired_rows, paired_vector, saves_cycles
from codegen.kernels.conv2d import conv2d_strategy
from codegen.kernels.conv_site import conv_tail, fitted_conv_tail, has_whole_windows
from codegen.kernels.dense import dense_strategy, dense_tail, fitted_dense_tail
from codegen.kernels.dot_product import (
    MOST_PIXELS,
    DotMethod,
    DotProblem,
    ScheduledDot,
    Tile,
    extents,
    is_inside,
    nest,
    task_of,
    tiled,
)
from codegen.kernels.four_bit_weights import WindowOfPairs
from codegen.kernels.hybrid_dense import hybrid_strategy
from codegen.kernels.kernel import Site
from codegen.kernels.knobs import Knob, Point, Space
from codegen.kernels.paired_rows import in_order_of_windows
from codegen.kernels.paired_weights import enlarged_tail
from codegen.kernels.strategy import INTEGERS, NOT_FOR_SIZE, Condition, sums_of_32_bits
from codegen.loops.affine import variable
from codegen.loops.ir import Proc
from codegen.loops.pack import Packing, pack
from codegen.loops.schedule import pad_reduction, reorder, split, unroll_by
from codegen.loops.tensorize import tensorize

GROUP = 4  # products per group of the DSP instruction
_UNROLLED = 4  # groups, if code and time are equally important
_UNROLLED_EDGE = 4  # for the one or two pixels at the ends of a row
_UNROLLED_ROWS = 10  # in hot layers of several kernel rows, whose loop repeats soon enough
_MOST_WRITTEN_OUT = 48  # groups of one kernel: about four kilobytes of code

DSP_KNOBS = (
    Knob("pixels", (1, 2, 3)),
    Knob("channels", (1, 2, 3, 4, 5, 6)),
    Knob("unroll", UNROLLS, is_written_out=True),
    Knob("weight_bits", (8, 16), widens_constants=True),
    Knob("blocks", (1, 2, 3), is_written_out=True),
)


def smlad_dot(site: Site, p: DotProblem) -> ScheduledDot:
    """Returns the strategy in groups of four products by SMLAD, with weights in the order of groups."""
    space = dsp_space(p, site.optimize, site.macs)
    point = space.chosen(site.tuned)
    in_pairs = site.target.pairs_instructions and site.optimize is not Optimize.SIZE
    proc, packing = _scheduled(p, Tile(**point), site.optimize, in_pairs)
    why = f"{point['pixels']} x {point['channels']} sums per tile, {p.x_dtype.bytes * 8}-bit rows"
    return ScheduledDot("smlad", why, proc, packing, space, point)


def _scheduled(p: DotProblem, tile: Tile, goal: Optimize, in_pairs: bool) -> tuple[Proc, Packing]:
    """Schedules groups of four products by SMLAD, with weights in the order of groups.

    For small code, tiles are general, so that layers can share them.
    """
    is_general = goal is Optimize.SIZE and tile.pixels < MOST_PIXELS
    w_dtype = DType.I16 if tile.weight_bits == 16 else p.w_dtype
    proc = pad_reduction(nest(p, w_dtype), "k", GROUP, zeros="w")
    groups = -(-p.length // GROUP)
    proc = split(proc, "k", GROUP, "group", "k4")
    crossed = p.x_dtype is not w_dtype
    if crossed:
        proc = split(proc, "k4", 2, "high", "low")
    proc = tiled(proc, p, tile)
    proc = _groups_outermost(proc)
    within = ("low", "high") if crossed else ("k4",)
    steps = variable("group") * GROUP
    steps = steps + (variable("high") * 2 + variable("low") if crossed else variable("k4"))
    order = ("ob", "ob_tail", "r", "t", "group", "oi", *within)
    proc, packing = pack(proc, "w", order, valid=steps, limit=p.length)
    counts = sorted({tile.channels, p.channels % tile.channels or 1, 1}, reverse=True)
    shapes = [(i, j) for i in sorted({*_pixel_counts(p, tile), 1}) for j in counts]
    tiles = [
        SmladDotTile(
            i, j, groups, p.x_step, p.x_dtype, p.x_aligned, tile.unroll, w_dtype, in_pairs, is_general
        )
        for i, j in shapes
    ]
    tiles += [
        SmladDotTile(
            *(1, j, edge.length // GROUP, 0, p.x_dtype, p.x_aligned, _UNROLLED_EDGE, w_dtype),
            in_pairs=in_pairs,
            is_general=is_general,
        )
        for edge in p.edges
        for j in (tile.channels, 1)
    ]
    if p.kernel_rows > 1 == p.taps and p.kernel_rows * groups <= tile.unroll and not p.edges:
        proc = tensorize(proc, "r", [dot_rows(t, p.kernel_rows) for t in tiles])
    else:
        proc = tensorize(proc, "group", [dot(t) for t in tiles])
    proc = reorder(proc, "xi", "oi")
    return unroll_by(proc, "xb", tile.blocks), packing


def _extents(p: DotProblem) -> Mapping[str, int]:
    return {**extents(p), "unroll": -(-p.length // GROUP)}


def dsp_space(p: DotProblem, goal: Optimize, macs: int) -> Space:
    default = dsp_tile(p, goal, macs).point
    return Space(task_of(p), DSP_KNOBS, default, lambda point: _is_possible(p, point), _extents(p))


def _is_possible(p: DotProblem, tile: Point) -> bool:
    """Returns True if registers suffice, the last pixel is in reach, and the unrolling is a different one."""
    reach = (tile["pixels"] - 1) * p.x_step * p.x_dtype.bytes
    most_channels = 6 if tile["pixels"] == 1 else 2
    return (
        is_inside(p, tile)
        and tile["channels"] <= most_channels
        and reach <= LDRD_OFFSET_LIMIT
        and tile["unroll"] in _different_unrolls(p)
        and tile["blocks"] <= p.pixels // tile["pixels"]
        and (tile["blocks"] == 1 or tile["unroll"] * tile["blocks"] <= _MOST_WRITTEN_OUT)
    )


def _different_unrolls(p: DotProblem) -> set[int]:
    """Returns the unrollings that divide the groups of a kernel row, and the least that covers all rows."""
    groups = -(-p.length // GROUP)
    dividing = {u for u in UNROLLS if groups % u == 0}
    is_written_out = p.kernel_rows > 1 == p.taps and not p.edges
    whole = [u for u in UNROLLS if u >= groups * p.kernel_rows and is_written_out]
    return dividing | set(whole[:1])


def dsp_tile(p: DotProblem, goal: Optimize, macs: int) -> Tile:
    """Returns the tile: three pixels by two channels, which use every register; or one pixel by four.

    `macs` of the whole layer decide whether further unrolling is worth the code.
    """
    small = goal is Optimize.SIZE
    hot = UNROLLED_HOT if p.kernel_rows == 1 else _UNROLLED_ROWS
    unroll = 1 if small else hot if is_hot(macs) else _UNROLLED
    reach = p.x_step * p.x_dtype.bytes
    near = 1 + (LDRD_OFFSET_LIMIT // reach if reach else 0)
    if p.pixels == 1 or near == 1:
        return Tile(1, min(4, p.channels), unroll)
    most = 2 if small else MOST_PIXELS
    alone = small and p.channels % 2 != 0  # a tail of one channel would double the code
    return Tile(min(most, near, p.pixels), 1 if alone else min(2, p.channels), unroll)


def _pixel_counts(p: DotProblem, tile: Tile) -> tuple[int, int]:
    """Returns tile sizes along the row: threes, then twos, so that no single pixel is left."""
    return (tile.pixels, 2) if tile.pixels == MOST_PIXELS else (tile.pixels, tile.pixels)


def _groups_outermost(proc: Proc) -> Proc:
    """Moves the reduction of each tile outward: kernel rows, then groups, then the tile."""
    for outer in ("oi", "xi"):
        for inner in ("r", "t", "group"):
            proc = reorder(proc, outer, inner)
    return proc


def _conv2d_method(site: Site) -> DotMethod:
    """Returns the first possible method: by weights of four bits, by pairs of them, then by single ones.

    The first two compute factors of the pixels in scratch, from whole windows of int8 rows.
    """
    w, tail = site.constants[1], conv_tail(site)
    _, rows, columns, depth = w.shape
    if site.allow_widened_rows and has_whole_windows(site):
        four_bits = four_bit_tail(site, tail, WindowOfPairs(rows, columns * depth))
        if four_bits is not None:
            return DotMethod(four_bit_dots, four_bits, 1, GROUP)
        if _pairs_pay(site) and can_pair(site, tail, in_order_of_windows(w)):
            return DotMethod(paired_rows, enlarged_tail(tail, in_order_of_windows(w)), 1, GROUP)
    return DotMethod(smlad_dot, fitted_conv_tail(site), row_bytes(site), GROUP, leaves_out_taps=True)


def _pairs_pay(site: Site) -> bool:
    channels, rows, columns, depth = site.constants[1].shape
    is_for_speed = site.optimize is Optimize.SPEED  # for less RAM, 16-bit rows fit more often
    return is_for_speed and saves_cycles(site.outputs[0].shape[2], channels, rows, columns * depth)


def _may_widen(site: Site) -> bool:
    return site.allow_widened_rows


CONV2D = conv2d_strategy(
    "smlad",
    _conv2d_method,
    NEEDS,
    (INTEGERS, FINDS_WORDS, sums_of_32_bits(conv_tail)),
    adds_in_store=(
        # The addend's row must be live together with the rows that are read.
        Condition("layers whose rows may be widened", _may_widen),
        NOT_FOR_SIZE,
    ),
)


_LEAST_CHANNELS = 4  # that share the factors of the input
_LEAST_MACS = 1024  # smaller layers gain too little for the code


def _dense_method(site: Site) -> DotMethod:
    """Returns the first possible method: a vector by weights of four bits, by pairs, then by single ones."""
    w, tail = site.constants[1], dense_tail(site)
    if w.shape[1] == site.input(0).shape[-1]:
        four_bits = four_bit_tail(site, tail, WindowOfPairs(1, w.shape[1]))
        if four_bits is not None:
            return DotMethod(four_bit_dots, four_bits, 1, GROUP)
        is_large = w.shape[0] >= _LEAST_CHANNELS and w.size >= _LEAST_MACS
        if is_large and can_pair(site, tail, w):
            return DotMethod(paired_vector, enlarged_tail(tail, w), 1, GROUP)
    return _by_single_weights(site)


def _by_single_weights(site: Site) -> DotMethod:
    return DotMethod(smlad_dot, fitted_dense_tail(site), row_bytes(site), GROUP)


DENSE = dense_strategy(
    "smlad",
    _dense_method,
    NEEDS,
    (INTEGERS, FINDS_WORDS, sums_of_32_bits(dense_tail)),
    method_by_rows=_by_single_weights,  # sums in memory are not enlarged
)


HYBRID_DENSE = hybrid_strategy("smlad", smlad_dot, GROUP, NEEDS)
