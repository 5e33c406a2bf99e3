"""A hand-written C function that computes a layer, and its files.

It is called like a generated kernel: with a pointer for each parameter of the kernel's proc, in order. If it
has numbers, a pointer to a constant `struct <name>_shape` with these members follows. Its header declares
both. It must compute the result of the op's reference.
"""

from __future__ import annotations

from dataclasses import dataclass

from aot.target import Feature


@dataclass(frozen=True, slots=True)
class CFile:
    name: str  # such as "vanilla.c"; no file of a model may have the same name
    text: str


@dataclass(frozen=True, slots=True)
class CLibrary:
    """C files that are added to every model that calls their functions."""

    header: CFile
    sources: tuple[CFile, ...]
    code_bytes: int = 0  # compiled size, approximate
    needs: frozenset[Feature] = frozenset()  # features of the core
    c_headers: tuple[str, ...] = ()  # standard headers that its files include, such as math.h

    @property
    def files(self) -> tuple[CFile, ...]:
        return (self.header, *self.sources)


@dataclass(frozen=True, slots=True)
class CFunction:
    name: str
    library: CLibrary
    numbers: tuple[tuple[str, int], ...] = ()  # members of its shape, each an int32_t
    stack_bytes: int = 0
