"""The option for user-defined schedules: files, or schedules made in Python."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from aot.extensions import SCHEDULES, loaded
from codegen.kernels.strategy import Strategy, UserSchedules
from codegen.option_kinds import OptionKind, WrongValueError, json_type


class OwnScheduleList(OptionKind[tuple[UserSchedules, ...]]):
    """Files of schedules. Python also accepts schedules, one or several in a list."""

    is_repeated = True

    metavar = "FILE"
    schema = json_type("array", items={"type": "string"})

    def read(self, given: object) -> tuple[UserSchedules, ...]:
        """Returns the schedules. Runs a file to read it."""
        return tuple(map(_read_one, _each(given)))

    def check(self, given: object) -> None:
        for one in _each(given):
            if not isinstance(one, str | os.PathLike):
                _read_one(one)

    def words(self, value: tuple[UserSchedules, ...]) -> tuple[str, ...]:
        return tuple(each.origin for each in value)


def schedules_outside(op_name: str, given: Sequence[UserSchedules]) -> tuple[Strategy, ...]:
    """Returns the user's schedules of an op, followed by those of installed packages."""
    installed: Sequence[UserSchedules] = ()
    if loaded(SCHEDULES):
        from codegen.lang.layer_schedule import installed_schedules

        installed = tuple(installed_schedules())
    return tuple(schedule for own in (*given, *installed) for schedule in own.by_op.get(op_name, ()))


def _each(given: object) -> Sequence[object]:
    return given if isinstance(given, Sequence) and not isinstance(given, str) else (given,)


def _read_one(given: Any) -> UserSchedules:
    # Imported late: only user schedules need the language.
    from codegen.lang.layer_schedule import as_own, read_schedules

    if isinstance(given, str | os.PathLike):
        return read_schedules(given)
    found = as_own(given)
    if found is None:
        raise WrongValueError(f"{given!r} is neither a Python file nor a lang.layer_schedule")
    return found
