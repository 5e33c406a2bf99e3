"""Unaligned 32-bit loads, which not every core, or not every system around it, supports."""

from __future__ import annotations

from aot.target import Feature
from codegen.kernels.kernel import Site
from codegen.kernels.schedule import Condition

_WORD = 4  # int8 elements; wider ones would need fewer


def _finds_words(site: Site) -> bool:
    """Returns True if every pixel is aligned to 4 bytes, or need not be."""
    return site.target.has(Feature.UNALIGNED) or site.input(0).shape[-1] % _WORD == 0


FINDS_WORDS = Condition("channels in fours where words are read at their own addresses", _finds_words)
