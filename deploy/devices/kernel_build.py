"""Builds a proc for a board, as a function of arrays that runs and measures there."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from aot.errors import InputError
from aot.frontend.builder import graph_of_op
from aot.interpret import run_graph
from aot.ir.types import Array, TensorType
from aot.wording import counted
from boards.board import Board
from codegen.c.names import is_c_name, model_identifier
from codegen.isa.table import headers
from codegen.job import ImportedModel
from codegen.lang.loops_op import UserKernel, compilable, op_of
from codegen.lang.misuse import checks_arguments, checks_arguments_as, misuse
from codegen.lang.schedule import Schedule
from codegen.loops.axes import goes_beyond
from codegen.loops.defined import undefined
from codegen.loops.ir import Declare, For, Proc, Role, walk
from codegen.loops.ranges import undefined_operand
from codegen.loops.text import Named, called_in
from codegen.options import CompileOptions
from deploy.benchmark.cycle_model import model_cycles
from deploy.compiler.board_or_target import board_or_target_of
from deploy.compiler.compile_model import Compiled, compile_for
from deploy.devices.connection import RunTime, connect
from deploy.devices.connection_options import LineOptions
from deploy.inputs.samples import random_samples
from deploy.inspection.layer_view import LayerView, view_of
from deploy.python_api.on_board import Run, run


@dataclass(frozen=True)
class BuiltKernel:
    """A kernel built for a board.

    Call it with arrays in the order of its inputs to get the board's result.
    """

    compiled: Compiled = field(repr=False)
    toolchain: str | None = None
    results: tuple[tuple[int, ...], ...] = ()  # shapes of several outputs, which the kernel returns as one
    to_prove: list[str] = field(default_factory=list, repr=False, compare=False)  # by the first call

    def __repr__(self) -> str:
        return f"<{self.compiled.artifact.name} for {self.compiled.board.name}>"

    @checks_arguments_as("kernel")
    def __call__(self, *arrays: Array) -> Any:
        """Returns the output computed by the board; a tuple if there are several.

        If the kernel calls instructions or functions whose C code was never compared with their definition,
        the first call compares the result with the loop interpreter. Float results are excluded, because the
        order of their sums varies.
        """
        (result,) = self._run(arrays).outputs.values()
        if self.to_prove:
            self._require_meant(result, arrays)
            self.to_prove.clear()
        return self._apart(result)

    @checks_arguments
    def time(self, number: int = 1, repeat: int = 1, min_repeat_ms: float = 0.0) -> RunTime:
        """Measures `number` runs together on random inputs, `repeat` times: counts and seconds.

        More runs are measured together if they are shorter than `min_repeat_ms`. The line has no influence.
        """
        with connect(self.compiled, toolchain=self.toolchain) as device:
            names = self.compiled.job.model.graph.inputs
            if names:
                device.run(dict(zip(names, self._random(), strict=True)))
            return device.time(number, repeat, min_repeat_ms)

    @cached_property
    def cycles(self) -> int:
        """Returns the cycles of a run, from the cycle model of the board's core."""
        return model_cycles(
            self.compiled.artifact, self.compiled.board, self.toolchain, LineOptions(), layers=False
        ).run.count

    @checks_arguments
    def verify(self, samples: int = 3) -> None:
        """Compares the board with the definition on random inputs. Raises InputError if they differ."""
        if samples < 1:
            raise misuse(f"{samples} samples: at least 1 is needed")
        for arrays in random_samples(self.compiled.report.facts.inputs, samples).each:
            (found,) = self._run(arrays).outputs.values()
            self._require_meant(found, arrays)

    def _require_meant(self, found: Array, arrays: Sequence[Array]) -> None:
        wanted = self._meant(arrays)
        if not np.array_equal(found, wanted):
            first = np.argwhere(found != wanted)[0]
            raise InputError(
                f"the board's result differs from the meaning of {self.compiled.artifact.name}: "
                f"{np.count_nonzero(found != wanted)} of {found.size} elements differ, the first at "
                f"{first.tolist()}: {found[tuple(first)]}, expected {wanted[tuple(first)]}",
                self.compiled.board.name,
                "the C of a custom instruction or function may differ from its meaning",
            )

    @checks_arguments
    def reference(self, *arrays: Array) -> Any:
        """Returns the outputs computed by the loop interpreter from the definition: slow but exact."""
        self._require_all(arrays)
        return self._apart(self._meant(arrays))

    def _meant(self, arrays: Sequence[Array]) -> Array:
        graph = self.compiled.job.model.graph
        (result,) = run_graph(graph, dict(zip(graph.inputs, arrays, strict=True))).values()
        return result

    def _apart(self, result: Array) -> Any:
        if not self.results:
            return result
        ends = np.cumsum([math.prod(shape) for shape in self.results])[:-1]
        return tuple(
            part.reshape(shape) for part, shape in zip(np.split(result, ends), self.results, strict=True)
        )

    @property
    def view(self) -> LayerView:
        """Its loops, C and assembly."""
        return view_of(self.compiled.model, self.compiled.model.layers[-1].index)

    def _run(self, arrays: Sequence[Array]) -> Run:
        self._require_all(arrays)
        names = self.compiled.job.model.graph.inputs
        return run(self.compiled, dict(zip(names, arrays, strict=True)), toolchain=self.toolchain)

    def _require_all(self, arrays: Sequence[Array]) -> None:
        names = self.compiled.job.model.graph.inputs
        if len(arrays) != len(names):
            raise misuse(
                f"{self.compiled.artifact.name} has {counted(len(names), 'input')}, "
                f"{counted(len(arrays), 'array')} {'is' if len(arrays) == 1 else 'are'} given",
                f"in this order: {', '.join(names)}",
            )

    def _random(self) -> list[Array]:
        return list(random_samples(self.compiled.report.facts.inputs, 1).each[0])


