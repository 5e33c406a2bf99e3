"""The strategies of Helium, in the modules here; the best for an op comes first."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

# Module -> its ops.
STRATEGIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "elements.SUM": ("add", "sub"),
        "elements.F32": ("add", "sub", "mul"),
        "elements.F32_CURVES": ("logistic", "tanh"),
        "average_pool2d": ("average_pool2d",),
        "dot_product.CONV2D": ("conv2d", "conv2d+add"),
        "f32.CONV2D": ("conv2d",),
        "dot_product.DENSE": ("dense",),
        "f32.DENSE": ("dense",),
        "hybrid_dense": ("hybrid_dense",),
        "attention": ("cached_attention",),
        "depthwise_planes": ("depthwise_conv2d",),
        "depthwise_channels": ("depthwise_conv2d",),
        "f32.DEPTHWISE": ("depthwise_conv2d",),
        "recurrent.F32": ("recurrent",),
        "recurrent.INTEGERS": ("recurrent",),
    }
)
