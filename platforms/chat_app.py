"""The program that continues texts: tokenizer, model and sampler, over the board's serial line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np

from aot.errors import InputError
from codegen.isa.plain.f32 import literal
from codegen.model import TensorInfo
from platforms.templates import c_files, filled

PLATFORMS_OF_CHAT = ("baremetal", "host")
PROMPT_SIGN = b"> "  # written when the program waits for a line
_MOST_CHARACTER_BYTES = 4
_ALL_SPACES = 0xFFFF
_NO_RANK = "0xFFFFu"  # of a piece that no neighbors make
_UNKNOWN_PENALTY = np.float32(
    10
)  # SentencePiece's: how much worse than the worst piece unknown characters are


@dataclass(frozen=True, slots=True)
class BytePairs:
    """A tokenizer of byte pairs as its C tables need it."""

    texts: tuple[bytes, ...]  # of the tokens; special tokens have none
    begin: int
    end: int
    merges: tuple[tuple[int, int, int], ...]  # left, right and joined token, in the order of learning

    program: ClassVar[str] = "byte_pairs.c.jinja"

    def words(self) -> dict[str, Any]:
        """Returns the template variables of its files."""
        alone = {text[0]: token for token, text in enumerate(self.texts) if len(text) == 1}
        ranked = sorted(
            (left << 16 | right, rank, joined) for rank, (left, right, joined) in enumerate(self.merges)
        )
        return {
            "kind": "byte pairs",
            "hidden_spaces": 0,
            "of_byte": [alone.get(byte, -1) for byte in range(256)],
            "size": len(ranked),
            "tables": (
                ("pairs", "uint32_t", [f"{pair}u" for pair, _, _ in ranked], "0xFFFFFFFFu"),
                ("ranks", "uint16_t", [rank for _, rank, _ in ranked], "0xFFFFu"),
                ("joined", "token_t", [joined for _, _, joined in ranked], "0"),
            ),
            "has_rules": False,
        }


@dataclass(frozen=True, slots=True)
class Pieces:
    """A SentencePiece model as its C tables need it."""

    texts: tuple[bytes, ...]  # of the tokens, with plain spaces; begin and end have none
    begin: int
    end: int
    unknown: int
    scores: Mapping[int, float]  # of the tokens that text can become
    whole: Mapping[int, float]  # and of those that it always becomes where their texts are
    joins: bool  # neighbors to the piece with the best score; else the sum of the scores is the largest
    bytes: tuple[
        int, ...
    ]  # the token of each byte that has no piece; empty: the unknown token stands for all
    rules: tuple[int, ...]  # a double array of texts that are replaced first; may be empty
    results: tuple[int, ...]  # bytes of what they are replaced by, each with a zero at its end
    adds_space: bool  # in front of a text
    removes_spaces: bool  # around a text, and all but one between its words

    program: ClassVar[str] = "pieces.c.jinja"

    def words(self) -> dict[str, Any]:
        """Returns the template variables of its files."""
        scores = {**self.scores, **self.whole}
        known = sorted(scores, key=self.texts.__getitem__)
        levels = sorted(set(self.scores.values()), reverse=True)
        of_level = {score: rank for rank, score in enumerate(levels)}
        ranks = {token: of_level[score] for token, score in self.scores.items()}
        own = (
            ("ranks", "uint16_t", [ranks.get(token, _NO_RANK) for token in known], _NO_RANK)
            if self.joins
            else ("scores", "float", [literal(scores[token]) for token in known], "0.0f")
        )
        return {
            "kind": "joined pieces" if self.joins else "scored pieces",
            "hidden_spaces": _ALL_SPACES if self.removes_spaces else int(self.adds_space),
            "of_byte": list(self.bytes),
            "size": len(known),
            "tables": (("sorted", "token_t", known, "0"), own, *self._rule_tables()),
            "has_rules": bool(self.rules),
            "rule_units": len(self.rules),
            "unknown": self.unknown,
            "unknown_score": literal(float(np.float32(levels[-1]) - _UNKNOWN_PENALTY)),
            "longest": max(_MOST_CHARACTER_BYTES, *(len(self.texts[token]) for token in known)),
            "has_whole": bool(self.whole),
            "adds_space": self.adds_space,
            "removes_spaces": self.removes_spaces,
        }

    def _rule_tables(self) -> Iterator[tuple[str, str, Sequence[Any], str]]:
        if self.rules:
            yield "rules", "uint32_t", [f"0x{unit:X}u" for unit in self.rules], "0"
            yield "results", "uint8_t", self.results, "0"


@dataclass(frozen=True, slots=True)
class ChatModel:
    """A step of a language model: which input is the token and which its position, and the caches' length."""

    vocabulary: BytePairs | Pieces
    token: TensorInfo
    position: TensorInfo | None
    logits: TensorInfo
    positions: int


def chat_app_files(chat: ChatModel, words: Mapping[str, Any]) -> dict[str, str]:
    """Returns the program's files. `words` are the template variables of the model."""
    own = {**dict(c_files("chat")), **tokenizer_files(chat.vocabulary)}
    own["main.c"] = filled(
        "chat",
        "main.c.jinja",
        **{
            **words,
            **{name: chat.vocabulary.words()[name] for name in ("kind", "has_rules")},
            "tokens": len(chat.vocabulary.texts),
            "positions": chat.positions,
            "token": _c_words(chat.token),
            "position": None if chat.position is None else _c_words(chat.position),
            "logits": _c_words(chat.logits),
        },
    )
    return {f"src/{name}": text for name, text in own.items()}


def tokenizer_files(vocabulary: BytePairs | Pieces) -> dict[str, str]:
    """Returns the functions of a tokenizer and its tables, in C."""
    words = {
        **vocabulary.words(),
        "tokens": len(vocabulary.texts),
        "begin": vocabulary.begin,
        "end": vocabulary.end,
        "text": list(b"".join(vocabulary.texts)),
        "text_ends": list(accumulate(map(len, vocabulary.texts))),
    }
    templates = ("tokenizer.h.jinja", vocabulary.program, "vocabulary.c.jinja")
    names = ("tokenizer.h", "tokenizer.c", "vocabulary.c")
    return {name: filled("chat", template, **words) for name, template in zip(names, templates, strict=True)}


def _c_words(tensor: TensorInfo) -> dict[str, str]:
    return {"c_name": tensor.c_name, "c_type": tensor.type.dtype.c_name}


def require_platform(platform: str) -> None:
    if platform not in PLATFORMS_OF_CHAT:
        raise InputError(
            f"the app chat supports the platforms {' and '.join(PLATFORMS_OF_CHAT)}, not {platform}",
            hint="use a board with one of these, or start from --app standalone",
        )
