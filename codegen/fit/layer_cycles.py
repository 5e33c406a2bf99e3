"""The cycles of a layer: from a table that was measured on its core, else by a formula.

`python -m benchmarks costs` writes the tables of `codegen/fit/measured`. A kernel that a table lacks is
estimated from what its loops do, with factors fitted to the kernels of its kind in the table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib.resources import files

import numpy as np

from aot.target import Feature, Target
from codegen.formats import RowFormat
from codegen.loops.ir import Accumulate, Apply, Declare, Expr, For, Invoke, Load, Proc, Stmt, Store, parts_of
from codegen.lower.stages import STREAMED_ROW, Lowered, LoweredStage, LoweredTensor

TABLES = "codegen.fit.measured"
FEATURES = ""  # the row of a table that is no kernel
_BAR = " | "  # between the parts of a key: the kind, the kernel, the rows
# Cycles of a statement that an instruction stands for, of an operation in a plain loop, and of a call.
Factors = tuple[float, float, float]
_NOTHING_MEASURED: Factors = (0.7, 1.2, 30.0)

# What decides the kernels of integers: a core without a table is served by one that has the same of these.
_DECIDING = frozenset({Feature.DSP, Feature.MVE, Feature.VECTORS})


@dataclass(frozen=True, slots=True)
class LayerCycles:
    """The cycles of a layer in one run of the model."""

    cycles: int
    is_measured: bool  # False: by the formula


@dataclass(frozen=True, slots=True)
class Work:
    """What a layer does in a run of the model: three counts that its cycles are a sum of."""

    inside: int  # statements that instructions stand for
    outside: int  # operations in plain loops
    calls: int  # of its kernel

    def cycles(self, factors: Factors) -> float:
        return self.inside * factors[0] + self.outside * factors[1] + self.calls * factors[2]


Measured = tuple[int, Work]  # cycles, and what they were spent on


@dataclass(frozen=True)
class CycleTable:
    """The measured cycles of kernels on one core."""

    source: str  # where the figures are from, as reports say it
    measured: Mapping[str, Measured] = field(default_factory=dict)  # by cycle_key
    features: frozenset[str] = frozenset()  # of its core, that decide kernels

    def of(self, stage: LoweredStage, tensors: Mapping[str, LoweredTensor]) -> LayerCycles:
        known = self.measured.get(cycle_key(stage, tensors))
        if known is not None:
            return LayerCycles(known[0], True)
        factors = self._factors.get(kind_of(stage)) or self._factors.get("", _NOTHING_MEASURED)
        return LayerCycles(round(work_of_stage(stage).cycles(factors)), False)

    @cached_property
    def _factors(self) -> Mapping[str, Factors]:
        """The factors of each kind of kernel; for kinds that were not measured, of all together."""
        kinds: dict[str, list[Measured]] = {"": list(self.measured.values())} if self.measured else {}
        for key, each in self.measured.items():
            kinds.setdefault(key.partition(_BAR)[0], []).append(each)
        return {kind: _fitted(each) for kind, each in kinds.items()}

    def run(self, lowered: Lowered) -> int:
        """The cycles of a run: those of its layers, which add up."""
        return sum(self.of(stage, lowered.tensors).cycles for stage in lowered.stages)


def cycle_table(target: Target) -> CycleTable:
    """The table of the target's core, of one like it, or one without entries."""
    tables = _tables()
    if target.core in tables:
        return tables[target.core]
    alike = next((t for t in tables.values() if t.features and t.features == deciding(target)), None)
    unknown = f"nothing is measured for {target.core}"
    if alike is None:
        return CycleTable(f"counted from loops: {unknown}")
    return replace(alike, source=f"{alike.source}: {unknown}")


def deciding(target: Target) -> frozenset[str]:
    """The features of a target that decide its kernels of integers."""
    return frozenset(str(feature) for feature in target.features & _DECIDING)


@cache
def _tables() -> Mapping[str, CycleTable]:
    """By core. The first row of a file has the features of its core that decide kernels."""
    found = {}
    for file in sorted(files(TABLES).iterdir(), key=lambda each: each.name):
        core, _, ending = file.name.rpartition(".")
        if ending == "json":
            rows = json.loads(file.read_text(encoding="utf-8"))
            features = frozenset(rows.pop(FEATURES))
            measured = {key: (row[0], Work(*row[1:])) for key, row in rows.items()}
            found[core] = CycleTable(f"measured on {core}", measured, features)
    return found


