"""The strategies of the FPU, each `STRATEGY` of a module here; the best for an op comes first."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

# Module -> its ops.
STRATEGIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "conv2d": ("conv2d",),
        "convert": ("convert",),
        "depthwise_conv2d": ("depthwise_conv2d",),
    }
)
