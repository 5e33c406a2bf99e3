"""Parses targets without a board: cortex-m4+fpu,ram=256K, or the options of gcc, LLVM or TVM."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aot.errors import BoardError, did_you_mean
from aot.target import Feature, MemoryRegion
from boards.cores import Core, core_called, core_names
from codegen.option_kinds import WrongValueError, read_size

if TYPE_CHECKING:
    from boards.board import Board

FORM = "CORE[+FEATURE...][,ram=SIZE][,flash=SIZE]"
_LIBRARY = "for a library: --target CORE --accelerator cmsis-nn:path=FOLDER"
_REASON = "it is a target without a board"
_ORIGINS = {"ram": 0x20000000, "flash": 0}  # for memories given by size only
# Compiler names of features, if they differ from ours.
_FEATURES: Mapping[str, tuple[str, ...]] = {
    "fp": ("fpu",),
    "fp16": ("fpu",),
    "fp64": ("fpu",),
    "vfp4": ("fpu",),
    "vfp4d16sp": ("fpu",),
    "fp-armv8d16": ("fpu",),
    "fp-armv8d16sp": ("fpu",),
    "mve.fp": ("mve", "fpu"),
}
_WITH_FPU = re.compile(r"(cortex-m\d+)f")
_FLOAT_ABI = {"hard": "+fpu", "softfp": "+fpu", "soft": ""}
# Options without information about the core: TVM's for code generation, and Arm's -march.
_NO_CORE = re.compile(
    r"c|-(keys|device|model|runtime|executor)=.*|--?(system-lib|link-params)(=.*)?|-march=armv.*"
)
_COMPILER_WORD = re.compile(r"-(mcpu|march|mattr|mfpu|mfloat-abi)=(.+)|-(mthumb)")


@dataclass
class _Said:
    """Facts collected while parsing."""

    text: str
    core: str = ""
    features: set[str] = field(default_factory=set)
    without: set[str] = field(default_factory=set)
    sizes: dict[str, int] = field(default_factory=dict)

    def wrong(self, what: str, hint: str = FORM) -> BoardError:
        return BoardError(what, f"in the target {self.text}", hint)


def is_target(board: Board) -> bool:
    """Returns whether read_target made this board from a text."""
    return board.reason == _REASON


def read_target(text: str) -> Board:
    """Returns a board with only a core, features and memory sizes.

    It has the named features and those of every such core. If a memory size is missing, the compiler skips
    the check that the model fits. Raises BoardError.
    """
    from boards.board import Board, BoardStatus

    said = _Said(text)
    for word in text.split():
        if not _NO_CORE.fullmatch(word):
            _read_word(word, said)
    if not said.core:
        raise said.wrong("the target has no core", f"{FORM}\ncores: {', '.join(core_names())}")
    core = core_called(said.core, f"in the target {text}")
    features = core.has | _chosen(core, said)
    regions = tuple(
        MemoryRegion(role.upper(), _ORIGINS[role], size, role) for role, size in said.sizes.items()
    )
    optional = [f"+{name}" for name in sorted(features - core.has)]
    sizes = [f",{role}={_size_text(size)}" for role, size in said.sizes.items()]
    return Board(
        name="".join([core.name, *optional, *sizes]),
        title=f"a {core.name} without a board",
        mcu="",
        core=core,
        features=features,
        clock_hz=0,
        regions=regions,
        flash_access=None,
        status=BoardStatus.DATA_ONLY,
        reason=_REASON,
        sources=(),
        own_counter=None,
        uart=None,
        console=None,
        usb=(),
        flash_algorithm="",
        platforms={},
        runners={},
        is_target=True,
    )


def _size_text(size: int) -> str:
    """Formats a size with the largest unit that divides it."""
    units = ((1024 * 1024, "M"), (1024, "K"), (1, ""))
    return next(f"{size // unit}{letter}" for unit, letter in units if size % unit == 0)


def _read_word(word: str, said: _Said) -> None:
    """Reads a space-separated part: a compiler option, or a target in this project's notation."""
    found = _COMPILER_WORD.fullmatch(word)
    if found is None and word.startswith("-"):
        known = ["-mcpu=", "-march=", "-mattr=", "-mfpu=", "-mfloat-abi=", "-mthumb"]
        name, has_value, _ = word.partition("=")
        near = did_you_mean(f"{name}{has_value}", known)
        raise said.wrong(f'"{word}" is not part of a target{near}', f"known: {', '.join(known)}")
    kind, value = (found[1] or found[3], found[2]) if found else ("", word)
    match kind:
        case "mthumb":
            pass
        case "mattr":
            _read_features(value.split(","), said)
        case "mfpu":
            said.features |= set() if value == "none" else {"fpu"}
        case "mfloat-abi":
            if value not in _FLOAT_ABI:
                raise said.wrong(f'"{value}" is not a floating-point ABI', f"known: {', '.join(_FLOAT_ABI)}")
            _read_features(filter(None, [_FLOAT_ABI[value]]), said)
        case _:
            _read_core_and_sizes(value, said)


def _read_core_and_sizes(value: str, said: _Said) -> None:
    first, *sizes = value.split(",")
    if "=" in first:
        sizes.insert(0, first)
    elif said.core:
        raise said.wrong(f'the target names two cores, "{said.core}" and "{first}"')
    else:
        first = _core_spelled(first)
        said.core, *features = first.split("+")
        _read_features((f"+{name}" for name in features), said)
    for part in sizes:
        role, _, size = part.partition("=")
        if role not in _ORIGINS:
            hint = f"{FORM}\n{_LIBRARY}" if part == "c" else FORM  # TVM's "cmsis-nn,c"
            raise said.wrong(f'"{part}" is not part of a target{did_you_mean(role, _ORIGINS)}', hint)
        try:
            said.sizes[role] = read_size(size)
        except WrongValueError as error:
            raise said.wrong(f"{role}: {error.what}") from None


def _core_spelled(word: str) -> str:
    """Normalizes spellings such as cortex_m4 and Cortex-M4F, and returns core plus features."""
    core, plus, more = word.lower().replace("_", "-").partition("+")
    if plus and more[:1] in ("", "+") and f"{core}plus" in core_names():  # a plus in the core's name
        core, plus, more = f"{core}plus", more[:1], more[1:]
    return _WITH_FPU.sub(r"\1+fpu", core) + plus + more


def _read_features(words: Iterable[str], said: _Said) -> None:
    """Reads +dsp, -fpu and +nofp."""
    for word in words:
        sign, name = (word[0], word[1:]) if word[:1] in ("+", "-") else ("+", word)
        is_off = sign == "-" or name.startswith("no")
        name = name.removeprefix("no") if is_off else name
        (said.without if is_off else said.features).update(_FEATURES.get(name, (name,)))


def _chosen(core: Core, said: _Said) -> frozenset[Feature]:
    """Returns the optional features named in the text. Raises BoardError for unsupported ones."""
    known = core.has | core.can_have
    for name in sorted(said.features | said.without):
        if name not in known:
            near = did_you_mean(name, known)
            has, can_have = (", ".join(sorted(each)) or "none" for each in (core.has, core.can_have))
            raise said.wrong(
                f'a {core.name} has no "{name}"{near}', f"it has: {has}; it can have: {can_have}"
            )
    missing = sorted(said.without & core.has)
    if missing:
        raise said.wrong(f"every {core.name} has {missing[0]}")
    return frozenset(feature for feature in core.can_have if feature in said.features - said.without)
