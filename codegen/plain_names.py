"""Names of a file's functions: the checksum that tells equal words apart becomes a counter.

A function that is written for its numbers is named by their checksum, so that it can be made without knowing
the others of its file. Who reads the file wants the operation, and which of several it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set

_CHECKSUM = re.compile(r"_[0-9a-f]{8}(?=_|$)")
_MARKED = re.compile(r"\b([A-Za-z]\w*?_[0-9a-f]{8})((?:_\w+)?)\b")


def plain_names(names: Iterable[str], taken: Set[str]) -> Mapping[str, str]:
    """For those with a checksum: the name without it, numbered where another has it already."""
    names = tuple(names)
    used = {*taken, *(name for name in names if not _CHECKSUM.search(name))}
    found: dict[str, str] = {}
    for name in names:
        base = _CHECKSUM.sub("", name)
        if base == name:
            continue
        plain, count = base, 2
        while plain in used:
            plain, count = f"{base}_{count}", count + 1
        used.add(plain)
        found[name] = plain
    return found


def renamed(text: str, plain: Mapping[str, str]) -> str:
    """C with these names; a table that is named after its function follows it."""

    def name_of(match: re.Match[str]) -> str:
        word, stem, rest = match[0], match[1], match[2]
        return plain[word] if word in plain else plain.get(stem, stem) + rest

    return _MARKED.sub(name_of, text) if plain else text
