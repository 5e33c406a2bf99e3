"""A C function written by hand that computes a layer, and the files that it comes in.

It is called as a generated kernel is: with a pointer for each parameter of the kernel's proc, in their order,
and, where it has numbers, with a pointer to a constant `struct <name>_shape` whose members they are. Its
header declares both. What it computes is what the op's reference says.
"""

from __future__ import annotations

from dataclasses import dataclass

from aot.target import Feature


@dataclass(frozen=True, slots=True)
class CFile:
    name: str  # "vanilla.c": beside the model's own, so no model may have a file of this name
    text: str


@dataclass(frozen=True, slots=True)
class CLibrary:
    """C files that every model which calls their functions comes with."""

    header: CFile
    sources: tuple[CFile, ...]
    code_bytes: int = 0  # compiled, about
    needs: frozenset[Feature] = frozenset()  # of the core
    c_headers: tuple[str, ...] = ()  # of the C library, that its files include: math.h

    @property
    def files(self) -> tuple[CFile, ...]:
        return (self.header, *self.sources)


@dataclass(frozen=True, slots=True)
class CFunction:
    name: str
    library: CLibrary
    numbers: tuple[tuple[str, int], ...] = ()  # members of its shape, each an int32_t
    stack_bytes: int = 0
