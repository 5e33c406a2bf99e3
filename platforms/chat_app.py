"""The program that continues texts: tokenizer, model and sampler, over the board's serial line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aot.errors import InputError
from codegen.model import TensorInfo
from platforms.templates import c_files, filled

PLATFORMS_OF_CHAT = ("baremetal", "host")
PROMPT_SIGN = b"> "  # written when the program waits for a line


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A tokenizer of byte pairs as its C tables need it."""

    texts: tuple[bytes, ...]  # of the tokens; special tokens have none
    merges: tuple[tuple[int, int, int], ...]  # left, right and joined token, in the order of learning
    begin: int
    end: int

    def words(self) -> dict[str, Any]:
        """Returns the template variables of vocabulary.c."""
        alone = {text[0]: token for token, text in enumerate(self.texts) if len(text) == 1}
        ranked = sorted(
            (left << 16 | right, rank, joined) for rank, (left, right, joined) in enumerate(self.merges)
        )
        ends, total = [], 0
        for text in self.texts:
            total += len(text)
            ends.append(total)
        return {
            "tokens": len(self.texts),
            "begin": self.begin,
            "end": self.end,
            "of_byte": [alone.get(byte, -1) for byte in range(256)],
            "text": list(b"".join(self.texts)),
            "text_ends": ends,
            "merges": [{"pair": pair, "rank": rank, "token": joined} for pair, rank, joined in ranked],
        }


@dataclass(frozen=True, slots=True)
class ChatModel:
    """A step of a language model: which input is the token and which its position, and the caches' length."""

    vocabulary: Vocabulary
    token: TensorInfo
    position: TensorInfo | None
    logits: TensorInfo
    positions: int


def chat_app_files(chat: ChatModel, words: Mapping[str, Any]) -> dict[str, str]:
    """Returns the program's files. `words` are the template variables of the model."""
    own = dict(c_files("chat"))
    own["vocabulary.c"] = filled("chat", "vocabulary.c.jinja", **chat.vocabulary.words())
    own["main.c"] = filled(
        "chat",
        "main.c.jinja",
        **{
            **words,
            "tokens": len(chat.vocabulary.texts),
            "positions": chat.positions,
            "token": _c_words(chat.token),
            "position": None if chat.position is None else _c_words(chat.position),
            "logits": _c_words(chat.logits),
        },
    )
    return {f"src/{name}": text for name, text in own.items()}


def _c_words(tensor: TensorInfo) -> dict[str, str]:
    return {"c_name": tensor.c_name, "c_type": tensor.type.dtype.c_name}


def require_platform(platform: str) -> None:
    if platform not in PLATFORMS_OF_CHAT:
        raise InputError(
            f"the app chat supports the platforms {' and '.join(PLATFORMS_OF_CHAT)}, not {platform}",
            hint="use a board with one of these, or start from --app standalone",
        )
