"""Finds user-defined schedules for layers, in a Python file and in installed packages."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterable, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from aot.errors import ExtensionError, InputError
from aot.extensions import SCHEDULES, loaded
from codegen.kernels.strategy import UserSchedules
from codegen.lang.layer_schedule import LayerSchedule

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
