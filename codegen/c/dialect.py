"""Dialects differ in where constants lie, in what compilers must know beyond C99, and in what follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from aot.target import Target


@dataclass(frozen=True, slots=True)
class Dialect:
    """All generated C holds where an `int` has 16 bits; these are the differences that remain."""

    standard: str  # the compiler's flag
    constant_space: str  # the address space of constants; empty where there is only one
    copy_constants: str  # the C library's memcpy for a source among the constants
    constants_header: str  # that declares it, beside string.h
    has_attributes: bool = True  # those of gcc and clang

    @property
    def constant(self) -> str:
        """The beginning of the type of a constant."""
        return f"const {self.constant_space} " if self.constant_space else "const "

    def aligned(self, bytes_: int) -> str:
        """The attribute of an array that begins at a multiple; without it, nobody reads it by words."""
        return f" __attribute__((aligned({bytes_})))" if self.has_attributes else ""


C99 = Dialect("-std=c99", "", "memcpy", "")
STRICT = Dialect("-std=c99", "", "memcpy", "", has_attributes=False)
# On AVR flash is not part of the data's address space: avr-gcc's __flash, with avr-libc's functions for it.
AVR = Dialect("-std=gnu99", "__flash", "memcpy_P", "avr/pgmspace.h")
DIALECTS: Mapping[str, Dialect] = MappingProxyType({d.constant_space: d for d in (C99, AVR)})


def dialect_of(target: Target, is_strict: bool) -> Dialect:
    return STRICT if is_strict else DIALECTS[target.constant_space]
