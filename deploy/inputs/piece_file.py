"""Reads tokenizer.model, the file of a SentencePiece model: pieces with scores, and how text becomes pieces.

The file is a protocol buffer. Every length is checked before it is used.
"""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aot.errors import InputError
from platforms.chat_app import Pieces

_MOST_PIECES = (1 << 16) - 1
_SPACE = "\u2581"  # a space in the file
_HINT = "name the tokenizer.model that the model was trained with; compare its size with the original's"
_SUPPORTED = (
    "supported: model_type bpe or unigram, normalization_rule_name identity, spaces escaped and before words"
)

# Numbers of fields in sentencepiece_model.proto.
_PIECE, _TRAINER, _NORMALIZER, _DENORMALIZER = 1, 2, 3, 5
_TEXT, _SCORE, _KIND = 1, 2, 3
_MODEL_TYPE, _SPACE_AFTER_WORDS, _BYTE_FALLBACK, _UNKNOWN_TEXT, _BEGIN, _END = 3, 24, 35, 44, 46, 47
_RULES, _ADDS_SPACE, _REMOVES_SPACES, _ESCAPES_SPACES = 2, 3, 4, 5

_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED, _BYTE = range(1, 7)
_UNIT, _LEAF = 4, 1 << 31  # of the array of rules: bytes, and the bit of those that have a result
_TEXT_KINDS = (_NORMAL, _USER_DEFINED)  # of the pieces that text can become
_BONUS_LOST = 0.1  # of the score of a user-defined piece: the best score for each byte, less this
_UNIGRAM, _BPE = 1, 2
_UNSUPPORTED_TYPES = {3: "word", 4: "char"}


class _BrokenError(Exception):
    """What is wrong, and where."""


@dataclass(frozen=True, slots=True)
class _Field:
    number: int
    value: int  # if it is a number
    begin: int  # else its bytes in the file
    end: int


@dataclass(frozen=True, slots=True)
class _Piece:
    text: str
    score: float
    kind: int


@dataclass(frozen=True, slots=True)
class _Settings:
    """A part of the file with named values; an absent one has its default."""

    data: bytes
    fields: Mapping[int, _Field]

    def number(self, name: int, default: int) -> int:
        return self.fields[name].value if name in self.fields else default

    def text(self, name: int, default: str) -> str:
        return _text(self.data, self.fields[name]) if name in self.fields else default


@dataclass(frozen=True, slots=True)
class _File:
    pieces: tuple[_Piece, ...]
    trainer: _Settings
    normalizer: _Settings
    rules: bytes  # that change characters first; may be empty
    changes_answers: bool  # has rules that change characters of decoded text


def read_pieces(data: bytes, path: Path) -> Pieces:
    """Raises InputError if the file is not a SentencePiece model that the chat program can do."""
    try:
        file = _file(data)
        if unsupported := _unsupported(file):
            raise InputError(
                f"this tokenizer is not supported: {', '.join(unsupported)}", str(path), _SUPPORTED
            )
        return _tables(file)
    except _BrokenError as error:
        raise InputError(f"it is not a SentencePiece model, or damaged: {error}", str(path), _HINT) from None


def read_piece_texts(data: bytes, path: Path) -> tuple[tuple[str, ...], tuple[bytes, ...]]:
    """Returns the pieces, and what is written for each. Raises InputError if the file does not have them."""
    try:
        file = _file(data)
        of_byte = {f"<0x{byte:02X}>": bytes([byte]) for byte in range(256)}
        texts = tuple(_bytes_of(each, of_byte, file.trainer) for each in file.pieces)
    except _BrokenError as error:
        raise InputError(f"it is not a SentencePiece model, or damaged: {error}", str(path), _HINT) from None
    return tuple(each.text for each in file.pieces), texts


