"""Rejects placements and alignments of constants that standard C cannot express."""

from __future__ import annotations

from aot.errors import InputError
from aot.target import Target
from codegen.c.constants import Constants

_HINT = "omit --dialect strict"


def require_standard(constants: Constants, target: Target) -> None:
    """Raises InputError if the constants need language extensions beyond C99."""
    if target.constant_space:
        raise InputError(
            f"--dialect strict: standard C cannot place constants in {target.constant_space}, where "
            f"{target.core} keeps them",
            hint=_HINT,
        )
    if constants.regions:
        region = next(iter(constants.regions.values()))
        raise InputError(
            f"--dialect strict: standard C cannot place constants in {region}",
            hint=f"{_HINT}, or --constants",
        )
    if constants.aligns:
        name, bytes_ = next(iter(constants.aligns.items()))
        raise InputError(
            f"--dialect strict: standard C cannot align constants to {bytes_} bytes, as {name} needs",
            hint=f"{_HINT}, or --accelerator",
        )
