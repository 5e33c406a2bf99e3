"""User-defined schedules for layers: steps applied to a layer's unscheduled loop nest."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np

from aot.errors import ExtensionError, InputError
from aot.extensions import SCHEDULES, loaded
from aot.ir.types import DType
from aot.target import FEATURES, Feature
from codegen.formats import RowFormat, RowRequest, dense_format, requested_format
from codegen.kernels.kernel import Kernel, ScheduledFrom, Site
from codegen.kernels.nests import unscheduled
from codegen.kernels.strategy import RowRequests, Strategy, UnfitRowsError, UserSchedules
from codegen.kernels.table import KERNELS
from codegen.lang.misuse import checks_arguments, checks_arguments_as, misuse
from codegen.lang.schedule import Schedule
from codegen.lang.template import Template, TemplateKnobs, applied, require_template, space_of

# The row formats that a layer's schedule requests, before the planner decides whether to grant them.


def asked_formats(site: Site, requests: RowRequests) -> Sequence[RowFormat]:
    """Returns the requested formats of a site's inputs."""
    moving = [kind for n, kind in enumerate(site.inputs) if kind is not None and n not in site.constants]
    return [
        dense_format(kind) if request is None else requested_format(kind, request)
        for kind, request in zip(moving, requests, strict=True)
    ]


_WIDTHS = (8, 16)


@dataclass(frozen=True)
class LayerSchedule:
    """Schedule steps for layers of some ops. The compiler prefers it if all its steps can be applied."""

    name: str
    ops: tuple[str, ...]
    template: Template
    needs: frozenset[Feature]
    row_bits: int | None  # of the rows that it reads; None: the width of the values
    group: int  # elements read at once; a row may end earlier
    summary: str  # a description in one line

    def __call__(self, schedule: Schedule, knobs: TemplateKnobs) -> None:
        self.template(schedule, knobs)

    def __repr__(self) -> str:
        return f"<schedule {self.name} for {', '.join(self.ops)}>"

    def of_op(self, op_name: str) -> Strategy:
        """Returns it as the compiler's strategy for an op."""
        kernels = _LayerKernels(self, op_name)
        return Strategy(
            self.name,
            kernels.requests,
            kernels.lower,
            self.needs,
            refuses=kernels.refusal,
            adds_in_store=() if f"{op_name}+add" in self.ops else None,
        )


@checks_arguments
def layer_schedule(
    *ops: str, needs: Sequence[str] = (), row_bits: int | None = None, group: int = 1
) -> Callable[[Template], LayerSchedule]:
    """Turns a function of (schedule, knobs) into a schedule for the compiler's layers of these ops.

    The function gets the unscheduled loops and applies steps. If a step is rejected, the layer falls back to
    the next strategy. `needs` lists features of cores, such as "dsp". With `row_bits=16`, the rows that it
    reads are widened when they are stored. `group` is the number of elements that its instructions read at
    once.

        @lang.layer_schedule("dense")
        def two_channels(s, knobs):
            '''Two sums side by side.'''
            _, inner = s.split("o", knobs.choose("channels", (2, 4)))
            ...
    """
    unknown = next((op for op in ops if op not in KERNELS), None)
    if unknown is not None or not ops:
        raise misuse(f'there is no op "{unknown}"' if ops else "it names no op", "deploy ops lists all ops")
    if row_bits is not None and row_bits not in _WIDTHS:
        raise misuse(f"rows of {row_bits} bits do not exist", "use 8 or 16")
    if group < 1:
        raise misuse(f"a group must have at least 1 element, not {group}", "1 or more")
    known = {str(feature): feature for feature in FEATURES}
    missing = next((name for name in needs if name not in known), None)
    if missing is not None:
        raise misuse(f'no core has a feature "{missing}"', f"there are {', '.join(sorted(known))}")

    @checks_arguments_as("layer_schedule")
    def made(template: Template) -> LayerSchedule:
        require_template(template)
        features = frozenset(known[name] for name in needs)
        text = (template.__doc__ or "").strip().splitlines()
        summary = text[0].rstrip(".") if text else "a custom schedule"
        return LayerSchedule(template.__name__, ops, template, features, row_bits, group, summary)

    return made