def _file(data: bytes) -> _File:
    pieces: list[_Piece] = []
    parts: dict[int, dict[int, _Field]] = {}
    for field in _fields(data, 0, len(data)):
        if field.number == _PIECE:
            pieces.append(_piece(data, field, len(pieces)))
            if len(pieces) > _MOST_PIECES:
                raise _BrokenError(f"it has more than {_MOST_PIECES:,} pieces")
        elif field.number in (_TRAINER, _NORMALIZER, _DENORMALIZER):
            own = {each.number: each for each in _fields(data, field.begin, field.end)}
            parts.setdefault(field.number, {}).update(own)
    if not pieces or _TRAINER not in parts or _NORMALIZER not in parts:
        raise _BrokenError(f"it has {len(pieces)} pieces, and {len(parts)} of 2 parts with settings")
    _require_sound(pieces)
    before, after = (
        data[found.begin : found.end] if (found := parts.get(part, {}).get(_RULES)) is not None else b""
        for part in (_NORMALIZER, _DENORMALIZER)
    )
    return _File(
        tuple(pieces),
        _Settings(data, parts[_TRAINER]),
        _Settings(data, parts[_NORMALIZER]),
        before,
        bool(after),
    )


def _fields(data: bytes, begin: int, end: int) -> Iterator[_Field]:
    at = begin
    while at < end:
        place = at
        key, at = _number(data, at, end)
        number, form = key >> 3, key & 7
        if form == 0:
            value, at = _number(data, at, end)
            yield _Field(number, value, at, at)
            continue
        if form == 2:
            size, at = _number(data, at, end)
        elif form in (1, 5):
            size = 8 if form == 1 else 4
        else:
            raise _BrokenError(f"byte {place:,} begins no field")
        if size > end - at:
            raise _BrokenError(f"the field at byte {place:,} has {size:,} bytes, only {end - at:,} follow")
        yield _Field(number, 0, at, at + size)
        at += size


