"""The strategies of Helium, each `STRATEGY` of a module here; the best for an op comes first."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

# Module -> its ops.
STRATEGIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "sum": ("add", "sub"),
        "f32_rows": ("add", "sub", "mul"),
        "f32_curves": ("logistic", "tanh"),
        "average_pool2d": ("average_pool2d",),
        "conv2d": ("conv2d", "conv2d+add"),
        "f32_conv2d": ("conv2d",),
        "dense": ("dense",),
        "f32_dense": ("dense",),
        "hybrid_dense": ("hybrid_dense",),
        "attention": ("cached_attention",),
        "depthwise_planes": ("depthwise_conv2d",),
        "depthwise_channels": ("depthwise_conv2d",),
        "f32_depthwise": ("depthwise_conv2d",),
        "f32_recurrent": ("recurrent",),
        "integer_lstm": ("recurrent",),
    }
)
