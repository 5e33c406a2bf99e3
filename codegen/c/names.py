"""C identifiers for what a model calls its tensors and layers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

_KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        "auto break case char const continue default do double else enum extern float for goto if inline int "
        "long register restrict return short signed sizeof static struct switch typedef union unsigned void "
        "volatile while asm bool true false "
        # C++ includes the header, too, and GNU C defines the last ones.
        "alignas alignof and and_eq bitand bitor catch class compl concept const_cast constexpr "
        "decltype delete dynamic_cast explicit export friend mutable namespace new noexcept not "
        "not_eq nullptr operator or or_eq private protected public reinterpret_cast requires "
        "static_assert static_cast template this throw try typeid typename using virtual wchar_t "
        "xor xor_eq linux unix errno stdin stdout stderr",
    )
)
# Headers of the C library and of compilers, and what firmware projects call their files and functions.
_FILES = frozenset(
    re.findall(
        r"\w+",
        "arm_acle assert board complex ctype errno fault fenv float inttypes iso646 "
        "limits locale main math models port run setjmp signal standalone startup stdalign stdarg "
        "stdatomic stdbool stddef stdint stdio stdlib string tgmath threads time uart wchar "
        "wctype",
    )
)
_RUNTIME = "solder"
_LONGEST = 40


def c_identifier(name: str, fallback: str = "model") -> str:
    """Lower case, letters, digits and underscores; the end of a long name, which tells most."""
    word = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    if len(word) > _LONGEST:
        word = word[-_LONGEST:].split("_", 1)[-1].strip("_")
    if not word:
        word = fallback
    if word[0].isdigit() or word in _KEYWORDS:
        word = f"{fallback}_{word}"
    return word


def is_c_name(word: str) -> bool:
    """True where C takes the word as a name as it is."""
    return re.fullmatch(r"[A-Za-z_]\w*", word, re.ASCII) is not None and word not in _KEYWORDS


def model_identifier(name: str, headers: Collection[str]) -> str:
    """An identifier that global names can begin with, and that is the name of no header of others."""
    word = c_identifier(name)
    is_taken = word in _FILES or f"{word}.h" in headers or word.startswith(_RUNTIME)
    return f"model_{word}" if is_taken else word


def comment_text(text: str) -> str:
    """Makes one line of ASCII of a user's text, which neither ends nor begins a C comment."""
    line = "".join(char if " " <= char <= "~" else "_" for char in text)
    return line.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")  # ??/ is a backslash in C99


def string_text(text: str) -> str:
    """The text between the quotes of a C string literal that holds it as UTF-8."""
    plain = frozenset(map(chr, range(0x20, 0x7F))) - frozenset('"\\?')
    return "".join(
        chr(byte) if chr(byte) in plain else f"\\{byte:03o}" for byte in text.replace("\0", "_").encode()
    )


def unique_identifiers(names: Iterable[str], fallback: str) -> Mapping[str, str]:
    """One identifier per name, numbered where two would be the same."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        word = base = c_identifier(name, fallback)
        count = 2
        while word in taken:
            word, count = f"{base}_{count}", count + 1
        taken.add(word)
        found[name] = word
    return found
