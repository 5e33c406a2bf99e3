"""Cores that read words at any address: bytes can be taken four at a time, wherever they begin."""

from __future__ import annotations

from dataclasses import replace

from aot.target import Feature
from codegen.isa.isa import Isa
from codegen.isa.plain.scalar_math import ScalarMath
from codegen.isa.unaligned.flipped_bytes import flipped_bytes


def with_words(math: ScalarMath) -> ScalarMath:
    """Returns the functions with those that work by words."""
    return replace(math, flipped_bytes=flipped_bytes)


ISA = Isa("unaligned", frozenset({Feature.UNALIGNED}), math=with_words, is_standard_c=True)
