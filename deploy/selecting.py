"""Selects the tuning records for a target and for the compiler that builds for it here."""

from __future__ import annotations

from aot.errors import ToolError
from aot.target import Target
from codegen.kernels.tuning_records import Selection, read_records, select
from codegen.options import CompileOptions
from platforms.toolchains import find_toolchain


def select_records(options: CompileOptions, target: Target) -> Selection | None:
    """Selects the records for the target; None where no records are given."""
    if options.tuning_records is None:
        return None
    return select(read_records(options.tuning_records), target.core, _compiler(target), options.optimize)


def _compiler(target: Target) -> str:
    """The compiler that a build here would use; records of another one do not count."""
    try:
        return str(find_toolchain(target))
    except ToolError:
        return ""
