"""Stories from a small grammar, and a tokenizer of byte pairs trained on them.

Who is in a story, where it happens and what is lost stay the same until its end, so that a model must look
back to continue it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random

END = "<|end|>"  # separates stories; token 0
SPACE = "\u0120"  # a space in tokenizer.json, as byte-level tokenizers write it

_NAMES = ("Anna", "Ben", "Lily", "Max", "Mia", "Sam", "Tim", "Zoe")
_ANIMALS = ("bird", "cat", "dog", "fox", "frog", "mouse")
_SIZES = ("big", "brave", "happy", "little", "quiet", "shy")
_PLACES = ("forest", "garden", "house", "park", "river", "village")
_THINGS = ("ball", "book", "hat", "kite", "shell", "spoon")
_COLORS = ("blue", "green", "red", "white", "yellow")
_SPOTS = ("behind a tree", "in the grass", "near a stone", "under a bush", "under the bed")
_WEATHER = ("It was a sunny day.", "It was a cold day.", "The wind was strong.", "It rained a little.")


def stories(count: int, seed: int) -> list[str]:
    """Returns stories; the same seed gives the same stories."""
    random = Random(seed)
    return [_story(random) for _ in range(count)]


def _story(random: Random) -> str:
    hero, friend = random.sample(_NAMES, 2)
    animal, size, place = (random.choice(each) for each in (_ANIMALS, _SIZES, _PLACES))
    thing, spot = f"{random.choice(_COLORS)} {random.choice(_THINGS)}", random.choice(_SPOTS)
    begin = random.choice(
        (
            f"Once upon a time there was a {size} {animal} named {hero}. {hero} lived in the {place}.",
            f"In the {place} lived a {size} {animal}. The name of the {animal} was {hero}.",
            f"{hero} was a {size} {animal}. Every day {hero} played in the {place}.",
        )
    )
    loss = random.choice(
        (
            f"One day {hero} lost a {thing}. {hero} was very sad.",
            f'"Where is my {thing}?" asked {hero}. It was not in the {place}.',
            f"{hero} had a {thing}. One morning the {thing} was gone.",
        )
    )
    help_ = random.choice(
        (
            f'{friend} came to the {place}. "I can help you," said {friend}.',
            f"A friend named {friend} saw {hero}. They looked for the {thing}.",
            f'"Do not cry, {hero}," said {friend}. "We will find the {thing}."',
        )
    )
    found = random.choice(
        (
            f"They found the {thing} {spot}. {hero} was happy again.",
            f'{friend} looked {spot}. There was the {thing}! "Thank you, {friend}," said {hero}.',
            f"The {thing} was {spot}. {hero} and {friend} laughed.",
        )
    )
    end = random.choice(("The end.", f"Then {hero} and {friend} went home.", "They played until night."))
    weather = (random.choice(_WEATHER),) if random.random() < 0.5 else ()
    return " ".join((begin, *weather, loss, help_, found, end))


@dataclass(frozen=True)
class StoryTokenizer:
    """Byte pairs: a text's characters, joined pair by pair in the order of `merges`."""

    tokens: tuple[str, ...]  # token 0 is END
    merges: tuple[tuple[str, str], ...]

    def encode(self, text: str) -> list[int]:
        """Returns the tokens of a text. Raises KeyError for a character that no token has."""
        ranks, ids = self._ranks, self._ids
        found: list[int] = []
        for word in _words(text):
            parts = list(word)
            while len(parts) > 1:
                best = min(range(len(parts) - 1), key=lambda i: ranks.get((parts[i], parts[i + 1]), len(ids)))
                if (parts[best], parts[best + 1]) not in ranks:
                    break
                parts[best : best + 2] = [parts[best] + parts[best + 1]]
            found += [ids[part] for part in parts]
        return found

    @staticmethod
    def load(file: Path) -> StoryTokenizer:
        model = json.loads(file.read_text(encoding="utf-8"))["model"]
        tokens = sorted(model["vocab"], key=model["vocab"].get)
        pairs = (merge.split(" ") for merge in model["merges"])
        merges = tuple((_plain(first), _plain(second)) for first, second in pairs)
        return StoryTokenizer(tuple(map(_plain, tokens)), merges)

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(self.tokens[i] for i in ids if i)

    @property
    def _ranks(self) -> dict[tuple[str, str], int]:
        return {pair: rank for rank, pair in enumerate(self.merges)}

    @property
    def _ids(self) -> dict[str, int]:
        return {token: number for number, token in enumerate(self.tokens)}

    def save(self, file: Path) -> None:
        """Writes tokenizer.json, as Hugging Face's tokenizers read it."""
        as_bytes = {token: number for number, token in enumerate(map(_spelled, self.tokens))}
        level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
        content = {
            "version": "1.0",
            "added_tokens": [
                {
                    **{"id": 0, "content": END, "special": True, "single_word": False},
                    **{"lstrip": False, "rstrip": False, "normalized": False},
                }
            ],
            "normalizer": None,
            "pre_tokenizer": level,
            "decoder": level,
            "model": {
                "type": "BPE",
                "vocab": as_bytes,
                "merges": [" ".join(map(_spelled, pair)) for pair in self.merges],
            },
        }
        file.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def train_tokenizer(texts: Sequence[str], size: int) -> StoryTokenizer:
    """Returns a tokenizer of at most `size` tokens; the most frequent pairs become tokens first."""
    counts = Counter(word for text in texts for word in _words(text))
    words = {word: list(word) for word in counts}
    tokens = [END, *sorted({character for word in counts for character in word})]
    merges: list[tuple[str, str]] = []
    while len(tokens) < size:
        pairs: Counter[tuple[str, str]] = Counter()
        for word, parts in words.items():
            for pair in pairwise(parts):
                pairs[pair] += counts[word]
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        merges.append(best)
        tokens.append("".join(best))
        for parts in words.values():
            _join(parts, best)
    return StoryTokenizer(tuple(tokens), tuple(merges))


def _join(parts: list[str], pair: tuple[str, str]) -> None:
    for place in range(len(parts) - 1, 0, -1):
        if place < len(parts) and (parts[place - 1], parts[place]) == pair:
            parts[place - 1 : place + 1] = ["".join(pair)]


def _words(text: str) -> list[str]:
    """Splits before each space, so that no token has a space after its first character."""
    first, *rest = text.split(" ")
    return [*([first] if first else []), *(" " + word for word in rest)]


def _spelled(token: str) -> str:
    return token.replace(" ", SPACE)


def _plain(token: str) -> str:
    return token.replace(SPACE, " ")
