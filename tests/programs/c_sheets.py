"""Several texts of C in one file, each with its own names: a compiler starts and reads headers once for all.

The names of a text's structures and of its static functions and arrays get its number, and its macros end
with it. What is missed is declared twice, which no compiler takes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

_MOST_TEXTS = 16
_MOST_CHARACTERS = 200_000  # then the header files are a small part of the work
_ATTRIBUTE = r"__attribute__ ?\(\(.*?\)\) ?"
_STATIC = re.compile(rf"^static (?:{_ATTRIBUTE}|[^=;([{{])*?\b(?!__)(\w+)(?=\(|\[| =|;)", re.MULTILINE)
_STRUCT = re.compile(r"^struct (\w+)(?= \{)", re.MULTILINE)
_MEMBERS = r"(?<=\{\n)(?: [^;{}\n]*;\n)+(?=\};)"
_MACRO = re.compile(r"^ *# *define (\w+)", re.MULTILINE)
_QUOTED = r'(?:\[\w+\] )?"(?:\\.|[^"\\\n])*"'  # with the name of an operand of inline assembly


def sheets(texts: Sequence[str], files: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """The texts in as few files as make sense. `files` are those that each text includes: sources are
    written into it, headers stay files."""
    sheet: list[str] = []
    for number, (text, included) in enumerate(zip(texts, files, strict=True)):
        whole = _with_sources(text, included)
        if sheet and (len(sheet) == _MOST_TEXTS or sum(map(len, sheet)) + len(whole) > _MOST_CHARACTERS):
            yield "".join(sheet)
            sheet = []
        sheet.append(_with_own_names(whole, number) + _end_of_macros((whole, *included.values())))
    if sheet:
        yield "".join(sheet)


def _with_sources(text: str, files: Mapping[str, str]) -> str:
    for name, source in files.items():
        if not name.endswith(".h"):
            text = text.replace(f'#include "{name}"\n', source)
    return text


def _with_own_names(text: str, number: int) -> str:
    """Members of structures, what is in quotes, and what a macro joins with its argument stay as they are."""
    kept = rf"{_QUOTED}|{_MEMBERS}"
    named = _numbered(text, _STATIC.findall(text), number, rf"{kept}|(?<![\w.>#])(%s)\b(?!##)")
    return _numbered(named, _STRUCT.findall(text), number, r"(?<=struct )(%s)\b")


def _numbered(text: str, names: Iterable[str], number: int, pattern: str) -> str:
    every = "|".join(sorted(set(names)))
    if not every:
        return text
    return re.sub(pattern % every, lambda found: f"{found[0]}_{number}" if found[1] else found[0], text)


def _end_of_macros(texts: Iterable[str]) -> str:
    names = dict.fromkeys(name for text in texts for name in _MACRO.findall(text))
    return "".join(f"#undef {name}\n" for name in names)
