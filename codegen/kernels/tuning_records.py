"""Tuning records: measured costs of a kernel's knobs on a core, one JSON object per line. The best is used.

    {"task": "conv2d_1x1_64_to_64_by_5 step 64 i16", "core": "cortex-m4", "compiler": "...",
     "knobs": {"pixels": 3, "channels": 2, "unroll": 16, "weight_bits": 8},
     "cost": 21894, "default_cost": 22512, "unit": "instructions", "error": "",
     "board": "mps2-an386", "seconds": 0.01, "tool": "0.1.0", "time": "2026-01-01T00:00:00Z"}

`deploy inspect --layers --json` lists each kernel's task. A failed trial has an error, such as "wrong
result", and no cost. An incomplete last line, left by a crash, is ignored.

`default_points` are those of this package, by core. They are used if tuning found better values than the
strategies' rules. `python -m benchmarks measure-defaults` writes the tables, without points that need more
flash, such as wide weights or long code. They apply to the goal speed; for smaller or leaner models the rules
apply.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from aot.errors import InputError
from aot.target import Optimize
from codegen.kernels.kernel import Kernel
from codegen.kernels.knobs import NOT_TUNED, Point

_EXAMPLE = (
    '{"task": "...", "core": "cortex-m4", "knobs": {"pixels": 2, "channels": 2, "unroll": 4}, '
    '"cost": 1, "default_cost": 2}'
)

_WRITES = "create them with: deploy tune MODEL --board B -o FILE"


@dataclass(frozen=True)
class TuningRecord:
    """One trial. Fields after `default_cost` may be missing in a file."""

    task: str
    core: str
    knobs: Point
    cost: int | None  # None: it failed
    default_cost: int | None  # of the same run, in the same unit
    error: str = ""
    compiler: str = ""  # "": any compiler
    board: str = ""
    unit: str = ""
    seconds: float = 0.0  # duration of the trial
    tool: str = ""
    time: str = ""

    @property
    def is_gain(self) -> bool:
        return self.cost is not None and self.default_cost is not None and self.cost < self.default_cost

    @property
    def key(self) -> tuple[str, ...]:
        """Returns the identity of the point: records of one key are trials of the same point."""
        knobs = json.dumps(dict(sorted(self.knobs.items())))
        return (self.task, self.core, self.compiler, self.board, self.unit, knobs)

    def as_line(self) -> str:
        return json.dumps({**asdict(self), "knobs": dict(self.knobs)}) + "\n"


@dataclass(frozen=True)
class Selection:
    """The points to compile with, and why the other records are not used."""

    points: Mapping[str, Point]  # by task
    unused: Mapping[str, int]  # reason -> number of records


def read_records(path: Path) -> tuple[TuningRecord, ...]:
    """Reads a file. Raises InputError with the first line that is not a record."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"the tuning records cannot be read: {error.strerror}", str(path), _WRITES) from None
    except UnicodeDecodeError:
        raise InputError("these are not tuning records: the file is not text", str(path), _WRITES) from None
    whole = text[: text.rfind("\n") + 1].splitlines() or text.splitlines()
    return tuple(_record(line, f"{path}, line {n}") for n, line in enumerate(whole, 1) if line.strip())


def select(
    records: Iterable[TuningRecord], core: str, compiler: str = "", goal: Optimize = Optimize.SPEED
) -> Selection:
    """Returns, for each task, the best point that beats the default on this core with this compiler.

    Costs in different units are not compared. The unit that is most informative for the goal counts.
    """
    unused: Counter[str] = Counter()
    best: dict[str, TuningRecord] = {}
    for record in records:
        reason = _unfit(record, core, compiler)
        if reason:
            unused[reason] += 1
        elif record.task not in best or _rank(record, goal) < _rank(best[record.task], goal):
            best[record.task] = record
    return Selection({task: record.knobs for task, record in best.items()}, dict(unused))


def _rank(record: TuningRecord, goal: Optimize) -> tuple[int, int]:
    """Returns the sort key of records of a task, best first: by unit, then by cost."""
    assert record.cost is not None
    units = _UNITS[::-1] if goal is Optimize.SIZE else _UNITS
    return units.index(record.unit if record.unit in _UNITS else _TIME), record.cost


def _unfit(record: TuningRecord, core: str, compiler: str) -> str:
    if record.core != core:
        return f"for {record.core}"
    if compiler and record.compiler and record.compiler != compiler:
        return f"for {record.compiler}"
    if record.error:
        return "failed"
    return "" if record.is_gain else "not faster than the default"


def _record(line: str, where: str) -> TuningRecord:
    try:
        found: dict[str, Any] = json.loads(line)
        return _checked(found)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        raise InputError(
            "this is not a tuning record", where, f"a record is a line like this one:\n{_EXAMPLE}"
        ) from None


def _checked(found: dict[str, Any]) -> TuningRecord:
    error = str(found.get("error", ""))
    costs = (None, found.get("default_cost")) if error else tuple(_positive(found[c]) for c in _COSTS)
    texts = {name: str(found.get(name, "")) for name in ("compiler", "board", "unit", "tool", "time")}
    return TuningRecord(
        task=str(found["task"]),
        core=str(found["core"]),
        knobs={str(name): _positive(value) for name, value in found["knobs"].items()},
        cost=costs[0],
        default_cost=costs[1],
        error=error,
        seconds=float(found.get("seconds", 0)),
        **texts,
    )


_COSTS = ("cost", "default_cost")
_TIME = ""
_UNITS = ("cycles", "instructions", _TIME, "bytes")  # most informative about time first; about size, last


def _positive(value: object) -> int:
    if not isinstance(value, int) or value < 1:
        raise ValueError(value)
    return value


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
