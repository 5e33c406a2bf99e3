"""average_pool2d on Helium: accumulates the rows of an image four channels at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aot.ir.types import DType
from codegen.formats import RowFormat
from codegen.isa.helium.needs import NEEDS
from codegen.isa.helium.pool import add_pixels
from codegen.isa.helium.requantise import WORDS
from codegen.kernels.average_pool2d import NO_ROWS_AROUND, ONE_ROW, requests, rows_added
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.pools import pool_of
from codegen.kernels.strategy import Condition, RowFormats, Strategy
from codegen.loops.ir import Proc
from codegen.loops.schedule import partition, split
from codegen.loops.tensorize import tensorize


def _lower(site: Site, inputs: Sequence[RowFormat], y: RowFormat) -> Kernel:
    kernel = rows_added(site, inputs[0], y)
    return replace(kernel, proc=_in_vectors(kernel.proc, y.channels, pool_of(site).size[1], inputs[0]))


def _in_vectors(proc: Proc, channels: int, taps: int, x: RowFormat) -> Proc:
    whole, rest = channels // WORDS * WORDS, channels % WORDS
    if whole and rest:
        proc = partition(proc, "c", whole, "c", "c_rest")
    if rest:
        proc = split(proc, "c_rest" if whole else "c", rest, "cb_rest", "ci")
    if whole:
        proc = split(proc, "c", WORDS, "cb", "ci")
    return tensorize(proc, "ci", [add_pixels(n, taps, x.x_step) for n in (WORDS, rest) if n])


_CHANNELS_TOGETHER = Condition[RowFormats]("channels side by side", lambda rows: rows.inputs[0].c_step == 1)
STRATEGY = Strategy(
    "helium",
    requests,
    _lower,
    NEEDS,
    (Condition("data of 8 bits", lambda site: site.input(0).dtype is DType.I8), ONE_ROW),
    (NO_ROWS_AROUND, _CHANNELS_TOGETHER),
)
