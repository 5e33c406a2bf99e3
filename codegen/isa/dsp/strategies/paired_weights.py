"""Dot products by SMLAD with halfwords of two weights: an int8 vector by six channels."""

from __future__ import annotations

from aot.ir.types import Array, DType
from aot.target import Optimize
from codegen.isa.dsp.dot_tile import UNROLLS
from codegen.isa.dsp.paired_vector import PairedVector, vector_dot
from codegen.kernels.dot_product import DotProblem, ScheduledDot, in_blocks, task_of
from codegen.kernels.kernel import Site
from codegen.kernels.knobs import Knob, Point, Space
from codegen.kernels.paired_weights import PAIRED, groups_of, half_words, pairs_fit, vector_nest
from codegen.kernels.requantised import Requantised, channel_constants
from codegen.loops.affine import variable
from codegen.loops.ir import Proc
from codegen.loops.pack import Packing, pack
from codegen.loops.schedule import privatize, reorder, unroll
from codegen.loops.tensorize import tensorize

VECTOR_KNOBS = (Knob("unroll", UNROLLS, is_written_out=True), Knob("channels", (3, 4, 5, 6)))
_UNROLLED = 8  # groups
_MOST_CHANNELS = 6


def can_pair(site: Site, tail: Requantised, weights: Array) -> bool:
    """Returns True if an int8 layer's weights and sums permit pairs, on a single-issue core."""
    bytes_only = site.input(0).dtype is site.input(1).dtype is site.outputs[0].dtype is DType.I8
    return (
        bytes_only
        and site.optimize is not Optimize.SIZE
        and not site.target.pairs_instructions
        and tail.requant.sum_dtype is DType.I32
        and pairs_fit(weights, tail.bias)
    )


def paired_vector(site: Site, p: DotProblem) -> ScheduledDot:
    """Returns the strategy for a vector, as in a dense layer."""
    space = _vector_space(p)
    point = space.chosen(site.tuned)
    channels = min(p.channels, point["channels"])
    proc = in_blocks(vector_nest(p), p.channels, channels)
    proc = unroll(privatize(proc, (*_constants(p), "sum"), "oi"), "oi")
    proc, packing = _packed(reorder(proc, "oi", "n"), p)
    counts = {channels, p.channels % channels or channels}
    tiles = [PairedVector(j, groups_of(p), point["unroll"], p.x_aligned) for j in sorted(counts)]
    proc = tensorize(proc, "n", [vector_dot(tile) for tile in tiles])
    why = f"{channels} sums per tile, weights in pairs, 8-bit input"
    return ScheduledDot("smlad", why, proc, packing, space, point, half_words)


def _constants(p: DotProblem) -> tuple[str, ...]:
    """Returns the locals that hold a channel's constants."""
    assert p.tail is not None
    return channel_constants(p.tail.storing, p.channels, variable("o")).names


def _packed(proc: Proc, p: DotProblem) -> tuple[Proc, Packing]:
    order = ("ob", "ob_tail", "ob_rest", "n", "oi", "h")
    return pack(proc, "w", order, valid=variable("n"), limit=groups_of(p))


def _vector_space(p: DotProblem) -> Space:
    default = {"unroll": _unroll(p, _UNROLLED), "channels": _MOST_CHANNELS}
    extents = {"unroll": groups_of(p), "channels": p.channels}

    def is_possible(point: Point) -> bool:
        return groups_of(p) % point["unroll"] == 0

    return Space(f"{task_of(p)} {PAIRED}", VECTOR_KNOBS, default, is_possible, extents)


def _unroll(p: DotProblem, most: int) -> int:
    return max(u for u in UNROLLS if u <= most and groups_of(p) % u == 0)