@checks_arguments
def build(
    kernel: Schedule | Proc,
    board: str,
    constants: Mapping[str, Array] | None = None,
    toolchain: str | None = None,
) -> BuiltKernel:
    """Compiles a schedule, or a proc without schedule, for a board.

    `constants` contains the arrays of its constants by name.
    """
    schedule = schedule_of(kernel)
    meaning, given = schedule.meaning, dict(constants or {})
    many = next((p for p in meaning.params if p.rows > 1), None)
    if many is not None:
        raise misuse(f"{many.name} has {many.rows} rows: a kernel built alone needs inputs of one row")
    place = board_or_target_of(board)
    require_sound(schedule)
    _require_c_names(schedule.proc)
    _require_callable(schedule.proc, place)
    _require_constants(meaning, given, schedule.shapes)
    _require_one_type(meaning)
    made = UserKernel(meaning, schedule.proc, schedule.packings)
    sizes = {p.name: schedule.shapes.get(p.name, (p.elements,)) for p in meaning.params}
    types = {p.name: TensorType(p.dtype, sizes[p.name]) for p in meaning.params}
    shapes = tuple(sizes[result.name] for result in made.results)
    name, shape = made.results[0].name, shapes[0]
    if len(shapes) > 1:
        name, shape = "results", (sum(map(math.prod, shapes)),)
    kind = TensorType(made.results[0].dtype, shape)
    arrays = {name: _stored(name, np.asarray(array), types[name]) for name, array in given.items()}
    operands = {name: types[name] for name in made.given}
    op = op_of(made, shape)
    graph = graph_of_op(meaning.name, op, operands, arrays, (name, kind))
    digest = hashlib.sha256(op.kernel.encode() + b"".join(arrays[name].tobytes() for name in sorted(arrays)))
    name = model_identifier(meaning.name, headers())
    model = ImportedModel(graph, meaning.name, digest.hexdigest(), name)
    with compilable():
        compiled = compile_for(model, place, CompileOptions())
    called = [used.name for used in called_in(schedule.proc)] if kind.dtype.is_integer else []
    return BuiltKernel(compiled, toolchain, shapes if len(shapes) > 1 else (), called)


