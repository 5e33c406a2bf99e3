"""Several texts of C in one file, each with its own names: a compiler starts and reads headers once for all.

The names of a text's structures and of its static functions and arrays get its number, and its macros end
with it. What is missed is declared twice, which no compiler takes.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

_MOST_TEXTS = 16
_MOST_CHARACTERS = 200_000  # then the header files are a small part of the work
_ATTRIBUTE = r"__attribute__ ?\(\(.*?\)\) ?"
_STATIC = re.compile(rf"^static (?:{_ATTRIBUTE}|[^=;([{{])*?\b(?!__)(\w+)(?=\(|\[| =|;)", re.MULTILINE)
_TAGGED = re.compile(r"^(?:struct|enum|union) (\w+)(?= \{)", re.MULTILINE)
_ENUM = re.compile(r"^enum \w+ \{\n((?: .*\n)+)\};", re.MULTILINE)
_ENUMERATOR = re.compile(r"^ +(\w+)", re.MULTILINE)
_MEMBERS = r"(?<=\{\n)(?: [^;{}\n]*;\n)+(?=\};)"
_MACRO = re.compile(r"^ *# *define (\w+)", re.MULTILINE)
_QUOTED = r'(?:\[\w+\] )?"(?:\\.|[^"\\\n])*"'  # with the name of an operand of inline assembly
_NUMBERS = r"(?<![\w.])-?\d[-\d, \n]{8,}"  # most of a text are weights: a run of them is one match
# Members of structures, what is in quotes, and what a macro joins with its argument stay as they are.
_NAME = re.compile(rf"{_NUMBERS}|{_QUOTED}|{_MEMBERS}|(?<![\w.>#])([A-Za-z_]\w*)\b(?!##)")
_TAG = re.compile(r"(?:(?<=struct )|(?<=enum )|(?<=union ))(\w+)\b")


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
    tags = frozenset(_TAGGED.findall(text))
    enumerators = (name for body in _ENUM.findall(text) for name in _ENUMERATOR.findall(body))
    named = _numbered(_NAME, text, frozenset((*_STATIC.findall(text), *enumerators)), number)
    return _numbered(_TAG, named, tags, number)


def _numbered(word: re.Pattern[str], text: str, names: frozenset[str], number: int) -> str:
    """The text with the number behind each of these names."""
    return word.sub(lambda found: f"{found[0]}_{number}" if found[1] in names else found[0], text)


def _end_of_macros(texts: Iterable[str]) -> str:
    names = dict.fromkeys(name for text in texts for name in _MACRO.findall(text))
    return "".join(f"#undef {name}\n" for name in names)
