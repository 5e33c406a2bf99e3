"""The strategies of the FPU, in the modules here; the best for an op comes first."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

# Strategy -> its ops.
STRATEGIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "convert": ("convert",),
        "dots.CONV2D": ("conv2d",),
        "dots.DENSE": ("dense",),
        "dots.RECURRENT": ("recurrent",),
        "tiles.CONV2D": ("conv2d",),
        "tiles.DEPTHWISE": ("depthwise_conv2d",),
    }
)
