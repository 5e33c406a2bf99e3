"""Reads tokenizers: tokenizer.json with byte pairs, as Hugging Face writes it, and tokenizer.model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aot.errors import InputError
from deploy.inputs.piece_file import read_pieces
from platforms.chat_app import BytePairs, Pieces

_PIECES_SUFFIX = ".model"
_MOST_TOKENS = 1 << 16
# Byte-level tokenizers write a byte as a printable letter: itself, or one from here on.
_FIRST_LETTER = 256
_PRINTABLE = (range(33, 127), range(161, 173), range(174, 256))
_BEGINS = ("<s>", "<bos>", "<|begin_of_text|>", "<|endoftext|>", "<|end|>")
_ENDS = ("</s>", "<eos>", "<|end_of_text|>", "<|endoftext|>", "<|end|>")
_SUPPORTED = (
    "a model of type BPE, with byte-level tokens that may join across spaces: pre_tokenizer ByteLevel with "
    "use_regex false, no normalizer"
)


def read_tokenizer(path: Path) -> BytePairs | Pieces:
    """Raises InputError if the file is not a tokenizer that the chat program can do."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"the tokenizer cannot be read: {error.strerror}", str(path), _hint()) from None
    if path.suffix == _PIECES_SUFFIX:
        return read_pieces(data, path)
    try:
        content = json.loads(data)
        model, texts = content["model"], content["model"]["vocab"]
        special = {each["content"]: int(each["id"]) for each in content.get("added_tokens") or ()}
        _require_supported(content, path)
        ids = {str(text): int(number) for text, number in texts.items()} | special
        count = len(ids)
        if sorted(ids.values()) != list(range(count)) or count >= _MOST_TOKENS:
            raise InputError(
                f"its {count:,} tokens have gaps in their numbers, or are more than {_MOST_TOKENS - 1:,}",
                str(path),
            )
        pairs = [each.split(" ") if isinstance(each, str) else each for each in model["merges"]]
        merges = tuple((ids[left], ids[right], ids[left + right]) for left, right in pairs)
        letters = _bytes_of_letters()
        found = [b""] * count
        for text, number in ids.items():
            found[number] = b"" if text in special else bytes(letters[letter] for letter in text)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"it is not a tokenizer of byte pairs: {type(error).__name__} {error}", str(path), _hint()
        ) from None
    return BytePairs(tuple(found), _special(special, _BEGINS, path), _special(special, _ENDS, path), merges)


def _hint() -> str:
    return f"tokenizer.json with {_SUPPORTED}; or a SentencePiece model, whose name ends in {_PIECES_SUFFIX}"


def _require_supported(content: Mapping[str, Any], path: Path) -> None:
    splitter = content.get("pre_tokenizer") or {}
    is_plain = splitter.get("type") == "ByteLevel" and splitter.get("use_regex", True) is False
    if content["model"].get("type") != "BPE" or content.get("normalizer") or not is_plain:
        normalizer = (content.get("normalizer") or {}).get("type")
        raise InputError(
            f"this tokenizer is not supported: model {content['model'].get('type')}, "
            f"pre_tokenizer {splitter.get('type')}, normalizer {normalizer}",
            str(path),
            f"supported: {_SUPPORTED}",
        )


def _bytes_of_letters() -> dict[str, int]:
    printable = [byte for each in _PRINTABLE for byte in each]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {
        chr(_FIRST_LETTER + number): byte for number, byte in enumerate(others)
    }


def _special(special: Mapping[str, int], names: tuple[str, ...], path: Path) -> int:
    """Returns the token with one of these names; a single special token is both begin and end."""
    for name in names:
        if name in special:
            return special[name]
    if len(special) == 1:
        return next(iter(special.values()))
    raise InputError(
        f"no special token is known to begin or end a text; it has {', '.join(special) or 'none'}",
        str(path),
        f"name one of them: {', '.join(names)}",
    )
