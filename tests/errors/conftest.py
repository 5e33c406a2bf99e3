"""A good model to make mistakes with, and the error that a command prints: its code and the facts in it."""

from dataclasses import dataclass
from pathlib import Path

import pytest

import boards


@dataclass(frozen=True)
class Complaint:
    """The error of a command that had to fail."""

    code: str  # such as "E301"
    text: str

    def names(self, code: str, *facts: object) -> None:
        """Checks the code and that every fact is in the text: numbers, names, paths, the command of the hint.

        The wording is free to become better.
        """
        assert self.code == code, self.text
        missing = [str(fact) for fact in facts if str(fact) not in self.text]
        assert not missing, f"not in the error: {missing}\n{self.text}"
        first, *rest = self.text.splitlines()
        assert first.startswith("error: ")
        assert all(line.startswith("  ") for line in rest)


@pytest.fixture
def complaint(run_deploy, tmp_path):
    """complaint("inspect", path): the error of a command that must fail; the test's own folder is FOLDER."""

    def run(*words: object) -> Complaint:
        outcome = run_deploy(*words)
        assert (outcome.status, outcome.out) == (1, ""), outcome
        return Complaint(outcome.code, outcome.err.replace(str(tmp_path), "FOLDER"))

    return run


@pytest.fixture
def small_board(tmp_path):
    """small_board(ram_bytes=256): a board file "small", a host with that little memory."""
    host = (Path(boards.__file__).parent / "host.toml").read_text(encoding="utf-8")

    def write(ram_bytes: int = 0x4000_0000, flash_bytes: int = 0x4000_0000) -> Path:
        path = tmp_path / "small.toml"
        flash, ram = host.replace("bytes = 0x4000_0000", "bytes = {}").split("[[regions]]")[1:]
        head = host.partition("[[regions]]")[0]
        regions = f"[[regions]]{flash.format(flash_bytes)}[[regions]]{ram.format(ram_bytes)}"
        path.write_text(head + regions, encoding="utf-8")
        return path

    return write
