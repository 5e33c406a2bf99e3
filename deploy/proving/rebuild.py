"""The chapter on reproducible builds: builds archive, firmware and wheel twice and compares the bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from aot.errors import DeployError, MissingToolError
from deploy.proving.chapter import Finding, Standing, Table, not_run
from deploy.proving.machine.build import obstacle_to_building
from deploy.proving.rebuilding.archives import compiled_again
from deploy.proving.rebuilding.firmware import built_again
from deploy.proving.rebuilding.twice import RebuildResult, twice
from deploy.proving.rebuilding.wheel import source_tree, wheel_again
from deploy.proving.subject import Subject
from platforms.board_files import load_board

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
        f"the {each.what} {each.says}, as what debuggers read names its folder" for each in differing
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
        yield each.what, each.hashes[0] if each.is_same else "", each.says
