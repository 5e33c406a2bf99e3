"""Words that begin between their own addresses: not every core, or not every system on it, reads them."""

from __future__ import annotations

from aot.target import Feature
from codegen.kernels.kernel import Site
from codegen.kernels.schedule import Condition

_WORD = 4  # elements of a byte; of wider ones fewer would do


def _finds_words(site: Site) -> bool:
    """True where every pixel begins at a word, or need not."""
    return site.target.has(Feature.UNALIGNED) or site.input(0).shape[-1] % _WORD == 0


FINDS_WORDS = Condition("channels in fours where words are read at their own addresses", _finds_words)
