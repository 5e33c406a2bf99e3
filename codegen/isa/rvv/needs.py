"""The needs of all code for RISC-V's vectors: the core's, and the compiler's header with their C types."""

from __future__ import annotations

from aot.target import Feature

NEEDS = frozenset({Feature.VECTORS})
INCLUDES = ("riscv_vector.h",)
