"""The strategy of Winograd's convolutions: two rows of the result at a time, with any core's instructions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from aot.ir.types import DType
from aot.target import Feature
from codegen.formats import ElementOrder, RowFormat, RowRequest, storage_dtype
from codegen.kernels.conv_site import conv_op, conv_tail, fitted_conv_tail, is_for_speed
from codegen.kernels.kernel import Kernel, RowAccess, Site
from codegen.kernels.knobs import Knob, Point, Space
from codegen.kernels.requantised import Requantised
from codegen.kernels.strategy import ADDS_NOTHING, INTEGERS, Condition, RowRequests, Strategy, sums_of_32_bits
from codegen.kernels.winograd import (
    ENLARGED,
    KERNEL,
    RESULTS,
    WINDOW,
    Blocks,
    WinogradProblem,
    scheduled,
    sums_fit,
    transformed,
)
from codegen.loops.ir import Instruction

LEAST_CHANNELS = 8  # fewer products do not offset the transformations: 8 -> 8 saves a fifth, 4 -> 4 nothing


@dataclass(frozen=True)
class WinogradCore:
    """How a kind of cores computes."""

    row_bytes: int  # of a pixel's channel
    blocks: Callable[[Site], Blocks]
    inputs: Callable[[WinogradProblem], Instruction]
    products: Callable[[Site, WinogradProblem, int], Instruction]  # for words per iteration
    turns: tuple[int, ...]  # words of channels per iteration
    longest_turn: Callable[[int], int]  # of that many words
    needs: frozenset[Feature] = frozenset()


def winograd_strategy(
    core: WinogradCore, columns: str, channels: str, saves: tuple[Condition[Site], ...] = ()
) -> Strategy:
    """Returns the strategy; the texts say how columns and channels are divided."""

    def has_columns(site: Site) -> bool:
        _, rows, width, _ = site.outputs[0].shape
        return rows % RESULTS == 0 and width % core.blocks(site).columns == 0

    def has_channels(site: Site) -> bool:
        made, _, _, depth = site.constants[1].shape
        its = core.blocks(site)
        return bool(made % its.channels == 0 == depth % its.depths and min(made, depth) >= LEAST_CHANNELS)

    def requests(site: Site) -> RowRequests:
        (top, bottom), (left, right) = conv_op(site).padding
        return (RowRequest(ElementOrder.PIXELS, core.row_bytes, left, right, top, bottom),)

    def lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
        return _lower(core, site, inputs[0], output)

    return Strategy(
        "winograd",
        requests,
        lower,
        core.needs,
        (
            INTEGERS,
            Condition("windows of 3x3, one by one", _is_3x3),
            Condition(f"rows in pairs and columns in {columns}", has_columns),
            Condition(f"channels in {channels}, {LEAST_CHANNELS} or more", has_channels),
            Condition("pixels and weights of bytes", _has_byte_pixels),
            Condition("speed, where rows may be widened", is_for_speed),
            Condition("flash with room for transformed weights", _may_grow),
            sums_of_32_bits(conv_tail),
            Condition("weights whose transformed sums fit 32 bits", lambda site: sums_fit(site.constants[1])),
            ADDS_NOTHING,
            *saves,
        ),
    )


def _is_3x3(site: Site) -> bool:
    op, window = conv_op(site), site.constants[1].shape[1:3]
    return window == (KERNEL, KERNEL) and op.stride == op.dilation == (1, 1)


def _has_byte_pixels(site: Site) -> bool:
    return site.input(0).dtype is site.outputs[0].dtype is site.input(1).dtype is DType.I8


def _may_grow(site: Site) -> bool:
    return not site.compact


def _tail(site: Site) -> Requantised:
    """Returns scales fitted to the enlarged sums, if these fit with their start values; else the layer's."""
    tail = fitted_conv_tail(site, ENLARGED)
    has_room = sums_fit(site.constants[1], int(np.abs(tail.bias.astype(np.int64)).max()))
    return tail if has_room else conv_tail(site)


def _lower(core: WinogradCore, site: Site, x: RowFormat, output: RowFormat) -> Kernel:
    op, w, tail, blocks = conv_op(site), site.constants[1], _tail(site), core.blocks(site)
    channels, _, _, depth = w.shape
    problem = WinogradProblem(
        name=f"winograd_{depth}_to_{channels}_by_{output.width}",
        blocks=blocks,
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
    space = _space(core, problem)
    point = space.chosen(site.tuned)
    u = transformed(w, blocks)
    extra = u.nbytes - w.nbytes
    return Kernel(
        strategy="winograd",
        why=f"16 products for each 36, exact; transformed weights take {extra:,} bytes more",
        proc=scheduled(problem, core.inputs(problem), core.products(site, problem, point["turn"])),
        summary=f"Two rows of a convolution: 3x3, {depth} -> {channels} channels, {output.width} pixels.",
        access=(RowAccess(RESULTS, -op.padding[0][0], WINDOW),),
        constants={"w": u, **tail.tables},
        space=space,
        point=point,
        rows_per_step=RESULTS,
        extra_bytes=extra,
    )


def _space(core: WinogradCore, problem: WinogradProblem) -> Space:
    """Returns the space of unrolled words of channels."""

    def divides(point: Point) -> bool:
        return problem.words % point["turn"] == 0

    default = {"turn": core.longest_turn(problem.words)}
    knobs = (Knob("turn", core.turns, is_written_out=True),)
    return Space(f"{problem.name} {problem.x_dtype.value}", knobs, default, divides, {"turn": problem.words})
