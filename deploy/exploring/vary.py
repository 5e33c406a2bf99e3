"""Parses varied options: "optimize=speed,ram", or "stream" for without and with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from aot.errors import InputError, did_you_mean
from codegen.option_reading import read_given
from codegen.options import OPTIONS, CompileOptions


def read_varied(texts: Sequence[str]) -> dict[str, list[Any]]:
    """Returns the values of each varied option. Raises InputError."""
    return dict(_read(text) for text in texts)


def _read(text: str) -> tuple[str, list[Any]]:
    name, _, values = text.partition("=")
    _require_option(name)
    if values:
        return name, values.split(",")
    if OPTIONS[name].kind.metavar:
        raise InputError(f"--vary {name} needs values", hint=f"--vary {name}=ONE,OTHER")
    return name, [False, True]


def _require_option(name: str) -> None:
    if name not in OPTIONS:
        raise InputError(
            f'"{name}" is not an option that can be varied{did_you_mean(name, OPTIONS)}',
            hint=f"known: {', '.join(OPTIONS)}",
        )


def all_options(base: CompileOptions, varied: Mapping[str, Sequence[Any]]) -> list[CompileOptions]:
    """Returns the base options with each combination of the varied ones. Raises InputError."""
    for name in varied:
        _require_option(name)
    chosen = (dict(zip(varied, values, strict=True)) for values in product(*varied.values()))
    return [_with(base, values) for values in chosen]


def _with(base: CompileOptions, values: Mapping[str, Any]) -> CompileOptions:
    """Sets these values. A switch that is off overrides the command line."""
    off = {OPTIONS[name].field: OPTIONS[name].default for name, value in values.items() if value is False}
    given = {name: value for name, value in values.items() if value is not False}
    return replace(read_given(base, OPTIONS, given), **off)
