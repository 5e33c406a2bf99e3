"""Rejects placements and alignments of constants that standard C cannot express."""

from __future__ import annotations

from aot.errors import InputError
from aot.target import Target
from codegen.c.constants import Constants

_WAY_OUT = "leave --dialect strict out"


def require_standard(constants: Constants, target: Target) -> None:
    """Raises InputError if the constants need language extensions beyond C99."""
    if target.constant_space:
        raise InputError(
            f"standard C has no word for {target.constant_space}, where {target.core} keeps constants",
            hint=_WAY_OUT,
        )
    if constants.regions:
        region = next(iter(constants.regions.values()))
        raise InputError(
            f"standard C has no word for the memory {region}, where some constants shall lie",
            hint=f"{_WAY_OUT}, or --constants",
        )
    if constants.aligns:
        name, bytes_ = next(iter(constants.aligns.items()))
        raise InputError(
            f"standard C has no word for constants at multiples of {bytes_} bytes, as {name} needs them",
            hint=f"{_WAY_OUT}, or --accelerator",
        )
