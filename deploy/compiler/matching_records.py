"""Selects the tuning records for a target and for the compiler that builds for it here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aot.errors import ToolError
from aot.target import Target
from codegen.options import CompileOptions

if TYPE_CHECKING:
    from codegen.kernels.tuning_records import Selection


def select_records(options: CompileOptions, target: Target) -> Selection | None:
    """Selects the records for the target; None where no records are given."""
    if options.tuning_records is None:
        return None
    from codegen.kernels.tuning_records import read_records, select

    return select(read_records(options.tuning_records), target.core, _compiler(target), options.optimize)


def _compiler(target: Target) -> str:
    """The compiler that a build here would use; records of another one do not count."""
    from platforms.toolchains import find_toolchain

    try:
        return str(find_toolchain(target))
    except ToolError:
        return ""
