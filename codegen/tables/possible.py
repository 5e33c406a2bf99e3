"""Rejects options for which tables cannot run a model's kernels."""

from __future__ import annotations

from aot.errors import InputError
from codegen.options import CDialect, CompileOptions


def require_tables_possible(options: CompileOptions, constant_space: str) -> None:
    """Raises InputError if tables cannot run the model's kernels."""
    for is_so, what in (
        (bool(constant_space), f"constants of this core lie in {constant_space or 'flash'} and nowhere else"),
        (options.dialect is CDialect.STRICT, "standard C has no kernels for them"),
        (options.weights_external, "a table has its constants with it, which --weights external takes apart"),
        (bool(options.constants), "--constants says already where they lie"),
        (options.place, "--place puts some constants into RAM, and a table has its own with it"),
        (options.cores > 1, "a table runs kernels as a whole, and --cores 2 has halves of them"),
        (bool(options.accelerators), "accelerators compute layers by functions of their own"),
    ):
        if is_so:
            raise InputError(f"--tables is not possible: {what}", hint="leave --tables out")