def schedule_of(kernel: Schedule | Proc) -> Schedule:
    """Returns the schedule, or an empty one for a proc."""
    return kernel if isinstance(kernel, Schedule) else Schedule(kernel)


def require_sound(schedule: Schedule) -> None:
    """Raises InputError if loops access memory beyond a buffer or read elements that were never stored."""
    for proc in (schedule.meaning, schedule.proc):
        beyond = goes_beyond(proc)
        if beyond:
            raise misuse(beyond, "the extents of the loops determine which elements are accessed")
        what, hint = undefined_operand(proc)
        if what:
            raise misuse(what, hint)
    lacking = undefined(schedule.meaning)
    if lacking:
        raise misuse(lacking, "each element of an output and of a local is stored before it is read")


def _stored(name: str, array: Array, kind: TensorType) -> Array:
    """Converts an array to a type and shape. Raises InputError if the type cannot represent its values."""
    if array.dtype.kind not in "biuf":
        raise misuse(f"the constant {name} has type {array.dtype}, which is not a number")
    with np.errstate(invalid="ignore"):  # NaN is rejected below
        found = array.astype(kind.dtype.numpy)
    if not np.array_equal(found, array) and kind.dtype.is_integer:
        wrong = array.reshape(-1)[np.argmax((found != array).reshape(-1))]
        raise misuse(f"the constant {name} holds {wrong}, which does not fit {kind.dtype.value}")
    return found.reshape(kind.shape)


def _require_one_type(proc: Proc) -> None:
    """Raises InputError if outputs differ in type, because they are stored in one array."""
    results = [p for p in proc.params if p.role is Role.OUTPUT]
    if not results:
        raise misuse(f"{proc.name} has no output")
    other = next((p for p in results if p.dtype is not results[0].dtype), None)
    if other is not None:
        raise misuse(
            f"{results[0].name} is {results[0].dtype.value} and {other.name} {other.dtype.value}: "
            "all outputs must have the same type",
            f'compute(..., dtype="{max(results, key=lambda p: p.dtype.bytes).dtype.value}") for both',
        )


def _require_callable(proc: Proc, board: Board) -> None:
    known: dict[str, Named] = {}
    for used in called_in(proc):
        if known.setdefault(used.name, used).definition != used.definition:
            raise misuse(f"two functions are named {used.name}", "rename one of them")
        missing = sorted(used.needs - board.features)
        if missing:
            raise misuse(
                f"{used.name} needs {', '.join(missing)}, which {board.name}'s {board.core.name} lacks"
            )


def _require_c_names(proc: Proc) -> None:
    names = [proc.name, *(p.name for p in proc.params)]
    for stmt in walk(proc.body):
        names += (
            [stmt.var] if isinstance(stmt, For) else [stmt.buffer.name] if isinstance(stmt, Declare) else []
        )
    wrong = next((name for name in names if not is_c_name(name)), None)
    if wrong is not None:
        raise misuse(f'"{wrong}" is not a valid C name', "rename it")


def _require_constants(proc: Proc, given: Mapping[str, Array], shapes: Mapping[str, tuple[int, ...]]) -> None:
    wanted = {p.name: p.elements for p in proc.params if p.role is Role.CONSTANT}
    for name in wanted.keys() ^ given.keys():
        what = "is a constant without an array" if name in wanted else "is not a constant"
        raise misuse(f"{name} {what}", f"{proc.name}: constants {', '.join(wanted) or 'none'}")
    for name, elements in wanted.items():
        found, shape = _array(name, given[name]).shape, shapes.get(name, (elements,))
        if math.prod(found) != elements:
            raise misuse(f"the constant {name} has {elements} elements, the array has {math.prod(found)}")
        if found not in (shape, (elements,)):
            raise misuse(f"the constant {name} has the shape {list(shape)}, the array has {list(found)}")


def _array(name: str, given: object) -> Array:
    try:
        return np.asarray(given)
    except ValueError:  # lists of different lengths
        raise misuse(f"the constant {name} is not an array of numbers") from None
