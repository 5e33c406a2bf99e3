"""The input of the passes of VARIANT beside the graph: what the kernels of its layers do well."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VariantGoal:
    # A convolution that had better not make the sum which its result goes into -> why, after "since".
    slow_sums: Mapping[str, str]
