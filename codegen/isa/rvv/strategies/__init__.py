"""The strategies of RISC-V vectors, in the modules here; the best for an op comes first."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

# Strategy -> its ops.
STRATEGIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "dot_product.CONV2D": ("conv2d",),
        "dot_product.DENSE": ("dense",),
        "depthwise": ("depthwise_conv2d",),
    }
)
