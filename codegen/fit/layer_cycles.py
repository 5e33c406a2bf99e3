"""The cycles of a layer: from a table measured on its core, otherwise from a formula.

`python -m benchmarks costs` writes the tables of `codegen/fit/measured`. A kernel that is missing in a table
is estimated from the work of its loops, with factors fitted to kernels of the same kind in the table.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib.resources import files
from math import prod

import numpy as np

from aot.plan.steps import Ints
from aot.target import Feature, Target
from codegen.formats import RowFormat
from codegen.kernels.kernel import Kernel
from codegen.loops.ir import (
    Accumulate,
    Apply,
    Declare,
    Expr,
    For,
    Invoke,
    Load,
    Stmt,
    Store,
    parts_of,
    walk,
)
from codegen.lower.stages import STREAMED_ROW, Lowered, LoweredStage, LoweredTensor

TABLES = "codegen.fit.measured"
FEATURES = ""  # key of the row with the core's features
_BAR = " | "  # separates the parts of a key: kind, kernel, rows
_COPY, _CONVERTING = "copy", "converting"
# Cycles per product and per load inside instructions, per operation in a plain loop, and per call.
Factors = tuple[float, float, float, float]
_NOTHING_MEASURED: Factors = (0.5, 0.4, 1.2, 30.0)

# Features that decide integer kernels. A core without a table uses one of a core with the same set; without
# any, of another RISC-V core, since all of them have the same instructions then.
_DECIDING = frozenset({Feature.DSP, Feature.MVE, Feature.VECTORS})
_RISC_V = "riscv"


@dataclass(frozen=True, slots=True)
class LayerCycles:
    """The cycles of a layer in one run of the model."""

    cycles: int
    is_measured: bool  # False: from the formula


@dataclass(frozen=True, slots=True)
class RunCycles:
    """The estimated cycles of one run of a model, without waits for flash."""

    cycles: int
    measured: int  # of them in layers whose kernels are in the table
    source: str  # origin of the table
    is_of_core: bool  # False: the table is that of a similar core, or there is none


@dataclass(frozen=True, slots=True)
class Work:
    """The work of a layer in a run: four counts, whose weighted sum is its cycles."""

    inside: int  # loop-nest statements inside instructions
    loads: int  # of elements in instructions; a tile of several pixels loads a weight once for all of them
    outside: int  # operations in plain loops
    calls: int  # of its kernel

    @property
    def counts(self) -> Factors:
        return self.inside, self.loads, self.outside, self.calls

    def cycles(self, factors: Factors) -> float:
        return sum(count * factor for count, factor in zip(self.counts, factors, strict=True))


Measured = tuple[int, Work]  # cycles, and the work that needed them


@dataclass(frozen=True)
class CycleTable:
    """The measured cycles of kernels on one core."""

    source: str  # origin of the figures, for reports
    measured: Mapping[str, Measured] = field(default_factory=dict)  # by cycle_key
    features: frozenset[str] = frozenset()  # of its core, as far as they decide kernels
    is_of_core: bool = False  # of the target's own core
    asked: dict[object, tuple[Kernel, LayerCycles]] = field(default_factory=dict)  # by kernel and row formats

    def of(self, stage: LoweredStage, tensors: Mapping[str, LoweredTensor]) -> LayerCycles:
        """Returns the cycles of a layer. Variants of a search share kernels, which are analyzed once."""
        formats = tuple(r.view or tensors[r.tensor].format for r in stage.reads if r.tensor != STREAMED_ROW)
        asked = id(stage.kernel), formats, stage.result.format, stage.op, stage.steps
        if asked not in self.asked:
            self.asked[asked] = stage.kernel, self._found(stage, tensors)
        return self.asked[asked][1]

    def _found(self, stage: LoweredStage, tensors: Mapping[str, LoweredTensor]) -> LayerCycles:
        known = self.measured.get(cycle_key(stage, tensors))
        if known is not None:
            return LayerCycles(known[0], True)
        return LayerCycles(round(work_of_stage(stage).cycles(self.factors_of(kind_of(stage)))), False)

    def factors_of(self, kind: str) -> Factors:
        """Returns the factors of a kind of kernel; if it was not measured, those of the nearest family."""
        known = (self._factors.get(name) for name in (kind, *_families_of(kind), ""))
        return next((each for each in known if each is not None), _NOTHING_MEASURED)

    @cached_property
    def _factors(self) -> Mapping[str, Factors]:
        """Returns the factors of each kind of kernel, of each family of kinds, and of all together."""
        kinds: dict[str, list[Measured]] = {"": list(self.measured.values())} if self.measured else {}
        for key, each in self.measured.items():
            kind = key.partition(_BAR)[0]
            for name in (kind, *_families_of(kind)):
                kinds.setdefault(name, []).append(each)
        return {kind: _fitted(each) for kind, each in kinds.items()}

    def run(self, lowered: Lowered) -> int:
        """Returns the cycles of a run: the sum over its layers."""
        return self.estimate(lowered).cycles

    def estimate(self, lowered: Lowered) -> RunCycles:
        """Returns the cycles of a run, and how many of them were measured."""
        layers = [self.of(stage, lowered.tensors) for stage in lowered.stages]
        measured = sum(layer.cycles for layer in layers if layer.is_measured)
        return RunCycles(sum(layer.cycles for layer in layers), measured, self.source, self.is_of_core)


def cycle_table(target: Target) -> CycleTable:
    """Returns the table of the target's core, of a similar one, or an empty one."""
    tables = _tables()
    if target.core in tables:
        return replace(tables[target.core], asked={}, is_of_core=True)
    alike = next((t for t in tables.values() if t.features and t.features == deciding(target)), None)
    unknown = f"no measurements for {target.core}"
    if alike is None:
        return CycleTable(f"counted from loops: {unknown}")
    return replace(alike, source=f"{alike.source}: {unknown}", asked={})


