"""Tuning records: tiles that were measured for a kernel on a core, one JSON object a line; the best is used.

    {"task": "conv2d_1x1_64_to_64_by_5 i16", "core": "cortex-m4",
     "knobs": {"pixels": 3, "channels": 2, "unroll": 16}, "cost": 21894, "default_cost": 22512}

`deploy inspect --layers --json` names each kernel's task. Costs are of one unit, instructions or cycles;
a record that is not faster than the default, or of another core, is not used.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aot.errors import InputError
from codegen.kernels.dot_product import Tile

_KNOBS = ("pixels", "channels", "unroll")
_EXAMPLE = (
    '{"task": "...", "core": "cortex-m4", "knobs": {"pixels": 2, "channels": 2, "unroll": 4}, '
    '"cost": 1, "default_cost": 2}'
)


@dataclass(frozen=True, slots=True)
class TuningRecord:
    task: str
    core: str
    tile: Tile
    cost: int
    default_cost: int


def read_records(path: Path) -> tuple[TuningRecord, ...]:
    """Raises InputError naming the first line that is none."""
    try:
        lines = path.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the tuning records cannot be read: {error}", str(path)) from None
    return tuple(_record(line, f"{path}, line {n}") for n, line in enumerate(lines, 1) if line.strip())


def best_tiles(records: Iterable[TuningRecord], core: str) -> Mapping[str, Tile]:
    """For each task the fastest tile on this core, where it beats the default."""
    faster = [r for r in records if r.core == core and r.cost < r.default_cost]
    return {r.task: r.tile for r in sorted(faster, key=lambda r: r.cost, reverse=True)}


def _record(line: str, where: str) -> TuningRecord:
    try:
        found: dict[str, Any] = json.loads(line)
        tile = Tile(*(_positive(found["knobs"][knob]) for knob in _KNOBS))
        costs = (_positive(found["cost"]), _positive(found["default_cost"]))
        return TuningRecord(str(found["task"]), str(found["core"]), tile, *costs)
    except (ValueError, KeyError, TypeError):
        raise InputError(
            "this is no tuning record", where, f"a record is a line such as\n{_EXAMPLE}"
        ) from None


def _positive(value: object) -> int:
    if not isinstance(value, int) or value < 1:
        raise ValueError(value)
    return value
