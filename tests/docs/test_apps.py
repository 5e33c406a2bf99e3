"""The commands of docs/apps.md print what the page says; numbers of instructions may change."""

from __future__ import annotations

import re
import shlex
import shutil
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

WORDS = ("yes", "yes", "noise", "noise", "no")


def without_counts(text: str) -> list[str]:
    return [re.sub(r" *[\d,]+ instructions", " N instructions", line) for line in text.splitlines()]


def transcript(page: str) -> tuple[list[list[str]], str]:
    """The commands before the first output of the page, and that output."""
    block = re.search(r"(?:^    .*\n)+", page, re.MULTILINE)
    assert block is not None
    text = re.sub(r"^    ", "", block[0], flags=re.MULTILINE).replace("\\\n", "")
    commands = [shlex.split(line) for line in re.findall(r"^\$ (.*)$", text, re.MULTILINE)]
    return commands, re.sub(r"^\$ .*\n", "", text, flags=re.MULTILINE)


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_the_page_shows_what_is_printed(
    repo_root: Path,
    shared_dir: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    require_tool: Callable[..., None],
    run_deploy: Callable[..., Any],
) -> None:
    require_tool("arm-none-eabi-gcc", "qemu-system-arm")
    monkeypatch.chdir(tmp_path)
    shutil.copy(shared_dir / "models" / "tiny_kws_dscnn_int8" / "model.tflite", "kws.tflite")
    with wave.open("words.wav", "wb") as file:
        file.setparams((1, 2, 16000, 0, "NONE", ""))
        for word in WORDS:
            with wave.open(str(shared_dir / "datasets" / f"{word}_1000ms.wav")) as clip:
                file.writeframes(clip.readframes(clip.getnframes()))
    commands, output = transcript((repo_root / "docs" / "apps.md").read_text(encoding="utf-8"))
    outcomes = [run_deploy(*words[1:]) for words in commands]
    assert [outcome.status for outcome in outcomes] == [0, 0, 0], outcomes[-1].err
    assert without_counts(outcomes[-1].out) == without_counts(output)
