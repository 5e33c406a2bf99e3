"""The input of VARIANT passes besides the graph: properties of the kernels of its layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VariantGoal:
    # A convolution that should not fuse the following addition -> why, after "since".
    slow_sums: Mapping[str, str]
