"""A release: the summary of unreleased changes gets its version, once, and only if it is whole and short."""

from __future__ import annotations

import importlib.util
import re
from datetime import date
from pathlib import Path
from types import ModuleType

import pytest

DAY = date(2031, 2, 3)
BEFORE = """\
# Changelog

## Unreleased

### Added

- Wasps are known.

## 0.9.0 (2030-01-01)

- Ants are counted.
"""


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
    (tmp_path / "docs" / "changes" / "README.md").write_text("How to write one.")
    (tmp_path / "CHANGELOG.md").write_text(BEFORE)
    return tmp_path


def test_the_summary_becomes_a_version(release: ModuleType, tree: Path) -> None:
    release.name_version(tree, "0.10.0", DAY)
    after = BEFORE.replace("## Unreleased", "## 0.10.0 (2031-02-03)")
    assert (tree / "CHANGELOG.md").read_text() == after
    assert (tree / "CITATION.cff").read_text() == "cff-version: 1.2.0\nversion: 0.10.0\n"
    assert (tree / "codegen" / "version.py").read_text() == 'VERSION = "0.10.0"  # the package\'s\n'


def test_a_fragment_that_is_not_folded_in_is_named(release: ModuleType, tree: Path) -> None:
    (tree / "docs" / "changes" / "added-wasps.md").write_text("Wasps are known.\n")
    require_refused(
        release, tree, "1 fragments of docs/changes into CHANGELOG.md and delete them: added-wasps.md"
    )


def test_a_version_needs_a_summary_of_two_screens(release: ModuleType, tree: Path) -> None:
    (tree / "CHANGELOG.md").write_text(BEFORE.replace("Wasps are known.", "Wasps.\n" * 100))
    require_refused(release, tree, "has 104 lines, the limit is 80")
    (tree / "CHANGELOG.md").write_text(BEFORE.replace("## Unreleased", "## 0.9.1"))
    require_refused(release, tree, 'no section "## Unreleased"')


def require_refused(release: ModuleType, tree: Path, facts: str, version: str = "0.10.0") -> None:
    before = (tree / "CHANGELOG.md").read_text()
    with pytest.raises(release.ReleaseError, match=re.escape(facts)):
        release.name_version(tree, version, DAY)
    assert (tree / "CHANGELOG.md").read_text() == before
    assert '"0.9.0"' in (tree / "codegen" / "version.py").read_text()


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
    require_refused(release, tree, says, version)


def test_the_changelog_is_one_that_a_release_takes(
    repo_root: Path, release: ModuleType, tmp_path: Path
) -> None:
    changelog = (repo_root / "CHANGELOG.md").read_text(encoding="utf-8")
    assert changelog.startswith("# Changelog\n")
    if release.UNRELEASED in changelog:
        release._require_summary(changelog, tmp_path)


def test_words_that_are_not_a_command_are_reported(
    release: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release.main(["name"]) == 2
    assert capsys.readouterr().err == "release.py name VERSION | release.py check\n"
