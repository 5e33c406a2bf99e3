"""A schedule of layers: maxima of pools, channels in fours."""

from __future__ import annotations

from deploy import lang


@lang.layer_schedule("max_pool2d")
def in_fours(s: lang.Schedule, knobs: lang.Knobs) -> None:
    """Four channels to a turn."""
    _, lane = s.split("c", 4)
    s.unroll(lane)
