"""Reads the options after an accelerator's name: --accelerator NAME:option=value,other=value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aot.errors import did_you_mean
from codegen.accelerators.accelerator import AcceleratorOption
from codegen.option_kinds import WrongValueError


def read_settings(device: str, options: Sequence[AcceleratorOption], words: str) -> Mapping[str, Any]:
    """Returns the value of each option. Raises WrongValueError for an unknown option or a wrong value."""
    known = {option.name: option for option in options}
    found: dict[str, Any] = {}
    for word in words.split(",") if words else ():
        name, separator, value = word.partition("=")
        if name not in known:
            raise WrongValueError(
                f'"{device}:{words}": {device} has no option "{name}"{did_you_mean(name, known)}',
                f"it has {_describe(options)}",
            )
        if not separator:
            raise WrongValueError(
                f'"{device}:{words}": "{name}" has no value', f"it has {_describe(options)}"
            )
        if name in found:
            raise WrongValueError(f'"{device}:{words}": "{name}" is given twice')
        found[name] = _read(device, words, known[name], value)
    return {option.name: found.get(option.name, option.default) for option in options}


def _read(device: str, words: str, option: AcceleratorOption, value: str) -> Any:
    try:
        return option.kind.read(value)
    except WrongValueError as error:
        raise WrongValueError(f'"{device}:{words}": {option.name} {error.what}', error.hint) from None


def _describe(options: Sequence[AcceleratorOption]) -> str:
    return ", ".join(f"{option.name}={option.kind.metavar}" for option in options) or "none"
