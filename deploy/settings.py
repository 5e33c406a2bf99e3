"""From arguments of the command line to the compiler's options."""

from __future__ import annotations

import argparse
from dataclasses import replace

from aot.target import Optimize
from codegen.model import CompileOptions, Rounding


def compile_options(arguments: argparse.Namespace) -> CompileOptions:
    """What deploy.options.add_compile_options added."""
    return replace(
        make_options(arguments.optimize, arguments.rounding, arguments.ram), stream=arguments.stream
    )


def make_options(optimize: str, rounding: str, ram_bytes: int | None) -> CompileOptions:
    return CompileOptions(optimize=Optimize(optimize), rounding=Rounding(rounding), ram_bytes=ram_bytes)
