"""Prepares a release: `name VERSION` gives the changelog's summary its version, `check` tries the packages.

A person folds the fragments of docs/changes into the section "Unreleased" of CHANGELOG.md and deletes them;
naming refuses what is not folded in yet and a summary that is too long. Then `make golden` renews the
generated C, which names the version. Checking builds wheel and sdist into build/dist, holds them to the
index's rules, and compiles, runs and verifies the bundled model from each, in a fresh environment, outside
the tree. Nothing is uploaded.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UNRELEASED = "## Unreleased\n"
MOST_LINES = 80  # of a version: two screens
_NUMBER = re.compile(r"\d+\.\d+\.\d+")
_CITED = re.compile(r"(?m)^version: \S+$")
_VERSION_LINE = re.compile(r'(?m)^VERSION = "([^"]+)"')


class ReleaseError(Exception):
    """A release that cannot be prepared; the text says why, and the way out."""


def name_version(root: Path, version: str, day: date) -> None:
    """Gives the summary of unreleased changes the version's heading, and the package its number."""
    changelog, version_file = root / "CHANGELOG.md", root / "codegen" / "version.py"
    before, text = changelog.read_text(encoding="utf-8"), version_file.read_text(encoding="utf-8")
    _require_newer(version, _VERSION_LINE.findall(text)[0])
    _require_summary(before, root / "docs" / "changes")
    heading = f"## {version} ({day.isoformat()})\n"
    changelog.write_text(before.replace(UNRELEASED, heading, 1), encoding="utf-8")
    version_file.write_text(_VERSION_LINE.sub(f'VERSION = "{version}"', text), encoding="utf-8")
    citation = root / "CITATION.cff"
    cited = _CITED.sub(f"version: {version}", citation.read_text(encoding="utf-8"))
    citation.write_text(cited, encoding="utf-8")


def _require_summary(changelog: str, fragments: Path) -> None:
    left = sorted(path.name for path in fragments.glob("*.md") if path.name != "README.md")
    if left:
        raise ReleaseError(
            f"fold {len(left)} fragments of docs/changes into CHANGELOG.md and delete them: {', '.join(left)}"
        )
    _, found, after = changelog.partition(UNRELEASED)
    if not found:
        raise ReleaseError(f'CHANGELOG.md has no section "{UNRELEASED.strip()}": summarize what users notice')
    lines = after.partition("\n## ")[0].count("\n")
    if lines > MOST_LINES:
        raise ReleaseError(
            f"the summary in CHANGELOG.md has {lines} lines, the limit is {MOST_LINES}: shorten it"
        )


def _require_newer(version: str, today: str) -> None:
    if not _NUMBER.fullmatch(version):
        raise ReleaseError(f'"{version}" is not a version: three numbers are, as in 1.2.3')
    if _numbers(version) <= _numbers(today):
        raise ReleaseError(f"{version} is not after {today}, the version of the tree")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in version.split("."))


def check(root: Path) -> None:
    """Builds the packages, asks twine about them, and tries each."""
    made = root / "build" / "dist"
    shutil.rmtree(made, ignore_errors=True)
    _run(sys.executable, "-m", "hatchling", "build", "-d", made, cwd=root)
    packages = sorted(made.iterdir())
    _run(sys.executable, "-m", "twine", "check", "--strict", *packages, cwd=root)
    for package in packages:
        with tempfile.TemporaryDirectory() as folder:
            _try(package, Path(folder))
        sys.stdout.write(f"{package.name}: installed outside the tree, the bundled model is right\n")


def _try(package: Path, folder: Path) -> None:
    """The first words of the README, from nothing but the package and what it asks for."""
    venv.create(folder / "venv", with_pip=True)
    programs = folder / "venv" / "bin"
    _run(programs / "pip", "install", "--quiet", "--disable-pip-version-check", f"{package}[zig]", cwd=folder)
    demo = next((folder / "venv" / "lib").glob("python*/site-packages/deploy/demo"))
    shutil.copy(demo / "digits.tflite", folder)
    for words in (
        ("--version",),
        ("inspect", "digits.tflite", "--board", "nucleo-f746zg"),
        ("verify", "digits.tflite", "--board", "host", "--toolchain", "zig", "--layers"),
    ):
        _run(programs / "deploy", *words, cwd=folder)


def _run(*words: object, cwd: Path) -> None:
    subprocess.run([str(word) for word in words], cwd=cwd, check=True)


COMMANDS: Mapping[str, Callable[[list[str]], None]] = {
    "name": lambda words: name_version(ROOT, words[0], date.today()),
    "check": lambda words: check(ROOT),
}


def main(words: list[str]) -> int:
    if not words or words[0] not in COMMANDS or len(words) != (2 if words[0] == "name" else 1):
        sys.stderr.write("release.py name VERSION | release.py check\n")
        return 2
    try:
        COMMANDS[words[0]](words[1:])
    except ReleaseError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
