"""Reads the texts of a model's labels: a file with one token per line, or a SentencePiece model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from aot.errors import InputError
from aot.wording import counted
from deploy.inputs.piece_file import read_piece_texts
from platforms.project import LabelTexts

_PIECES_SUFFIX = ".model"
_BLANKS = ("<blank>", "<blk>", "<pad>")  # the first of these that a file has is the blank
_SPACES = ("<space>", "\u2581")  # as whole tokens; the second one also as a part
_NUMBERED = re.compile(r"(.+) (\d+)")


def read_label_texts(path: Path, labels: int) -> LabelTexts:
    """Returns the text of each of the model's labels, and the blank. Raises InputError."""
    try:
        data = path.read_bytes()
        lines = [] if path.suffix == _PIECES_SUFFIX else _lines(data)
    except OSError as error:
        raise InputError(f"the file of tokens cannot be read: {error.strerror}", str(path)) from None
    except UnicodeDecodeError as error:
        raise InputError(f"the file of tokens is not UTF-8: {error}", str(path)) from None
    if path.suffix == _PIECES_SUFFIX:
        names, texts = read_piece_texts(data, path)
        if labels == len(names) + 1 and not set(names) & set(_BLANKS):  # such models have it after the pieces
            names, texts = (*names, _BLANKS[0]), (*texts, b"")
    else:
        names = _names(lines, path)
        texts = tuple(_text(name).encode() for name in names)
    if len(names) != labels:
        raise InputError(
            f"the file has {counted(len(names), 'token')}, the model {counted(labels, 'label')}",
            str(path),
            "use the file that the model was trained with, with one token for each label",
        )
    blank = next((names.index(each) for each in _BLANKS if each in names), None)
    if blank is None:
        raise InputError(
            "no token is the blank, which stands for frames without a letter",
            str(path),
            f"write {_BLANKS[0]} in the line of the blank's label",
        )
    return LabelTexts(tuple(b"" if k == blank else text for k, text in enumerate(texts)), blank)


def _lines(data: bytes) -> list[str]:
    """Returns lines that only line feeds end: tokens may be other characters that `splitlines` splits at."""
    *whole, last = data.decode("utf-8-sig").replace("\r\n", "\n").split("\n")
    return [*whole, last] if last else whole


def _names(lines: Sequence[str], path: Path) -> tuple[str, ...]:
    """Returns the tokens; lines may end with their numbers, as some tools write them."""
    if empty := next((number for number, line in enumerate(lines, 1) if not line), 0):
        raise InputError("the line has no token", f"{path}, line {empty}", f"write {_SPACES[0]} for a space")
    numbered = [_NUMBERED.fullmatch(line) for line in lines]
    if lines and all(each and int(each[2]) == number for number, each in enumerate(numbered)):
        return tuple(each[1] for each in numbered if each)
    return tuple(lines)


def _text(name: str) -> str:
    return " " if name in _SPACES else name.replace(_SPACES[1], " ")
