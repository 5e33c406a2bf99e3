"""A release: the fragments become a version of the changelog, once, and only what comes after is taken."""

from __future__ import annotations

import importlib.util
from datetime import date
from pathlib import Path
from types import ModuleType

import pytest

DAY = date(2031, 2, 3)


@pytest.fixture(scope="module")
def release(repo_root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("release", repo_root / ".ci" / "release.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """What a release reads and writes of a repository."""
    (tmp_path / "docs" / "changes").mkdir(parents=True)
    (tmp_path / "codegen").mkdir()
    (tmp_path / "codegen" / "version.py").write_text('VERSION = "0.9.0"  # the package\'s\n')
    (tmp_path / "CITATION.cff").write_text("cff-version: 1.2.0\nversion: 0.9.0\n")
    for name, text in {
        "README.md": "How to write one.",
        "fixed-b.md": "Bees are counted.\n",
        "added-wasps.md": "Wasps are known,\nall of them.\n",
        "fixed-a.md": "Ants are counted.\n",
    }.items():
        (tmp_path / "docs" / "changes" / name).write_text(text)
    return tmp_path


def test_fragments_become_a_version_by_kind_and_leave_their_folder(release: ModuleType, tree: Path) -> None:
    release.gather(tree, "0.10.0", DAY)
    assert (tree / "CHANGELOG.md").read_text() == (
        "# Changelog\n\nChanges that users notice, by version.\n"
        "\n## 0.10.0 (2031-02-03)\n"
        "\n### Added\n\n- Wasps are known,\n  all of them.\n"
        "\n### Fixed\n\n- Ants are counted.\n- Bees are counted.\n"
    )
    assert [path.name for path in (tree / "docs" / "changes").iterdir()] == ["README.md"]
    assert (tree / "CITATION.cff").read_text() == "cff-version: 1.2.0\nversion: 0.10.0\n"
    assert (tree / "codegen" / "version.py").read_text() == 'VERSION = "0.10.0"  # the package\'s\n'


def test_a_fragment_may_be_a_list_and_its_links_lead_from_the_root(release: ModuleType, tree: Path) -> None:
    text = "- Ladybirds [too](../boards.md#beetles).\n- Moths.\n"
    (tree / "docs" / "changes" / "changed-others.md").write_text(text)
    release.gather(tree, "0.10.0", DAY)
    section = "\n### Changed\n\n- Ladybirds [too](docs/boards.md#beetles).\n- Moths.\n"
    assert section in (tree / "CHANGELOG.md").read_text()


def test_the_newest_version_comes_first(release: ModuleType, tree: Path) -> None:
    release.gather(tree, "0.10.0", DAY)
    (tree / "docs" / "changes" / "removed-c.md").write_text("Caterpillars are gone.")
    release.gather(tree, "1.0.0", DAY)
    changelog = (tree / "CHANGELOG.md").read_text()
    assert changelog.count("# Changelog\n") == 1
    heads = [line for line in changelog.splitlines() if line.startswith("## ")]
    assert heads == ["## 1.0.0 (2031-02-03)", "## 0.10.0 (2031-02-03)"]


@pytest.mark.parametrize(
    ("version", "says"),
    [
        ("0.9.0", "0.9.0 is not after 0.9.0, the version of the tree"),
        ("0.8.11", "0.8.11 is not after 0.9.0, the version of the tree"),
        ("next", '"next" is not a version: three numbers are, as in 1.2.3'),
    ],
)
def test_a_version_that_is_not_the_next_changes_nothing(
    release: ModuleType, tree: Path, version: str, says: str
) -> None:
    with pytest.raises(release.ReleaseError, match=f"^{says}$"):
        release.gather(tree, version, DAY)
    assert not (tree / "CHANGELOG.md").exists()
    assert len(list((tree / "docs" / "changes").iterdir())) == 4


def test_a_release_without_a_change_is_none(release: ModuleType, tree: Path) -> None:
    release.gather(tree, "0.10.0", DAY)
    with pytest.raises(release.ReleaseError, match="has no fragments: nothing has changed"):
        release.gather(tree, "0.11.0", DAY)


def test_the_changelog_begins_as_a_release_expects_it(repo_root: Path, release: ModuleType) -> None:
    assert (repo_root / "CHANGELOG.md").read_text(encoding="utf-8").startswith(release.TITLE)


def test_words_that_are_not_a_command_are_reported(
    release: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release.main(["gather"]) == 2
    assert capsys.readouterr().err == "release.py gather VERSION | release.py check\n"
