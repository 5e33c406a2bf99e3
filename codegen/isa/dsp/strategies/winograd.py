"""conv2d by Winograd's minimal filters with SMLAD: two rows of the result at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aot.ir.types import DType
from aot.target import Optimize
from codegen.formats import ElementOrder, RowFormat, RowRequest, storage_dtype
from codegen.isa.dsp.needs import NEEDS
from codegen.isa.dsp.winograd import input_of_pair, longest_turn, products_of_pair
from codegen.kernels.conv2d import conv_op, conv_tail, fitted_conv_tail
from codegen.kernels.kernel import Kernel, RowAccess, Site
from codegen.kernels.knobs import Knob, Point, Space
from codegen.kernels.requantised import Requantised
from codegen.kernels.strategy import ADDS_NOTHING, INTEGERS, Condition, RowRequests, Strategy, sums_of_32_bits
from codegen.kernels.winograd import (
    COLUMNS,
    ENLARGED,
    KERNEL,
    PAIR,
    RESULTS,
    WINDOW,
    WinogradProblem,
    scheduled,
    sums_fit,
    transformed,
)

KNOBS = (Knob("turn", (2, 4, 8, 16), is_written_out=True),)  # pairs of channels
_LEAST_CHANNELS = 8  # fewer products do not offset the transformations: 8 -> 8 saves a fifth, 4 -> 4 nothing


def _is_3x3(site: Site) -> bool:
    op, window = conv_op(site), site.constants[1].shape[1:3]
    return window == (KERNEL, KERNEL) and op.stride == op.dilation == (1, 1)


def _has_blocks(site: Site) -> bool:
    _, rows, columns, _ = site.outputs[0].shape
    return rows % RESULTS == 0 and columns % COLUMNS == 0


def _has_pairs(site: Site) -> bool:
    channels, _, _, depth = site.constants[1].shape
    return bool(channels % PAIR == 0 == depth % PAIR and min(channels, depth) >= _LEAST_CHANNELS)


def _has_byte_pixels(site: Site) -> bool:
    return site.input(0).dtype is site.outputs[0].dtype is site.input(1).dtype is DType.I8


def _is_for_speed(site: Site) -> bool:
    return site.allow_widened_rows and site.optimize is Optimize.SPEED


def _may_grow(site: Site) -> bool:
    return not site.compact


def _requests(site: Site) -> RowRequests:
    (top, bottom), (left, right) = conv_op(site).padding
    return (RowRequest(ElementOrder.PIXELS, 2, left, right, top, bottom),)


def _tail(site: Site) -> Requantised:
    """Returns scales fitted to the enlarged sums, if these fit with their start values; else the layer's."""
    tail = fitted_conv_tail(site, ENLARGED)
    has_room = sums_fit(site.constants[1], int(np.abs(tail.bias.astype(np.int64)).max()))
    return tail if has_room else conv_tail(site)


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    op, (x,), w, tail = conv_op(site), inputs, site.constants[1], _tail(site)
    channels, _, _, depth = w.shape
    problem = WinogradProblem(
        name=f"winograd_{depth}_to_{channels}_by_{output.width}",
        width=output.width,
        depth=depth,
        channels=channels,
        x_dtype=storage_dtype(site.input(0), x),
        x_elements=x.row_elements,
        x_first=(x.left - op.padding[1][0]) * x.x_step,
        x_step=x.x_step,
        y_dtype=storage_dtype(site.outputs[0], output),
        y_elements=output.row_elements,
        y_first=output.left * output.x_step,
        y_pixel_step=output.x_step,
        y_channel_step=output.c_step,
        storing=tail.storing,
    )
    space = _space(problem)
    point = space.chosen(site.tuned)
    products = products_of_pair(problem.pairs, point["turn"], site.target.pairs_instructions)
    u = transformed(w)
    extra = u.nbytes - w.nbytes
    return Kernel(
        strategy="winograd",
        why=f"16 products for each 36, exact; transformed weights take {extra:,} bytes more",
        proc=scheduled(problem, input_of_pair(x.x_step), products),
        summary=f"Two rows of a convolution: 3x3, {depth} -> {channels} channels, {output.width} pixels.",
        access=(RowAccess(RESULTS, -op.padding[0][0], WINDOW),),
        constants={"w": u, **tail.tables},
        space=space,
        point=point,
        rows_per_step=RESULTS,
        extra_bytes=extra,
    )


def _space(problem: WinogradProblem) -> Space:
    """Returns the space of unrolled channel pairs."""

    def divides(point: Point) -> bool:
        return problem.pairs % point["turn"] == 0

    default = {"turn": longest_turn(problem.pairs)}
    return Space(f"{problem.name} i16", KNOBS, default, divides, {"turn": problem.pairs})


STRATEGY = Strategy(
    "winograd",
    _requests,
    _lower,
    NEEDS,
    (
        INTEGERS,
        Condition("windows of 3x3, one by one", _is_3x3),
        Condition("rows in pairs and columns in eights", _has_blocks),
        Condition(f"channels in pairs, {_LEAST_CHANNELS} or more", _has_pairs),
        Condition("pixels and weights of bytes", _has_byte_pixels),
        Condition("speed, where rows may be widened", _is_for_speed),
        Condition("flash with room for transformed weights", _may_grow),
        sums_of_32_bits(conv_tail),
        Condition("weights whose transformed sums fit 32 bits", lambda site: sums_fit(site.constants[1])),
        ADDS_NOTHING,
    ),
)
