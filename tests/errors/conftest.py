"""What mistakes are made with: a good model, its file, and the error's text with folders replaced."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny_models import TINY

import boards


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.tflite"
    path.write_bytes(TINY["classifier"]())
    return path


@pytest.fixture
def complaint(run_deploy: Callable[..., Any], tmp_path: Path) -> Callable[..., str]:
    """complaint("inspect", path): what a command that must fail prints, the test's own folder as FOLDER."""

    def run(*words: object) -> str:
        outcome = run_deploy(*words)
        assert (outcome.status, outcome.out) == (1, ""), outcome
        return str(outcome.err.replace(str(tmp_path), "FOLDER"))

    return run


@pytest.fixture
def small_board(tmp_path: Path) -> Callable[..., Path]:
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