def _number(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Returns a number of seven bits a byte, the lowest first, and the place after it."""
    value = 0
    for place in range(at, min(at + 10, end)):
        value |= (data[place] & 0x7F) << 7 * (place - at)
        if data[place] < 0x80:
            return value, place + 1
    raise _BrokenError(f"the number at byte {at:,} does not end")


def _text(data: bytes, field: _Field) -> str:
    try:
        return data[field.begin : field.end].decode("utf-8")
    except UnicodeDecodeError:
        raise _BrokenError(f"the text at byte {field.begin:,} is not UTF-8") from None


def _piece(data: bytes, field: _Field, token: int) -> _Piece:
    own = {each.number: each for each in _fields(data, field.begin, field.end)}
    text = _text(data, own[_TEXT]) if _TEXT in own else ""
    score = 0.0
    if _SCORE in own:
        if own[_SCORE].end - own[_SCORE].begin != struct.calcsize("<f"):
            raise _BrokenError(f"the score of piece {token:,} is no float")
        (score,) = struct.unpack_from("<f", data, own[_SCORE].begin)
    kind = own[_KIND].value if _KIND in own else _NORMAL
    if not text or not math.isfinite(score) or not _NORMAL <= kind <= _BYTE:
        raise _BrokenError(f"piece {token:,} has text {text!r}, score {score} and type {kind}")
    return _Piece(text, score, kind)


def _require_sound(pieces: list[_Piece]) -> None:
    text, count = Counter(each.text for each in pieces).most_common(1)[0]
    if count > 1:
        raise _BrokenError(f"{count} pieces have the text {text!r}")
    unknown = sum(each.kind == _UNKNOWN for each in pieces)
    if unknown != 1:
        raise _BrokenError(f"{unknown} pieces stand for unknown text, not 1")
    if not any(each.kind == _NORMAL for each in pieces):
        raise _BrokenError("no piece has text")


def _unsupported(file: _File) -> list[str]:
    """Returns what the C tokenizer does not do."""
    kinds = Counter(each.kind for each in file.pieces)
    model_type = file.trainer.number(_MODEL_TYPE, _UNIGRAM)
    faults = {
        f"model type {_UNSUPPORTED_TYPES.get(model_type, model_type)}": model_type not in (_UNIGRAM, _BPE),
        "rules that change characters of answers": file.changes_answers,
        f"rules that change characters, and {kinds[_USER_DEFINED]} user-defined pieces": bool(file.rules)
        and kinds[_USER_DEFINED],
        "spaces after words": file.trainer.number(_SPACE_AFTER_WORDS, 0),
        "spaces that are not escaped": not file.normalizer.number(_ESCAPES_SPACES, 1),
        "pieces with plain spaces": any(" " in each.text for each in file.pieces if each.kind in _TEXT_KINDS),
        f"{kinds[_UNUSED]} unused pieces": kinds[_UNUSED],
    }
    return [fault for fault, is_there in faults.items() if is_there]


def _tables(file: _File) -> Pieces:
    tokens = {each.text: token for token, each in enumerate(file.pieces)}
    begin, end = (
        _control(file, tokens, file.trainer.text(name, default))
        for name, default in ((_BEGIN, "<s>"), (_END, "</s>"))
    )
    if begin is None:
        raise _BrokenError("it has no control piece that begins a text")
    unknown = next(token for token, each in enumerate(file.pieces) if each.kind == _UNKNOWN)
    of_byte = {text: bytes([byte]) for byte in range(256) if (text := f"<0x{byte:02X}>") in tokens}
    fallback = bool(file.trainer.number(_BYTE_FALLBACK, 0))
    if fallback and (len(of_byte) < 256 or _SPACE not in tokens):
        raise _BrokenError(f"{len(of_byte)} of 256 bytes have pieces, or a space has none")
    rules, results = _rules(file.rules)
    return Pieces(
        texts=tuple(_bytes_of(each, of_byte, file.trainer) for each in file.pieces),
        begin=begin,
        end=begin if end is None else end,
        unknown=unknown,
        scores={token: each.score for token, each in enumerate(file.pieces) if each.kind == _NORMAL},
        whole=_whole(file),
        joins=file.trainer.number(_MODEL_TYPE, _UNIGRAM) == _BPE,
        bytes=tuple(tokens[text] for text in of_byte) if fallback else (),
        rules=rules,
        results=tuple(results),
        adds_space=bool(file.normalizer.number(_ADDS_SPACE, 1)),
        removes_spaces=bool(file.normalizer.number(_REMOVES_SPACES, 1)),
    )


def _rules(data: bytes) -> tuple[tuple[int, ...], bytes]:
    """Returns the double array of rules, whose leaves are places in the results, and the results."""
    if not data:
        return (), b""
    size = int.from_bytes(data[:_UNIT], "little")
    if size % _UNIT or not 0 < size < len(data) - _UNIT or data[-1]:
        raise _BrokenError(f"its rules have {len(data):,} bytes, an array of {size:,} among them")
    units, results = struct.unpack_from(f"<{size // _UNIT}I", data, _UNIT), data[_UNIT + size :]
    try:
        results.decode("utf-8")
    except UnicodeDecodeError:
        raise _BrokenError("results of its rules are not UTF-8") from None
    leaves = (unit & ~_LEAF for unit in units if unit & _LEAF)
    if wrong := next((at for at in leaves if at >= len(results) or results[at] & 0xC0 == 0x80), None):
        raise _BrokenError(f"no result of its rules begins at {wrong:,}")
    return units, results


def _whole(file: _File) -> dict[int, float]:
    """Returns the user-defined pieces, with scores that are better than those of other pieces."""
    best = np.float32(max(each.score for each in file.pieces if each.kind == _NORMAL))
    return {
        token: float(np.float32(len(each.text)) * best) - _BONUS_LOST
        for token, each in enumerate(file.pieces)
        if each.kind == _USER_DEFINED
    }


def _bytes_of(piece: _Piece, of_byte: Mapping[str, bytes], trainer: _Settings) -> bytes:
    """Returns what is written for a piece."""
    if piece.kind in _TEXT_KINDS:
        return piece.text.replace(_SPACE, " ").encode()
    if piece.kind == _UNKNOWN:
        return trainer.text(_UNKNOWN_TEXT, " \u2047 ").encode()
    return of_byte.get(piece.text, b"") if piece.kind == _BYTE else b""


def _control(file: _File, tokens: Mapping[str, int], text: str) -> int | None:
    token = tokens.get(text)
    return token if token is not None and file.pieces[token].kind == _CONTROL else None
