"""Packs constants for the device: weights in blocks of channels, so that all lanes load at once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from aot.ir.types import Array
from codegen.kernels.conv_site import conv_op, conv_tail
from codegen.kernels.kernel import Site


def packed(w: Array, lanes: int) -> Array:
    """Packs [channels][rows][columns][depth] as [channels / lanes][rows][columns][depth][lanes].

    The last block is filled up with zeros.
    """
    behind = -len(w) % lanes
    padded = np.pad(w, ((0, behind), (0, 0), (0, 0), (0, 0)))
    blocks = padded.reshape(-1, lanes, *w.shape[1:])
    return np.ascontiguousarray(np.moveaxis(blocks, 1, -1)).reshape(-1)


def tables_of_bytes(conv: Site) -> Mapping[str, Array]:
    """Returns each channel's start value and scale of int8 results."""
    return conv_tail(conv).tables


def floats(conv: Site) -> Mapping[str, Array]:
    """Returns the bias, even if it is zero, and the limits of float results."""
    bias = conv.constants.get(2)
    limits = np.array(conv_op(conv).activation.real_limits, np.float32)
    channels = conv.constants[1].shape[0]
    zeros = np.zeros(channels, np.float32)
    return {"bias": zeros if bias is None else bias, "limits": limits}
