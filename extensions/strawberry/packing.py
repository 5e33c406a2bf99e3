"""Constants as the device reads them: weights by blocks of channels, so that all lanes load at once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from aot.ir.types import Array
from codegen.kernels.conv2d import conv_op, conv_tail
from codegen.kernels.kernel import Site


def packed(w: Array, lanes: int) -> Array:
    """[channels][rows][columns][depth] as [channels / lanes][rows][columns][depth][lanes], zeros behind."""
    behind = -len(w) % lanes
    padded = np.pad(w, ((0, behind), (0, 0), (0, 0), (0, 0)))
    blocks = padded.reshape(-1, lanes, *w.shape[1:])
    return np.ascontiguousarray(np.moveaxis(blocks, 1, -1)).reshape(-1)


def tables_of_bytes(conv: Site) -> Mapping[str, Array]:
    """Says for each channel where its sums begin, and how they are stored."""
    return conv_tail(conv).tables


def reals(conv: Site) -> Mapping[str, Array]:
    """The bias, which is there even where it is zero, and the limits of results."""
    bias = conv.constants.get(2)
    limits = np.array(conv_op(conv).activation.real_limits, np.float32)
    channels = conv.constants[1].shape[0]
    zeros = np.zeros(channels, np.float32)
    return {"bias": zeros if bias is None else bias, "limits": limits}