def deciding(target: Target) -> frozenset[str]:
    """Returns the features of a target that decide its integer kernels, with RISC-V as one."""
    family = frozenset({_RISC_V}) & {target.machine}
    return family | {str(feature) for feature in target.features & _DECIDING}


@cache
def _tables() -> Mapping[str, CycleTable]:
    """Returns the tables by core. The first row of a file has the features that decide kernels."""
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
    """Returns non-negative factors with the least sum of squared relative errors."""
    cycles = np.array([max(each, 1) for each, _ in measured], float)
    works = np.array([work.counts for _, work in measured], float)
    used, found = [*range(works.shape[1])], [0.0] * works.shape[1]
    while used:
        part = np.linalg.lstsq(works[:, used] / cycles[:, None], np.ones(len(cycles)), rcond=None)[0]
        if (part >= 0).all():
            for column, factor in zip(used, part.tolist(), strict=True):
                found[column] = factor
            break
        used.remove(used[int(part.argmin())])
    return found[0], found[1], found[2], found[3]


def cycle_key(stage: LoweredStage, tensors: Mapping[str, LoweredTensor]) -> str:
    """Returns a key of everything that decides a layer's cycles. Only copies include the written format."""
    kernel = stage.kernel
    formats = [r.view or tensors[r.tensor].format for r in stage.reads if r.tensor != STREAMED_ROW]
    rows = " ".join(dict.fromkeys(map(_rows_text, formats)))
    written = f" to {_rows_text(stage.result.format)}" if stage.node is None else ""
    point = ".".join(str(value) for value in kernel.point.values())
    tiles, functions = _made_of(kernel.proc.body)
    parts = " ".join(part for part in (kernel.proc.name, point, *sorted(functions)) if part)
    strides = ".".join(str(access.stride) for access in kernel.access)
    tiled = f" in {tiles} tiles" if tiles else ""
    return f"{kind_of(stage)}{_BAR}{parts}{tiled}{_BAR}{rows}{written} by {strides} x{_runs(stage)}"


