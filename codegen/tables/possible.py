"""Rejects options for which tables cannot run a model's kernels."""

from __future__ import annotations

from aot.errors import InputError
from codegen.options import CDialect, CompileOptions


def require_tables_possible(options: CompileOptions, constant_space: str) -> None:
    """Raises InputError if tables cannot run the model's kernels."""
    for is_so, what in (
        (bool(constant_space), f"constants of this core must be in {constant_space or 'flash'}"),
        (options.dialect is CDialect.STRICT, "strict C has no table kernels"),
        (options.weights_external, "a table contains its constants, which --weights external separates"),
        (bool(options.constants), "--constants already places them"),
        (options.place, "--place moves constants to RAM, but a table contains them"),
        (options.cores > 1, "a table runs whole kernels, and --cores 2 splits them"),
        (bool(options.accelerators), "accelerators compute layers with their own functions"),
    ):
        if is_so:
            raise InputError(f"--tables is not possible: {what}", hint="omit --tables")
