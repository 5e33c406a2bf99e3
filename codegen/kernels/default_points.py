"""Default points by core, used if tuning found better knob values than the strategies' rules.

`python -m benchmarks measure-defaults` writes the tables, without points that need more flash, such as wide
weights or long code. They apply to the goal speed; for smaller or leaner models the rules apply.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files

from aot.target import Optimize
from codegen.kernels.kernel import Kernel
from codegen.kernels.knobs import NOT_TUNED, Point

TABLES = "codegen.kernels.tuned"


def default_points(core: str, goal: Optimize) -> Mapping[str, Point]:
    """Returns the core's default points by task; empty for goals other than speed."""
    return _table(core) if goal is Optimize.SPEED else NOT_TUNED


@cache
def _table(core: str) -> Mapping[str, Point]:
    file = files(TABLES) / f"{core}.json"
    table: Mapping[str, Point] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return table


def with_default(kernel: Kernel, defaults: Mapping[str, Point]) -> Kernel:
    """Returns the kernel with the table's point as default, if its space has that point."""
    if kernel.space is None or kernel.space.task not in defaults:
        return kernel
    return replace(kernel, space=replace(kernel.space, default=kernel.space.chosen(defaults)))
