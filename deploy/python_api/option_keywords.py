"""Shows options as keywords of the Python functions that accept them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection
from typing import Any, ParamSpec, TypeVar

from codegen.option_entry import Option, UnknownOptionError
from codegen.options import OPTIONS
from deploy.devices.connection_options import LINE
from deploy.inputs.input_options import DATA
from platforms.channels.package import PACKAGE

P = ParamSpec("P")
R = TypeVar("R")
READING = tuple(name for name, option in OPTIONS.items() if option.reads_model)
NOT_FOR_TUNING = ("tuning_records",)  # tuning creates them
TUNING = tuple(name for name in OPTIONS if name not in NOT_FOR_TUNING)


def accepts_options(names: Collection[str] = OPTIONS) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Makes help() and editors show the options of a function with `**options`.

    Errors about an unknown keyword then name the function's own parameters, too.
    """
    options = [{**OPTIONS, **DATA, **LINE, **PACKAGE}[name] for name in names]

    def show(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        own = [each for each in signature.parameters.values() if each.kind is not each.VAR_KEYWORD]

        @functools.wraps(function)
        def call(*arguments: P.args, **given: P.kwargs) -> R:
            try:
                return function(*arguments, **given)
            except UnknownOptionError as error:
                if error.name not in given:  # of a call inside
                    raise
                names = dict.fromkeys([*(each.name for each in own), *error.known])
                raise UnknownOptionError(error.name, names) from None

        shown: Any = call
        shown.__signature__ = signature.replace(parameters=[*own, *map(_parameter, options)])
        lines = "\n".join(map(_line, options))
        shown.__doc__ = f"{inspect.getdoc(function)}\n\nOptions, as on the command line:\n{lines}"
        return call

    return show


def _line(option: Option) -> str:
    form = option.kind.metavar or "True"
    return f"    {option.name}: {form}{', or several' if option.kind.is_repeated else ''}: {option.help}"


def _parameter(option: Option) -> inspect.Parameter:
    """Returns a keyword parameter. None means not given: the default or the loaded model's value applies."""
    return inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=None)
