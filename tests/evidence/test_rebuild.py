"""What is made again elsewhere has the same bytes; what has not is told, and what was not made again, too."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from strict_archives import artifact

import deploy
from aot.errors import ToolError
from aot.target import Optimize
from codegen.options import CompileOptions, words_of
from deploy.proving import rebuild
from deploy.proving.chapter import Standing
from deploy.proving.rebuild import (
    RebuildResult,
    examine_rebuild,
    packages_of,
    source_tree,
    twice,
    wheel_again,
)
from deploy.proving.subject import About, Subject, subject_of
from platforms.board_files import load_board

DIGITS = Path(deploy.__file__).parent / "demo" / "digits.tflite"
ELF, WHEEL = "ELF file of the firmware", "wheel"


@pytest.fixture
def no_wheel(monkeypatch):
    monkeypatch.setattr(rebuild, "source_tree", lambda: None)


@pytest.mark.arm
@pytest.mark.usefixtures("no_wheel")
def test_archive_and_firmware_are_the_same_bytes_elsewhere():
    options = CompileOptions(optimize=Optimize.RAM)
    found = examine_rebuild(subject_of(DIGITS, About(board=load_board("mps2-an386")), options))
    outcomes = {row[0]: row[2] for row in found.tables[0].rows}
    assert outcomes["archive"] == "the same 3 times"
    assert outcomes["what is loaded of the firmware"] == "the same 2 times"
    assert found.verdict is Standing.EXCEPTIONS
    differs = "the ELF file of the firmware differs, as what debuggers read names its folder"
    assert found.exceptions == (
        "the wheel is not made again: this program does not run from its source tree",
        *([differs] if outcomes["ELF file of the firmware"] == "differs" else []),  # not where ccache has it
    )


@pytest.fixture
def made(monkeypatch):
    """made(archive): a subject whose archive was made again like this, and nothing else."""
    monkeypatch.setattr(rebuild, "source_tree", lambda: Path())
    monkeypatch.setattr(rebuild, "wheel_again", lambda tree, folder: twice(WHEEL, [b"wheel"] * 2))
    monkeypatch.setattr(rebuild, "obstacle_to_building", lambda subject: "")

    def built(subject: Subject, folder: Path) -> Iterator[RebuildResult]:
        yield twice(ELF, [b"elf"] * 2)

    monkeypatch.setattr(rebuild, "built_again", built)

    def subject(archive: RebuildResult) -> Subject:
        monkeypatch.setattr(rebuild, "compiled_again", lambda *given: archive)
        return Subject(artifact("dense"), load_board("mps2-an386"), source=DIGITS)

    return subject


def test_another_archive_the_second_time_fails(made):
    found = examine_rebuild(made(twice("archive", [b"one", b"another"])))
    assert found.verdict is Standing.FAILED
    assert found.summary == "the same bytes again: ELF file of the firmware, wheel; not: archive"
    assert ("archive", "", "differs") in found.tables[0].rows


def test_the_same_bytes_of_everything_are_a_proof(made):
    found = examine_rebuild(made(twice("archive", [b"one"] * 3)))
    assert (found.verdict, found.summary) == (
        Standing.PROVEN,
        "the same bytes again: archive, ELF file of the firmware, wheel",
    )


@pytest.mark.usefixtures("no_wheel")
def test_what_could_not_be_made_again_is_reported(made):
    subject = made(twice("archive", [b"one"]))
    by_itself = examine_rebuild(replace(subject, source=None))
    assert by_itself.exceptions[0] == (
        f"that the graph in the archive is that of dense.tflite, SHA-256 {'cd' * 32}, is the archive's own "
        "word: name the model file, and it is compiled here"
    )
    elsewhere = replace(load_board("mps2-an386"), name="of-a-user")
    found = examine_rebuild(replace(subject, board=elsewhere))
    assert found.exceptions[0] == (
        "the archive is not made again: no board is found by the name of-a-user alone"
    )


def test_options_become_the_words_that_make_them():
    options = CompileOptions(optimize=Optimize.RAM, disabled_passes=("fold-scales", "merge-pads"))
    assert list(words_of(options)) == [
        "--optimize", "ram", "--disable", "fold-scales", "--disable", "merge-pads",
    ]  # fmt: skip
    assert list(words_of(CompileOptions())) == []


@pytest.mark.slow
def test_the_wheel_is_the_same_from_a_copy_of_the_tree(require_package, tmp_path):
    require_package("hatchling")
    tree = source_tree()
    assert tree is not None
    assert "deploy" in packages_of(tree)
    assert wheel_again(tree, tmp_path).comparison == "the same 2 times"


def test_nothing_made_twice_is_not_the_same():
    with pytest.raises(ToolError, match="the wheel that was made is empty"):
        twice(WHEEL, [b"", b""])


def test_names_of_parts_that_differ_are_reported():
    assert twice(WHEEL, [b"a", b"b"], ["deploy/x.py"]).comparison == "differs: deploy/x.py"
