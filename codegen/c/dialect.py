"""Compiler dialects: the memory of constants, and requirements on compilers beyond C99."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from aot.target import Target


@dataclass(frozen=True, slots=True)
class Dialect:
    """The remaining differences between compilers. All generated C also works if `int` has 16 bits."""

    standard: str  # the compiler's flag
    constant_space: str  # the address space of constants; empty if there is only one
    copy_constants: str  # the C library's memcpy from constants
    constants_header: str  # that declares it, in addition to string.h
    has_attributes: bool = True  # of gcc and clang

    @property
    def constant(self) -> str:
        """Returns the prefix of a constant's type."""
        return f"const {self.constant_space} " if self.constant_space else "const "

    def aligned(self, bytes_: int) -> str:
        """Returns the attribute that aligns an array. Without it, kernels make no 32-bit loads from bytes."""
        return f" __attribute__((aligned({bytes_})))" if self.has_attributes else ""


C99 = Dialect("-std=c99", "", "memcpy", "")
STRICT = Dialect("-std=c99", "", "memcpy", "", has_attributes=False)
# On AVR, flash has a separate address space: avr-gcc's __flash, with avr-libc's functions for it.
AVR = Dialect("-std=gnu99", "__flash", "memcpy_P", "avr/pgmspace.h")
DIALECTS: Mapping[str, Dialect] = MappingProxyType({d.constant_space: d for d in (C99, AVR)})


def dialect_of(target: Target, is_strict: bool) -> Dialect:
    return STRICT if is_strict else DIALECTS[target.constant_space]
