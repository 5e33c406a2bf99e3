"""The schedules of RISC-V's vectors, each `SCHEDULE` of a module here; for one op, the best comes first."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

# Module -> the ops that it is for.
SCHEDULES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "conv2d": ("conv2d",),
        "dense": ("dense",),
        "depthwise": ("depthwise_conv2d",),
    }
)
