"""Cores with unaligned 32-bit access: four bytes can be loaded at once from any address."""

from __future__ import annotations

from dataclasses import replace

from aot.target import Feature
from codegen.isa.isa import Isa
from codegen.isa.plain.scalar_math import ScalarMath
from codegen.isa.unaligned.flipped_bytes import flipped_bytes


def with_words(math: ScalarMath) -> ScalarMath:
    """Returns the functions with 32-bit versions where available."""
    return replace(math, flipped_bytes=flipped_bytes)


ISA = Isa("unaligned", frozenset({Feature.UNALIGNED}), math=with_words, is_standard_c=True)
