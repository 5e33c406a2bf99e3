"""A program is built once of the same files by the same compiler with the same options."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import kept_programs
import pytest
from kept_programs import kept_or_built

from platforms.toolchains import Toolchain

SH = Toolchain("sh", "gcc", ("/bin/sh",), "1.0")
FILES = {"a.c": "int a;", "b.h": ""}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(kept_programs, "_FOLDER", str(tmp_path / "kept"))
    return tmp_path


@pytest.fixture
def build(folder: Path) -> Callable[[], Path]:
    """build(): a program that says how often one was built before."""
    built = folder / "program"

    def build() -> Path:
        built.write_text(f"{len(built.read_text()) if built.exists() else 0}")
        return built

    return build


def test_the_same_is_built_once(build: Callable[[], Path], folder: Path) -> None:
    first = kept_or_built(FILES, SH, ("-O2",), build)
    (folder / "program").write_text("another")
    assert kept_or_built(dict(reversed(FILES.items())), SH, ("-O2",), build) == first
    assert first.read_text() == "0"
    assert [path.name for path in first.parent.iterdir()] == [first.name]


@pytest.mark.parametrize(
    ("files", "toolchain", "options"),
    [
        ({**FILES, "b.h": " "}, SH, ("-O2",)),
        ({"a.c": "int a;", "c.h": ""}, SH, ("-O2",)),
        ({"a.c": "int a;\0b.h\0000\0"}, SH, ("-O2",)),
        (FILES, replace(SH, version="1.1"), ("-O2",)),
        (FILES, replace(SH, argv=("/bin/ls",)), ("-O2",)),
        (FILES, SH, ("-Os",)),
        (FILES, SH, ()),
    ],
)
def test_anything_else_is_another_program(
    files: dict[str, str], toolchain: Toolchain, options: tuple[str, ...], build: Callable[[], Path]
) -> None:
    assert kept_or_built(files, toolchain, options, build) != kept_or_built(FILES, SH, ("-O2",), build)


def test_what_was_not_used_for_long_goes_when_another_comes(build: Callable[[], Path]) -> None:
    old = kept_or_built(FILES, SH, (), build)
    os.utime(old, (0, 0))
    assert kept_or_built(FILES, SH, (), build) == old
    kept_or_built(FILES, SH, ("-O1",), build)
    assert old.exists(), "it was used again"
    os.utime(old, (0, 0))
    kept_or_built(FILES, SH, ("-O3",), build)
    assert not old.exists()


def test_several_at_once_do_not_mind_each_other(folder: Path) -> None:
    def keep(number: int) -> str:
        built = folder / f"program_{number}"
        built.write_text(str(number % 7))
        return kept_or_built({"a.c": str(number % 7)}, SH, (), lambda: built).read_text()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(keep, range(400))) == [str(number % 7) for number in range(400)]


def test_without_a_folder_all_are_built(build: Callable[[], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_programs, "_FOLDER", "")
    assert kept_or_built(FILES, SH, (), build).name == "program"
