"""C identifiers for a model's tensors and layers: the user's names, shortened as long as they stay unique."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codegen.lower.stages import LoweredStage


_KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        "auto break case char const continue default do double else enum extern float for goto if inline int "
        "long register restrict return short signed sizeof static struct switch typedef union unsigned void "
        "volatile while asm bool true false "
        # C++ also includes the header, and GNU C defines the last ones.
        "alignas alignof and and_eq bitand bitor catch class compl concept const_cast constexpr "
        "decltype delete dynamic_cast explicit export friend mutable namespace new noexcept not "
        "not_eq nullptr operator or or_eq private protected public reinterpret_cast requires "
        "static_assert static_cast template this throw try typeid typename using virtual wchar_t "
        "xor xor_eq linux unix errno stdin stdout stderr",
    )
)
# Headers of the C library and compilers, and names of files and functions in firmware projects.
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


@dataclass(frozen=True)
class CNames:
    """The names of a model, its tensors and its layers in C."""

    model: str
    tensors: Mapping[str, str]
    layers: Sequence[str]


def c_identifier(name: str, fallback: str = "model") -> str:
    """Returns an identifier in lower case; long names keep their end, which is the most specific."""
    word = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    if len(word) > _LONGEST:
        word = word[-_LONGEST:].split("_", 1)[-1].strip("_")
    if not word:
        word = fallback
    if word[0].isdigit() or word in _KEYWORDS:
        word = f"{fallback}_{word}"
    return word


def is_c_name(word: str) -> bool:
    """Returns True if C accepts the text as an identifier."""
    return re.fullmatch(r"[A-Za-z_]\w*", word, re.ASCII) is not None and word not in _KEYWORDS


def model_identifier(name: str, headers: Collection[str]) -> str:
    """Returns a prefix for global names that is not the name of another library's header."""
    word = c_identifier(name)
    is_taken = word in _FILES or f"{word}.h" in headers or word.startswith(_RUNTIME)
    return f"model_{word}" if is_taken else word


def comment_text(text: str) -> str:
    """Converts a user's text to one line of ASCII that neither ends nor begins a C comment."""
    line = "".join(char if " " <= char <= "~" else "_" for char in text)
    return line.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?")  # ??/ is a backslash in C99


def without_position(origin: str) -> str:
    """Returns a layer's origin without the operator's number in its file, which other operators affect."""
    return re.sub(r" #\d+\b", "", origin, count=1)


def string_text(text: str) -> str:
    """Returns the text as the content of a C string literal in UTF-8."""
    plain = frozenset(map(chr, range(0x20, 0x7F))) - frozenset('"\\?')
    return "".join(
        chr(byte) if chr(byte) in plain else f"\\{byte:03o}" for byte in text.replace("\0", "_").encode()
    )


def unique_identifiers(names: Iterable[str], fallback: str) -> Mapping[str, str]:
    """Returns one identifier per name, numbered if two would be equal."""
    return numbered({name: c_identifier(name, fallback) for name in names}, set())


# Suffixes that the compiler appends to a user's name: a number by passes, the row form by conversions.
_FRESH, _VIEW = re.compile(r"#\d+"), "/view"
_FORM = re.compile(r"\.((?:pixels|planes)\w*)$")
# Layers whose functions are not named like their operators.
_KINDS = {"depthwise_conv2d": "depthwise", "relayout": "copy"}


def short_identifiers(names: Iterable[str], fallback: str, taken: Collection[str] = ()) -> Mapping[str, str]:
    """Returns one identifier per name: the part of its path before the operator.

    `functional_1/activation_6/Relu` becomes activation_6. If two would be equal, both get longer parts of
    their paths. Thus a new tensor does not rename others whose names differ from it.
    """
    choices = {name: list(dict.fromkeys(_spellings(name, fallback))) for name in names}
    chosen = dict.fromkeys(choices, 0)
    while True:
        found = {name: choices[name][number] for name, number in chosen.items()}
        count = Counter(found.values())
        clashing = [
            name
            for name, word in found.items()
            if (count[word] > 1 or word in taken) and chosen[name] + 1 < len(choices[name])
        ]
        if not clashing:
            return numbered(found, set(taken))
        for name in clashing:
            chosen[name] += 1


def _spellings(name: str, fallback: str) -> Iterable[str]:
    """Yields the identifiers of a name, the shortest first: a part of its path, then longer combinations."""
    first = _FRESH.sub("", name.split(";")[0]).removesuffix(_VIEW)
    form = _FORM.search(first)
    parts = [part for part in _FORM.sub("", first).split("/") if part]
    suffix = f"/{form[1]}" if form else ""
    for begin in range(len(parts) - 2, -1, -1):
        yield c_identifier("/".join(parts[begin:-1]) + suffix, fallback)
        yield c_identifier("/".join(parts[begin:]) + suffix, fallback)
    yield c_identifier("/".join(parts) + suffix, fallback)


def numbered(words: Mapping[str, str], taken: set[str]) -> Mapping[str, str]:
    """Returns the identifiers, numbered if they would be equal."""
    found: dict[str, str] = {}
    for name, base in words.items():
        word, count = base, 2
        while word in taken:
            word, count = f"{base}_{count}", count + 1
        taken.add(word)
        found[name] = word
    return found


def layer_labels(stages: Sequence[LoweredStage]) -> tuple[str, ...]:
    """Returns the name of each layer: the name of the value that it computes."""
    values = [_computed_by(stage) for stage in stages]
    words = short_identifiers(values, "layer")
    labels = numbered({str(number): words[value] for number, value in enumerate(values)}, set())
    return tuple(labels.values())


def _computed_by(stage: LoweredStage) -> str:
    """Returns the value of a layer. A copy has the same value as its source, so its tensor is returned."""
    return stage.result.value if stage.node is not None else stage.result.tensor


def layer_functions(
    stages: Sequence[LoweredStage], labels: Sequence[str], taken: Collection[str]
) -> tuple[str, ...]:
    """Returns the C function of each layer: operator and label, without repeated parts."""
    found = {}
    for number, (stage, label) in enumerate(zip(stages, labels, strict=True)):
        kind = c_identifier(_KINDS.get(stage.op, stage.op), "layer")
        first = kind.split("_")[0]
        name = label if first in label.split("_") else f"{kind}_{label}"
        # A single part may be a function of the C library, such as tanh.
        found[str(number)] = name if "_" in name and name not in taken else f"{name}_layer"
    return tuple(numbered(found, set(taken)).values())


RUN = "run"
RESET = "reset"  # for models with states
SAVE, RESTORE = "save_state", "restore_state"  # for models with states
PUSH_ROW = "push_row"  # for models with a streamed input
PUSH_ROWS = "push_rows"  # for models of one hop of a window
ENTRIES = (RUN, RESET, SAVE, RESTORE, PUSH_ROW, PUSH_ROWS)
