"""Selects tuning records for a target and the local compiler for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aot.errors import ToolError
from aot.target import Target
from codegen.options import CompileOptions

if TYPE_CHECKING:
    from codegen.kernels.tuning_records import Selection


def select_records(options: CompileOptions, target: Target) -> Selection | None:
    """Selects the records for the target, or returns None if no records are given."""
    if options.tuning_records is None:
        return None
    from codegen.kernels.tuning_records import read_records, select

    return select(read_records(options.tuning_records), target.core, _compiler(target), options.optimize)


def _compiler(target: Target) -> str:
    """Returns the compiler that a local build uses; records of other compilers do not apply."""
    from platforms.toolchains import find_toolchain

    try:
        return str(find_toolchain(target))
    except ToolError:
        return ""
