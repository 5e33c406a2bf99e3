"""Default points by table: where tuning found better knobs on a core than the schedules' own rules give.

`python -m benchmarks measure-defaults` writes the tables, without points that take more flash: wide weights,
long code. They serve the goal speed: a smaller or leaner model keeps to the rules.
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
    """The core's default points by task; only for speed."""
    return _table(core) if goal is Optimize.SPEED else NOT_TUNED


@cache
def _table(core: str) -> Mapping[str, Point]:
    file = files(TABLES) / f"{core}.json"
    table: Mapping[str, Point] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return table


def with_default(kernel: Kernel, defaults: Mapping[str, Point]) -> Kernel:
    """The kernel whose space begins at the table's point, where that is one of its points."""
    if kernel.space is None or kernel.space.task not in defaults:
        return kernel
    return replace(kernel, space=replace(kernel.space, default=kernel.space.chosen(defaults)))
