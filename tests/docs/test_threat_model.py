"""Each numbered sentence of the threat model names tests, and these tests exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

SENTENCE = re.compile(r"^(\d+)\. (.*?)(?=^\d+\. |^#|\Z)", re.MULTILINE | re.DOTALL)
NODE = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def sentences(text: str) -> dict[int, str]:
    return {int(number): words for number, words in SENTENCE.findall(text)}


def missing(words: str, root: Path) -> list[str]:
    """What a sentence lacks: a test at all, or those that it names."""
    nodes = NODE.findall(words)
    if not nodes or words.count("`tests/") != len(nodes):
        return [f"no test is named in: {words.strip()}"]
    return [f"{file}::{name}" for file, name in nodes if name not in found_in(root / file)]


def found_in(file: Path) -> set[str]:
    """The tests that pytest finds in the file, as it is written."""
    body = ast.parse(file.read_text(encoding="utf-8")).body if file.is_file() else []
    return {each.name for each in body if isinstance(each, ast.FunctionDef) and each.name.startswith("test_")}


def test_each_sentence_is_held_by_tests_that_exist(repo_root: Path) -> None:
    found = sentences((repo_root / "docs" / "threat-model.md").read_text(encoding="utf-8"))
    assert list(found) == list(range(1, len(found) + 1))
    assert len(found) > 20
    assert [lack for words in found.values() for lack in missing(words, repo_root)] == []


def test_a_sentence_without_a_test_is_found(repo_root: Path) -> None:
    here = "tests/docs/test_threat_model.py::test_a_sentence_without_a_test_is_found"
    page = f"# Page\n\n1. Held.\n   `{here}`\n2. Not held.\n\n## More\n\n3. Gone.\n   `{here}_any_more`\n"
    found = sentences(page)
    assert missing(found[1], repo_root) == []
    assert missing(found[2], repo_root) == ["no test is named in: Not held."]
    assert missing(found[3], repo_root) == [f"{here}_any_more"]
