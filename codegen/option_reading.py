"""Reads option values, from the command line or from Python, into their dataclass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from aot.errors import InputError, did_you_mean
from codegen.option_entry import Option
from codegen.option_kinds import WrongValueError

T = TypeVar("T")


def read_given(start: T, options: Mapping[str, Option], given: Mapping[str, object]) -> T:
    """Returns `start`, a dataclass of these options, with the values given by keyword; None is ignored.

    Raises InputError for an invalid value, and TypeError for an unknown option.
    """
    require_known(given, options)
    values = {
        options[name].field: _read(options[name], value) for name, value in given.items() if value is not None
    }
    return replace(start, **values)  # type: ignore[type-var]  # a dataclass, which T cannot say


def require_known(given: Mapping[str, object], options: Mapping[str, Option]) -> None:
    """Raises TypeError for an unknown keyword, as Python does."""
    for name in given:
        if name not in options:
            near, known = did_you_mean(name, options), ", ".join(options)
            raise TypeError(f'"{name}" is not an option here{near}; known: {known}')


def _read(option: Option, value: object) -> Any:
    try:
        return option.kind.read(value)
    except WrongValueError as error:
        raise InputError(f"{option.name} {error.what}", hint=error.hint) from None
