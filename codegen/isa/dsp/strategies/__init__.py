"""The strategies of the DSP extension, in the modules here; the best for an op comes first."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

# Strategy -> its ops.
STRATEGIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "winograd": ("conv2d", "conv2d+add"),
        "dot_product.CONV2D": ("conv2d", "conv2d+add"),
        "dot_product.DENSE": ("dense",),
        "dot_product.HYBRID_DENSE": ("hybrid_dense",),
        "depthwise_blocks": ("depthwise_conv2d",),
        "depthwise_planes": ("depthwise_conv2d",),
        "depthwise_channels": ("depthwise_conv2d",),
    }
)
