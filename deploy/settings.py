"""From arguments of the command line to the compiler's options."""

from __future__ import annotations

import argparse
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import TypeVar

from aot.errors import InputError, did_you_mean
from aot.frontend.given import Given
from aot.plan.model import Pool
from aot.target import Optimize
from codegen.model import CompileOptions, ConstantRule, Rounding
from codegen.tuning_records import TuningRecord, read_records

Choice = TypeVar("Choice", bound=Enum)


def compile_options(arguments: argparse.Namespace) -> CompileOptions:
    """What deploy.options.add_compile_options added."""
    return replace(
        make_options(arguments.optimize, arguments.rounding, arguments.ram),
        exact=arguments.exact,
        constants=tuple(ConstantRule(layers, region) for layers, region in arguments.constants),
        pools=tuple(Pool(name, limit) for name, limit in arguments.pool),
        stream=arguments.stream,
        io_apart=arguments.io == "caller",
        given=Given(dict(arguments.shape), dict(arguments.value)),
    )


def tuning_records(arguments: argparse.Namespace) -> tuple[TuningRecord, ...]:
    """What deploy.options.add_tuning_records added."""
    path: Path | None = arguments.tuning_records
    return read_records(path) if path is not None else ()


def make_options(optimize: str, rounding: str, ram_bytes: int | None) -> CompileOptions:
    return CompileOptions(
        optimize=chosen(Optimize, "optimize", optimize),
        rounding=chosen(Rounding, "rounding", rounding),
        ram_bytes=ram_bytes,
    )


def chosen(choices: type[Choice], option: str, value: str) -> Choice:
    """The command line lets only these through; a program may ask for anything."""
    known = [choice.value for choice in choices]
    if value not in known:
        raise InputError(
            f'{option} "{value}" is not known{did_you_mean(value, known)}', hint=f"known: {', '.join(known)}"
        )
    return choices(value)
