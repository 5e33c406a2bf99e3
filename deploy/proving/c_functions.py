"""The functions and constants of generated C, and which function names which: read from the printed text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from aot.ir.types import DType

_ATTRIBUTE = re.compile(r"__attribute__\(\((?:[^()]|\([^()]*\))*\)\)")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
# The printer begins a definition in the first column and closes its body by a brace there.
_FUNCTION = re.compile(r"^[a-z][^;{}=#]*?\b(\w+)\([^;{}]*\)\s*\{(.*?)^\}", re.DOTALL | re.MULTILINE)
_CONSTANT = re.compile(r"^CONSTANT(?:_IN\(\w+\))? +const (?:__flash )?(\w+) (\w+)\[(\d+)\]", re.MULTILINE)
_WORD = re.compile(r"\b[A-Za-z_]\w*\b")


@dataclass(frozen=True)
class CFunctions:
    names: Mapping[str, frozenset[str]]  # function -> the words in its body

    def below(self, entry: str) -> frozenset[str]:
        """The functions that `entry` names, those that these name, and so on; itself included."""
        found, waiting = set(), [entry]
        while waiting:
            name = waiting.pop()
            if name in self.names and name not in found:
                found.add(name)
                waiting += self.names[name]
        return frozenset(found)

    def words(self, functions: frozenset[str]) -> frozenset[str]:
        return frozenset().union(*(self.names[name] for name in functions))


def functions_of(text: str) -> CFunctions:
    found = _FUNCTION.findall(_plain(text))
    return CFunctions({name: frozenset(_WORD.findall(body)) for name, body in found})


def constants_of(text: str) -> Mapping[str, int]:
    """The constant arrays that the text defines, and their bytes."""
    bytes_of = {each.c_name: each.bytes for each in DType}
    return {name: bytes_of[kind] * int(count) for kind, name, count in _CONSTANT.findall(_plain(text))}


def _plain(text: str) -> str:
    return _ATTRIBUTE.sub("", _COMMENT.sub("", text))
