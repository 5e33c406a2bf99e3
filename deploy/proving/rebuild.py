"""The chapter on reproducible builds: builds archive, firmware and wheel twice and compares the bytes."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from aot.errors import DeployError, MissingToolError, ToolError
from aot.trust import module_argv
from artifact.archive import archive_bytes, export_time
from artifact.artifact import Artifact
from codegen.options import words_of
from deploy.devices.buildable_boards import platform_here
from deploy.devices.firmware import build_project
from deploy.proving.chapter import Finding, Standing, Table, not_run
from deploy.proving.lone_program import run_tool
from deploy.proving.machine.build import obstacle_to_building
from deploy.proving.subject import Subject
from platforms.base import BuildChoices, Firmware
from platforms.board_files import load_board
from platforms.cycles.stand_in import stand_in
from platforms.elf import segments
from platforms.project import App, project_source

# Compares the hashes of repeated builds.


@dataclass(frozen=True, slots=True)
class RebuildResult:
    """`hashes` has a SHA-256 for each build; `names` lists the parts that differ."""

    what: str
    hashes: tuple[str, ...]
    names: tuple[str, ...] = ()

    @property
    def is_same(self) -> bool:
        return len(set(self.hashes)) == 1

    @property
    def comparison(self) -> str:
        if self.is_same:
            return f"the same {len(self.hashes)} times"
        return "differs" + (f": {', '.join(self.names)}" if self.names else "")


def twice(what: str, made: Sequence[bytes], names: Sequence[str] = ()) -> RebuildResult:
    """Compares builds. Raises ToolError if one is empty, because empty builds are always equal."""
    if not all(made):
        raise ToolError(f"the {what} that was made is empty")
    return RebuildResult(what, tuple(hashlib.sha256(each).hexdigest() for each in made), tuple(names))


# Compiles a model file twice more, in processes that differ in everything that should not matter.

# Folder names and their environments: the order of sets, time zone and language differ.
PLACES = {
    "a": {"PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C"},
    "another folder/with a longer name": {"PYTHONHASHSEED": "2", "TZ": "Asia/Kathmandu", "LC_ALL": "C.UTF-8"},
}
_MESSAGE_LINES = 12


def compiled_again(artifact: Artifact, source: Path, board: str, folder: Path) -> RebuildResult:
    """Compares the existing archive with two more, built in separate processes. Raises ToolError."""
    made = [_compile(artifact, source, board, folder / place, changed) for place, changed in PLACES.items()]
    return twice("archive", [archive_bytes(artifact, export_time()), *made])


def _compile(artifact: Artifact, source: Path, board: str, place: Path, changed: dict[str, str]) -> bytes:
    """Returns the archive's bytes.

    The model file is copied with its folder, whose name may be the model's.
    """
    copy, archive = place / source.resolve().parent.name / source.name, place / "again.tar"
    copy.parent.mkdir(parents=True)
    shutil.copy(source, copy)
    words = (str(copy), "--board", board, *words_of(artifact.facts.options), "-o", str(archive))
    argv = (*module_argv("deploy"), "compile", *words)
    done = subprocess.run(argv, env={**os.environ, **changed}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = (done.stdout + done.stderr).strip().splitlines()[-_MESSAGE_LINES:]
        raise ToolError("compiling again failed", "\n".join(lines))
    return archive.read_bytes()


# Builds the firmware twice, in folders with different names, and compares the programs byte by byte.


def built_again(subject: Subject, folder: Path) -> Iterator[RebuildResult]:
    """Yields comparisons of the loaded bytes, and of the whole ELF file. Raises MissingToolError."""
    firmware = [_built(subject, folder / place / "firmware") for place in PLACES]
    yield twice("what is loaded of the firmware", [_loaded(each) for each in firmware])
    yield twice("ELF file of the firmware", [each.elf.read_bytes() for each in firmware])


def _built(subject: Subject, directory: Path) -> Firmware:
    assert subject.board is not None  # checked by obstacle_to_building()
    board = stand_in(subject.board)
    platform = platform_here(board)
    directory.parent.mkdir(parents=True, exist_ok=True)
    platform.generate(project_source(subject.artifact), directory, board, App.RPC)
    return build_project(platform, directory, board, BuildChoices(subject.toolchain))


def _loaded(firmware: Firmware) -> bytes:
    return b"".join(
        b"%08x" % each.addresses.start + each.data
        for each in sorted(segments(firmware.elf), key=lambda each: each.addresses.start)
    )


# Builds the wheel of this source tree twice: in place, and from a copy in another folder.

_NEEDED = ("pyproject.toml", "README.md", "LICENSE")
_PAGES = "docs"  # also included in the wheel
_NOT_COPIED = shutil.ignore_patterns("__pycache__", "*.pyc")


def source_tree() -> Path | None:
    """Returns the source tree that this program runs from, or None if it was installed."""
    tree = Path(__file__).resolve().parents[2]
    return tree if (tree / "pyproject.toml").is_file() and (tree / "Makefile").is_file() else None


def wheel_again(tree: Path, folder: Path) -> RebuildResult:
    """Builds the wheel twice. Raises MissingToolError without hatchling."""
    if find_spec("hatchling") is None:
        raise MissingToolError(
            "the Python package hatchling, which builds wheels, is not installed",
            hint="pip install hatchling",
        )
    copy = folder / "copy of the tree"
    copy.mkdir(parents=True)
    for name in (*packages_of(tree), _PAGES):
        shutil.copytree(tree / name, copy / name, ignore=_NOT_COPIED)
    for name in _NEEDED:
        shutil.copy(tree / name, copy / name)
    wheels = [_wheel(each, folder / f"wheel {n}") for n, each in enumerate((tree, copy))]
    return twice("wheel", [each.read_bytes() for each in wheels], _differing(*wheels))


def packages_of(tree: Path) -> list[str]:
    """Returns the top-level folders that are packages of the wheel."""
    return sorted(path.parent.name for path in tree.glob("*/py.typed"))


def _wheel(tree: Path, out: Path) -> Path:
    run_tool((*module_argv("hatchling"), "build", "-t", "wheel", "-d", str(out)), tree)
    return next(out.glob("*.whl"))


def _differing(first: Path, second: Path) -> list[str]:
    """Returns the names of files that differ."""
    with zipfile.ZipFile(first) as a, zipfile.ZipFile(second) as b:
        sums = [{info.filename: info.CRC for info in each.infolist()} for each in (a, b)]
    return sorted(name for name in {**sums[0], **sums[1]} if sums[0].get(name) != sums[1].get(name))


_METHOD = (
    "The model file is compiled twice more, by processes of their own, from copies in folders of different "
    "names and depth, with another order of Python's sets, another time zone and another language; the "
    "archives are compared with each other and with the one that this evidence is about.",
    "An archive holds the graph as the model file had it. This version compiles it again with the archive's "
    "options: all files, those of the runtime, and the facts in metadata.json have to be the same. Hashes in "
    "the archive count for nothing there: whoever changes a file can change its hash.",
    "The firmware for the board is built in two of these folders. What is loaded into the board is compared, "
    "and the whole ELF file, which may name its folder for debuggers.",
    "Where the program runs from its source tree, its wheel is built there and from a copy.",
    "All is made on one computer, by one compiler; the table's hashes are there for a second computer's.",
)


def examine_rebuild(subject: Subject) -> Finding:
    """Builds everything twice. Differences in archived or loaded files fail."""
    exceptions: list[str] = []
    with TemporaryDirectory() as name:
        made = tuple(_made(subject, Path(name), exceptions))
    if not made:
        return not_run("; ".join(exceptions))
    table = Table("Made more than once", ("what", "SHA-256", "outcome"), tuple(_rows(made)))
    differing = [each for each in made if not each.is_same]
    failed = [each.what for each in differing if each.what != _ELF]
    summary = f"the same bytes again: {', '.join(each.what for each in made if each.is_same) or 'nothing'}"
    if differing:
        summary += f"; not: {', '.join(each.what for each in differing)}"
    if failed:
        return Finding(Standing.FAILED, summary, (), _METHOD, (table,))
    exceptions += [
        f"the {each.what} {each.comparison}, as what debuggers read names its folder" for each in differing
    ]
    standing = Standing.EXCEPTIONS if exceptions else Standing.PROVEN
    return Finding(standing, summary, tuple(exceptions), _METHOD, (table,))


_ELF = "ELF file of the firmware"


def _made(subject: Subject, folder: Path, exceptions: list[str]) -> Iterator[RebuildResult]:
    """Yields everything that could be built twice. Obstacles are added to the exceptions."""
    if subject.is_archive:
        files = b"".join(name.encode() + data for name, data in sorted(subject.artifact.files.items()))
        yield twice("files of the archive", [files] * 2)  # chapters are not run for archives that differ
    if why := _obstacle_to_compiling(subject):
        exceptions.append(why)
    else:
        assert subject.source is not None  # checked by _obstacle_to_compiling()
        assert subject.board is not None
        yield compiled_again(subject.artifact, subject.source, subject.board.name, folder)
    if why := obstacle_to_building(subject):
        exceptions.append(f"the firmware is not made again: {why}")
    else:
        yield from _where_it_can_be(lambda: built_again(subject, folder), "firmware", exceptions)
    tree = source_tree()
    if tree is None:
        exceptions.append("the wheel is not made again: this program does not run from its source tree")
    else:
        yield from _where_it_can_be(lambda: [wheel_again(tree, folder)], "wheel", exceptions)


def _where_it_can_be(
    make: Callable[[], Iterable[RebuildResult]], what: str, exceptions: list[str]
) -> Iterator[RebuildResult]:
    try:
        yield from make()
    except MissingToolError as error:
        exceptions.append(f"the {what} is not made again: {error.what}")


def _obstacle_to_compiling(subject: Subject) -> str:
    facts = subject.artifact.facts
    if subject.source is None:
        return (
            f"that the graph in the archive is that of {facts.source_name}, SHA-256 {facts.model_hash}, is "
            "the archive's own word: name the model file, and it is compiled here"
        )
    assert subject.board is not None  # a model file is compiled for a board
    try:
        is_known = load_board(subject.board.name) == subject.board
    except DeployError:
        is_known = False
    no_board = f"the archive is not made again: no board is found by the name {subject.board.name} alone"
    return "" if is_known else no_board


def _rows(made: tuple[RebuildResult, ...]) -> Iterator[tuple[str, str, str]]:
    for each in made:
        yield each.what, each.hashes[0] if each.is_same else "", each.comparison
