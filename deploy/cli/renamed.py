"""Former names of options by command, used to answer old command lines with the new name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

RENAMED_FLAGS: Mapping[str, Mapping[str, str]] = {
    "bench": {"--against": "--baseline", "--repeat": "--median-of"},
    "boards": {"--flash": "--min-flash", "--platform": "--has-platform", "--ram": "--min-ram"},
    "evidence": {"--against": "--baseline"},
    "export": {"--version": "--package-version"},
    "farm": {"--port": "--listen-port"},
    "new": {"--labels": "--class-names"},
    "quantize": {"--activations": "--activation-type", "--io": "--io-type", "--weights": "--weight-type"},
    "run": {"--cartridge": "--load"},
    "tune": {"--repeat": "--median-of"},
}


def new_flag(prog: str, flag: str) -> str | None:
    """Returns the new name of a flag that was renamed in a command ("deploy quantize"), or None."""
    return RENAMED_FLAGS.get([*prog.split(), ""][1], {}).get(flag)


def renamed(**keywords: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Makes a function answer renamed keywords with a TypeError that contains the new name."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*arguments: P.args, **given: P.kwargs) -> R:
            for old, new in keywords.items():
                if old in given:
                    name = getattr(function, "__name__", "")
                    raise TypeError(f"{name}() has no argument {old!r}: it is now {new!r}")
            return function(*arguments, **given)

        return call

    return decorate
