"""Finds the files of the user's CMSIS-NN that a function needs, by the symbols that they define and use."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from codegen.kernels.kernel import CFile, CLibrary
from codegen.option_kinds import WrongValueError

_FUNCTIONS = "Include/arm_nnfunctions.h"
HINT = "git clone https://github.com/ARM-software/CMSIS-NN, and give that folder: cmsis-nn:path=CMSIS-NN"
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
# The library indents code in functions, and conditional includes.
_DEFINED = re.compile(r"^(?!#)(?:[\w*]+[ *]+)*?(arm_\w+)\([^;{]*\{", re.MULTILINE)
_TABLE = re.compile(r"^const \w+ (\w+)\[", re.MULTILINE)
_USED = re.compile(r"\b[a-z]\w+")
_INCLUDED = re.compile(r'^#include "(?:Internal/)?(\w+\.h)"', re.MULTILINE)
_REVISION = re.compile(r"\$Revision:\s*(\S+)")
_NOTICE = (
    "/* From CMSIS-NN. Changed by Solder in three ways: headers are included without a folder's name, the\n"
    "   compiler does not warn, and it optimizes as the library's own build has it do, but sums wrap. */\n"
)
_FASTEST = (
    "#if defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__) && !defined(__clang__)\n"
    '#pragma GCC optimize("O3")\n'
    "#endif\n"
    "#if defined(__GNUC__) && !defined(__clang__)\n"
    '#pragma GCC optimize("wrapv")\n'
    "#endif\n"
)
_SILENCE = "".join(
    f'#pragma GCC diagnostic ignored "{warning}"\n'
    for warning in ("-Wconversion", "-Wsign-conversion", "-Wunused-parameter", "-Wsign-compare")
)


@dataclass(frozen=True)
class CmsisNn:
    """The library in a folder: its files as text by name, and which file defines each function or table."""

    revision: str  # of its interface
    texts: Mapping[str, str]
    defined_in: Mapping[str, str]

    def require(self, function: str, op: str) -> None:
        """Raises WrongValueError if a function or one of its dependencies is missing."""
        if function not in self.defined_in:
            raise WrongValueError(
                f'"cmsis-nn": revision {self.revision} has no function {function}, which {op} needs', HINT
            )
        self.needed_for(function)

    def needed_for(self, function: str) -> tuple[str, ...]:
        """Returns the names of the files that a function needs, sorted."""
        found: set[str] = set()
        open_files = ["arm_nnfunctions.h", self.defined_in[function]]
        while open_files:
            name = open_files.pop()
            if name not in found:
                found.add(name)
                open_files += self._read_by(name)
        return tuple(sorted(found))

    def _read_by(self, name: str) -> Iterator[str]:
        text = self.texts[name]
        for header in _INCLUDED.findall(text):
            if header not in self.texts:
                raise WrongValueError(
                    f'"cmsis-nn": revision {self.revision} has no {header}, which its {name} includes', HINT
                )
            yield header
        if name.endswith(".c"):
            words = _USED.findall(_COMMENT.sub("", text))
            yield from (self.defined_in[word] for word in words if word in self.defined_in)


@cache
def cmsis_nn(folder: str) -> CmsisNn:
    """Reads the library. Raises WrongValueError if the folder has none."""
    path = Path(folder)
    if not (path / _FUNCTIONS).is_file():
        raise WrongValueError(f'"cmsis-nn": the folder "{folder}" has no {_FUNCTIONS}', HINT)
    found = sorted({*path.glob("Include/**/*.h"), *path.glob("Source/**/*.[ch]")})
    texts = {each.name: each.read_text(encoding="utf-8", errors="replace") for each in found}
    integers = {name: text for name, text in texts.items() if not re.search(r"_(f16|f32|flt)\.c$", name)}
    defined = {
        symbol: name
        for name, text in integers.items()
        if name.endswith(".c")
        for pattern in (_DEFINED, _TABLE)
        for symbol in pattern.findall(_COMMENT.sub("", text))
    }
    revision = _REVISION.search(texts["arm_nnfunctions.h"])
    return CmsisNn(revision[1] if revision else "of no revision", integers, defined)


@cache
def library(folder: str, name: str, function: str, code_bytes: int) -> CLibrary:
    """Returns the C files for a call: our wrapper function, and the library files that it needs."""
    found = cmsis_nn(folder)
    needed = found.needed_for(function)
    says = f"/* CMSIS-NN {found.revision}, sha256 of the files taken: {_hash(found, needed)} */\n"
    return CLibrary(
        CFile(f"{name}.h", says + _own(f"{name}.h")),
        (
            CFile(f"{name}.c", _own(f"{name}.c")),
            *(CFile(each, _changed(found.texts[each])) for each in needed),
        ),
        code_bytes=code_bytes,
    )


def _hash(found: CmsisNn, names: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for name in names:
        digest.update(f"{name}\0{found.texts[name]}\0".encode())
    return digest.hexdigest()


def _changed(text: str) -> str:
    flat = re.sub(r'(#include ")Internal/', r"\1", text)
    return _NOTICE + _SILENCE + _FASTEST + flat


def _own(name: str) -> str:
    return files("extensions.cmsis_nn").joinpath(name).read_text(encoding="utf-8")