@dataclass(frozen=True)
class _LayerKernels:
    """The kernels of an op for a user's schedule: the plain kernel with other loops."""

    made_by: LayerSchedule
    op_name: str

    def requests(self, site: Site) -> RowRequests:
        plain = unscheduled(self.op_name, site).requests(site)
        return tuple(None if each is None else self._request(each, site) for each in plain)

    def lower(self, site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
        plain = unscheduled(self.op_name, site).lower(site, inputs, output)
        own, start = self.made_by, Schedule(plain.proc)
        try:
            space = space_of(f"{own.name} {plain.proc.name} {site.input(0).dtype.value}", own.template, start)
            point = space.chosen(site.tuned)
            made = applied(own.template, start, point)
        except InputError as error:
            raise UnfitRowsError(error.what) from None
        except Exception as error:  # a user's function may raise anything
            raise _failed(own, site, error) from error
        return _with_loops(replace(plain, strategy=own.name, why=own.summary, space=space, point=point), made)

    def refusal(self, site: Site) -> str:
        """Returns why it cannot use the rows that it requests; empty if it can."""
        inputs = asked_formats(site, self.requests(site))
        try:
            self.lower(site, inputs, dense_format(site.outputs[0]))
        except UnfitRowsError as error:
            return str(error)
        return ""

    def _request(self, plain: RowRequest, site: Site) -> RowRequest:
        own, x = self.made_by, site.input(0)
        is_wider = own.row_bits is not None and x.dtype is DType.I8 and not plain.whole
        width = own.row_bits // 8 if is_wider and own.row_bits is not None else plain.dtype_bytes
        return replace(plain, dtype_bytes=width, slack=max(plain.slack, own.group - 1))


def _with_loops(kernel: Kernel, made: Schedule) -> Kernel:
    """Returns the kernel with these loops, and its constants in the order in which the loops read them."""
    constants, row_tables = dict(kernel.constants), dict(kernel.row_tables)
    for name, packing in made.packings.items():
        whole = constants[name].reshape(-1)
        parts = whole.reshape(-1, row_tables.get(name, whole.size))  # one table per step
        packed = [packing.apply(part) for part in parts]
        constants[name] = np.concatenate(packed)
        if name in row_tables:
            row_tables[name] = packed[0].size
    return replace(
        kernel,
        proc=made.proc,
        constants=constants,
        row_tables=row_tables,
        slowed_by_edges=False,
        scheduled_from=ScheduledFrom(kernel.proc, made.packings),
    )


def _failed(own: LayerSchedule, site: Site, error: Exception) -> InputError:
    line = traceback.extract_tb(error.__traceback__)[-1]
    return InputError(
        f"the schedule {own.name} failed on {site.node.name}: {type(error).__name__}: {error}",
        f"{line.filename}:{line.lineno}: {line.line}",
    )


# Finds user-defined schedules for layers, in a Python file and in installed packages.


_HINT = "decorate a function with @lang.layer_schedule(...): deploy docs language"


def read_schedules(path: str | os.PathLike[str]) -> UserSchedules:
    """Runs the file and returns the schedules that it defines, in order."""
    found = _schedules_in(_module(Path(path)))
    if not found:
        raise InputError("the file defines no layer schedule", str(path), _HINT)
    return _by_op(str(path), found)


def as_own(given: object) -> UserSchedules | None:
    """Returns the schedule given from Python, or None if it is not one for layers."""
    return _by_op(given.name, [given]) if isinstance(given, LayerSchedule) else None


def installed_schedules() -> Iterable[UserSchedules]:
    """Yields the schedules of installed packages."""
    for name, module in loaded(SCHEDULES).items():
        found = _schedules_in(module)
        if not found:
            raise ExtensionError(f'the extension "{name}" defines no layer schedule', hint=_HINT)
        yield _by_op(name, found)


def _schedules_in(module: object) -> list[LayerSchedule]:
    return [value for value in vars(module).values() if isinstance(value, LayerSchedule)]


def _by_op(origin: str, found: Sequence[LayerSchedule]) -> UserSchedules:
    ops = dict.fromkeys(op for each in found for op in each.ops)
    return UserSchedules(
        origin, {op: tuple(each.of_op(op) for each in found if op in each.ops) for op in ops}
    )


def _module(path: Path) -> ModuleType:
    spec = spec_from_file_location(path.stem, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise InputError("there is no such Python file", str(path))
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except InputError:
        raise
    except SyntaxError as error:
        line = (error.text or "").strip()
        raise InputError(
            f"the file is not Python: {error.msg}", f"{error.filename or path}:{error.lineno}: {line}"
        ) from None
    except (Exception, SystemExit) as error:  # a user's file may raise anything
        lines = [line for line in traceback.extract_tb(error.__traceback__) if line.filename == spec.origin]
        where = f"{path}:{lines[-1].lineno}: {lines[-1].line}" if lines else str(path)
        raise InputError(f"the file raised an error: {type(error).__name__}: {error}", where) from error
    return module
