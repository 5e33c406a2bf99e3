"""Pages of the documentation keep to the rules of docs/style.md that can be counted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

LONGEST_SENTENCE = 35  # words
AS_IN_ERRORS = ("ops.md",)  # its rows are the texts of constraints, as error messages print them
BRITISH = re.compile(
    r"\b\w*(?:quantis|optimis|initialis|normalis|recognis|organis|vectoris|minimis|maximis|colour|behaviour|"
    r"neighbour|licence|centre[sd]?\b|modell|labell|artefact|judgement)\w*",
    re.IGNORECASE,
)
_CODE = re.compile(r"`[^`]*`")
_NAMES = re.compile(r"`[^`]*`|\*\*undefined-behaviour\*\*")  # the chapter's name is an argument
_BETWEEN_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n\s*\n|\n(?=[|#*-])|\n(?=\d+\. )")


def pages(root: Path) -> list[Path]:
    """All pages that people write or that are generated, without changes that are not released."""
    found = [*root.glob("*.md"), *(root / "docs").rglob("*.md")]
    return sorted(page for page in found if page.parent.name != "changes")


def prose(text: str) -> str:
    """Removes code: fenced blocks, indented ones, and words in backquotes."""
    without_blocks = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return "\n".join(line for line in without_blocks.splitlines() if not line.startswith("    "))


def long_sentences(text: str) -> list[str]:
    """Returns sentences of too many words, except table rows and lists of code names (`ADD`, `MUL`, ...)."""
    sentences = [each for each in _BETWEEN_SENTENCES.split(prose(text)) if "|" not in each]
    sentences = [each for each in sentences if len(_CODE.findall(each)) < LONGEST_SENTENCE]
    return [each for each in sentences if len(each.split()) > LONGEST_SENTENCE]


def british_words(text: str) -> list[str]:
    """Returns words in British spelling, outside of code and names of chapters."""
    return BRITISH.findall(_NAMES.sub("", prose(text)))


@pytest.mark.parametrize(
    "check", [long_sentences, british_words], ids=["short sentences", "American spelling"]
)
def test_pages_keep_to_the_style_guide(repo_root: Path, check: object) -> None:
    assert callable(check)
    checked = [page for page in pages(repo_root) if check is long_sentences or page.name not in AS_IN_ERRORS]
    found = {str(page.relative_to(repo_root)): check(page.read_text(encoding="utf-8")) for page in checked}
    assert {name: faults for name, faults in found.items() if faults} == {}, "see docs/style.md"


def test_a_long_sentence_and_a_british_word_are_found() -> None:
    long = " ".join(["word"] * (LONGEST_SENTENCE + 1)) + "."
    assert long_sentences(f"Short one. {long}\n\n    {long}\n") == [long]
    assert british_words("The colour of `behaviour` is quantized.\n") == ["colour"]
