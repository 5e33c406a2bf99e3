"""Parses the functions and constants of generated C, and the references between them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from aot.ir.types import Array, DType

_ATTRIBUTE = re.compile(r"__attribute__\(\((?:[^()]|\([^()]*\))*\)\)")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
# The printer starts definitions and closes function bodies in the first column.
_FUNCTION = re.compile(r"^[a-z][^;{}=#]*?\b(\w+)\([^;{}]*\)\s*\{(.*?)^\}", re.DOTALL | re.MULTILINE)
_CONSTANT = re.compile(
    r"^CONSTANT(?:_IN\(\w+\))? +const (?:__flash )?(\w+) (\w+)\[(\d+)\] = \{([^}]*)\}", re.MULTILINE
)
_WORD = re.compile(r"\b[A-Za-z_]\w*\b")
_NUMBERS = {"INT64_MIN": -(2**63), "NAN": np.nan, "INFINITY": np.inf, "-INFINITY": -np.inf}
_ENDS = "fuUL"  # type suffixes of numbers
_TYPES = {each.c_name: each.numpy for each in DType if each is not DType.BOOL}  # a bool is uint8_t in C


@dataclass(frozen=True)
class CFunctions:
    names: Mapping[str, frozenset[str]]  # function -> identifiers in its body
    texts: Mapping[str, str]  # function -> its head and body, without comments

    def below(self, entry: str) -> frozenset[str]:
        """Returns `entry` and all functions that it references directly or indirectly."""
        found, waiting = set(), [entry]
        while waiting:
            name = waiting.pop()
            if name in self.names and name not in found:
                found.add(name)
                waiting += self.names[name]
        return frozenset(found)

    def words(self, functions: frozenset[str]) -> frozenset[str]:
        return frozenset().union(*(self.names[name] for name in functions))


@dataclass(frozen=True, slots=True)
class CConstant:
    """A constant array defined in the text."""

    bytes: int
    sha256: str  # of its bytes in little-endian memory


def functions_of(text: str) -> CFunctions:
    found = list(_FUNCTION.finditer(without_comments(text)))
    names = {each[1]: frozenset(_WORD.findall(each[2])) for each in found}
    return CFunctions(names, {each[1]: each[0] for each in found})


def constants_of(text: str) -> Mapping[str, CConstant]:
    """Returns the constant arrays defined in the text."""
    found = _CONSTANT.findall(without_comments(text))
    return {name: _constant(kind, int(count), numbers) for kind, name, count, numbers in found}


def without_constants(text: str) -> str:
    """Removes comments, and the numbers of constant arrays."""
    return _CONSTANT.sub(r"CONSTANT const \1 \2[\3]", without_comments(text))


def without_comments(text: str) -> str:
    """Removes comments and attributes."""
    return _ATTRIBUTE.sub("", _COMMENT.sub("", text))


def sha256_of(data: Array) -> str:
    """Returns the hash of an array's bytes in little-endian order."""
    return hashlib.sha256(data.astype(data.dtype.newbyteorder("<")).tobytes()).hexdigest()


def _constant(kind: str, count: int, numbers: str) -> CConstant:
    """Parses a constant. As in C, missing numbers are zero."""
    dtype = _TYPES[kind]
    given = [_number(each) for each in numbers.split(",") if each.strip()]
    data = np.zeros(count, dtype)
    data[: len(given)] = np.array(given, dtype)
    return CConstant(data.nbytes, sha256_of(data))


def _number(text: str) -> int | float:
    word = text.strip()
    if word in _NUMBERS:
        return _NUMBERS[word]
    bare = word.rstrip(_ENDS)
    return int(bare) if bare.lstrip("-").isdigit() else float(bare)