def _fitted(measured: Sequence[Measured]) -> Factors:
    """Factors that are not negative, with the least sum of squares of relative errors."""
    cycles = np.array([max(each, 1) for each, _ in measured], float)
    works = np.array([(work.inside, work.outside, work.calls) for _, work in measured], float)
    used, found = [0, 1, 2], [0.0, 0.0, 0.0]
    while used:
        part = np.linalg.lstsq(works[:, used] / cycles[:, None], np.ones(len(cycles)), rcond=None)[0]
        if (part >= 0).all():
            for column, factor in zip(used, part.tolist(), strict=True):
                found[column] = factor
            break
        used.remove(used[int(part.argmin())])
    return found[0], found[1], found[2]


def cycle_key(stage: LoweredStage, tensors: Mapping[str, LoweredTensor]) -> str:
    """What decides a layer's cycles, in one line; the format of what it writes does so for copies alone."""
    kernel = stage.kernel
    formats = [r.view or tensors[r.tensor].format for r in stage.reads if r.tensor != STREAMED_ROW]
    rows = " ".join(dict.fromkeys(map(_rows_text, formats)))
    written = f" to {_rows_text(stage.result.format)}" if stage.node is None else ""
    point = ".".join(str(value) for value in kernel.point.values())
    tables = "+".join(sorted(kernel.constants))
    parts = " ".join(part for part in (kernel.proc.name, point, tables) if part)
    strides = ".".join(str(access.stride) for access in kernel.access)
    return f"{kind_of(stage)}{_BAR}{parts}{_BAR}{rows}{written} by {strides} x{_runs(stage)}"


def kind_of(stage: LoweredStage) -> str:
    """The op, the schedule, and what the kernel's task says beside numbers and its name."""
    task = stage.kernel.space.task.split()[1:] if stage.kernel.space else []
    return " ".join((stage.op, stage.kernel.schedule, *(word for word in task if not word.isdigit())))


def _rows_text(fmt: RowFormat) -> str:
    order = "pixels" if fmt.c_step == 1 else "planes"
    return f"i{fmt.dtype_bytes * 8} {order}{' padded' if fmt.left else ''}"


def _runs(stage: LoweredStage) -> int:
    """Counts the runs of the kernel's main proc in a run of the model."""
    parts = stage.kernel.accumulation
    return 1 if stage.kernel.whole else stage.steps if parts is None else parts.rows


def work_of_stage(stage: LoweredStage) -> Work:
    """What a layer does; of a library's function the multiplications are known."""
    kernel, runs = stage.kernel, _runs(stage)
    inside, outside = _work(kernel.proc, runs)
    for proc in kernel.procs:
        if proc is not kernel.proc:
            more = _work(proc, 1)
            inside, outside = inside + more[0], outside + more[1]
    return Work(inside, outside, runs)


def _work(proc: Proc, runs: int) -> tuple[int, int]:
    inside, outside = _counted(proc.body)
    return inside * runs, outside * runs


def _counted(body: tuple[Stmt, ...]) -> tuple[int, int]:
    """The statements inside instructions, and the operations outside."""
    inside = outside = 0
    for stmt in body:
        match stmt:
            case For(_, extent, inner, unrolled, _):
                within, beside = _counted(inner)
                inside += extent * within
                outside += extent * (beside + (not unrolled))
            case Store(_, value):
                outside += 1 + _operations(value)
            case Accumulate(_, value):
                outside += 2 + _operations(value)
            case Invoke(instruction, _):
                inside += _statements(instruction.body)
                outside += 1
            case Declare():
                pass
    return inside, outside


def _statements(body: tuple[Stmt, ...]) -> int:
    return sum(
        stmt.extent * _statements(stmt.body) if isinstance(stmt, For) else not isinstance(stmt, Declare)
        for stmt in body
    )


def _operations(value: Expr) -> int:
    here = value.function.machine_instructions if isinstance(value, Apply) else 1
    here = 2 if isinstance(value, Load) else here
    return here + sum(map(_operations, parts_of(value)))