def _made_of(body: tuple[Stmt, ...]) -> tuple[int, frozenset[str]]:
    """Counts the instructions of a nest, and returns its scalar functions without their numbers."""
    nests = tuple(walk(body))
    values = [stmt.value for stmt in nests if isinstance(stmt, Store | Accumulate)]
    applied = (part for value in values for part in _parts(value) if isinstance(part, Apply))
    functions = frozenset(_without_numbers(part.function.name) for part in applied)
    return sum(isinstance(stmt, Invoke) for stmt in nests), functions


def _without_numbers(name: str) -> str:
    words = name.partition("@")[0].split("_")
    return "_".join(word for word in words if not any(letter.isdigit() for letter in word))


def _parts(value: Expr) -> Iterator[Expr]:
    yield value
    for part in parts_of(value):
        yield from _parts(part)


def kind_of(stage: LoweredStage) -> str:
    """Returns the op, the strategy, and the parts of the kernel's task except numbers and name."""
    kernel = stage.kernel
    task = kernel.space.task.split()[1:] if kernel.space else []
    words = [word for word in task if not word.isdigit()]
    widths = {row.dtype.bytes for row in kernel.row_params} | {stage.result.format.dtype_bytes}
    if kernel.strategy == _COPY and len(widths) > 1:
        words.insert(0, _CONVERTING)  # element by element instead of in 32-bit units
    return " ".join((stage.op, kernel.strategy, *words))


def _families_of(kind: str) -> tuple[str, ...]:
    """Returns the families of kinds that are computed alike, the nearest first, for kinds not measured.

    Kernels of the same strategy and element type are alike whatever the op; then those of the strategy.
    """
    _, strategy, *words = kind.split()
    if words[:1] == [_CONVERTING]:
        return (f" {strategy} {_CONVERTING}",)
    return tuple(dict.fromkeys((" ".join(("", strategy, *words)), f" {strategy}")))


def _rows_text(fmt: RowFormat) -> str:
    order = "pixels" if fmt.c_step == 1 else "planes"
    return f"i{fmt.dtype_bytes * 8} {order}{' padded' if fmt.left else ''}"


def _runs(stage: LoweredStage) -> int:
    """Returns how often the kernel's main proc runs per run of the model."""
    parts = stage.kernel.accumulation
    return 1 if stage.kernel.whole else stage.steps if parts is None else parts.rows


def work_of_stage(stage: LoweredStage) -> Work:
    """Returns the work of a layer. For a library's function, only multiplications are known."""
    kernel, runs = stage.kernel, _runs(stage)
    counts = _counted(kernel.proc.body) * runs
    for proc in kernel.procs:
        if proc is not kernel.proc:
            counts = counts + _counted(proc.body)
    inside, loads, outside = counts.tolist()
    return Work(inside, loads, outside, runs)


def _counted(body: tuple[Stmt, ...]) -> Ints:
    """Counts the statements and loads inside instructions, and the operations outside."""
    counts = np.zeros(3, np.int64)
    for stmt in body:
        match stmt:
            case For(_, extent, inner, unrolled, _):
                counts += extent * _counted(inner)
                counts[2] += 0 if unrolled else extent
            case Store(_, value):
                counts[2] += 1 + _operations(value)
            case Accumulate(_, value):
                counts[2] += 2 + _operations(value)
            case Invoke(instruction, _):
                counts += (*_inside(instruction.body, {}), 1)
            case Declare():
                pass
    return counts


def _inside(body: tuple[Stmt, ...], extents: Mapping[str, int]) -> tuple[int, int]:
    """Counts statements and loaded elements, each element once for all its uses."""
    statements = loads = 0
    for stmt in body:
        match stmt:
            case For(variable, extent, inner, _, _):
                more = _inside(inner, {**extents, variable: extent})
                statements, loads = statements + more[0], loads + more[1]
            case Store(_, value) | Accumulate(_, value):
                statements += prod(extents.values())
                loaded = (part.place for part in _parts(value) if isinstance(part, Load))
                loads += sum(prod(extents[v] for v in place.variables) for place in loaded)
    return statements, loads


def _operations(value: Expr) -> int:
    here = value.function.machine_instructions if isinstance(value, Apply) else 1
    here = 2 if isinstance(value, Load) else here
    return here + sum(map(_operations, parts_of(value)))
