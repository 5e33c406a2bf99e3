"""Requirements of all code for RISC-V vectors: features of the core, and the header of the C types."""

from __future__ import annotations

from aot.target import Feature

NEEDS = frozenset({Feature.VECTORS})
INCLUDES = ("riscv_vector.h",)
