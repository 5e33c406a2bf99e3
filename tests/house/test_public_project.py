"""What others read of the project: GitHub's files, the release, its name on PyPI, what make installs."""

import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from types import ModuleType

import pytest
from error_facts import require_facts

from aot.distribution import DISTRIBUTION, pip_install
from boards.files import read_toml
from codegen.version import VERSION

SCHEMAS = {
    ".github/workflows/*.yml": "vendor.github-workflows",
    "actions/*/action.yml": "vendor.github-actions",
    ".github/dependabot.yml": "vendor.dependabot",
    ".github/ISSUE_TEMPLATE/[!c]*.yml": "vendor.github-issue-forms",
    ".github/ISSUE_TEMPLATE/config.yml": "vendor.github-issue-config",
    "CITATION.cff": "vendor.citation-file-format",
}


@pytest.mark.slow
@pytest.mark.parametrize(("pattern", "schema"), SCHEMAS.items())
def test_a_file_keeps_to_its_schema(pattern, schema, repo_root, require_package):
    require_package("check_jsonschema")
    files = sorted(repo_root.glob(pattern))
    assert files, pattern
    command = [
        sys.executable,
        "-m",
        "check_jsonschema",
        "--default-filetype",
        "yaml",
        "--builtin-schema",
        schema,
    ]
    done = subprocess.run([*command, *map(str, files)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def workflow(repo_root: Path, name: str) -> str:
    return (repo_root / ".github" / "workflows" / f"{name}.yml").read_text(encoding="utf-8")


def test_ci_runs_each_python_that_the_package_claims(repo_root):
    (tested,) = re.findall(r'python: \[(".*")\]', workflow(repo_root, "ci"))
    project = read_toml(repo_root / "pyproject.toml", "the project")["project"]
    claimed = re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))
    assert re.findall(r'"(3\.\d+)"', tested) == claimed, "pyproject.toml's classifiers and ci.yml differ"


def test_workflows_run_targets_of_make_that_exist(repo_root):
    texts = [path.read_text(encoding="utf-8") for path in (repo_root / ".github" / "workflows").glob("*.yml")]
    makefile = (repo_root / "Makefile").read_text(encoding="utf-8")
    named = {name for text in texts for name in re.findall(r"make ([a-z]+)", text)} | {"fuzz", "mutants"}
    assert len(texts) == 4
    assert [name for name in named if not re.search(rf"^{name}:", makefile, re.MULTILINE)] == []


def test_a_citation_names_this_version(repo_root):
    assert f"\nversion: {VERSION}\n" in (repo_root / "CITATION.cff").read_text(encoding="utf-8")


DAY = date(2031, 2, 3)
BEFORE = """\
# Changelog

## Unreleased

### Added

- Wasps are known.

## 0.9.0 (2030-01-01)

- Ants are counted.
"""


def script(repo_root: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, repo_root / ".ci" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def release(repo_root):
    return script(repo_root, "release")


@pytest.fixture
def tree(tmp_path):
    """What a release reads and writes of a repository."""
    (tmp_path / "docs" / "changes").mkdir(parents=True)
    (tmp_path / "codegen").mkdir()
    (tmp_path / "codegen" / "version.py").write_text('VERSION = "0.9.0"  # the package\'s\n')
    (tmp_path / "CITATION.cff").write_text("cff-version: 1.2.0\nversion: 0.9.0\n")
    (tmp_path / "docs" / "changes" / "README.md").write_text("How to write one.")
    (tmp_path / "CHANGELOG.md").write_text(BEFORE)
    return tmp_path


def test_the_summary_becomes_a_version(release, tree):
    release.name_version(tree, "0.10.0", DAY)
    after = BEFORE.replace("## Unreleased", "## 0.10.0 (2031-02-03)")
    assert (tree / "CHANGELOG.md").read_text() == after
    assert (tree / "CITATION.cff").read_text() == "cff-version: 1.2.0\nversion: 0.10.0\n"
    assert (tree / "codegen" / "version.py").read_text() == 'VERSION = "0.10.0"  # the package\'s\n'


def test_a_fragment_that_is_not_folded_in_is_named(release, tree):
    (tree / "docs" / "changes" / "added-wasps.md").write_text("Wasps are known.\n")
    require_refused(
        release, tree, "1 fragments of docs/changes into CHANGELOG.md and delete them: added-wasps.md"
    )


def test_a_version_needs_a_summary_of_two_screens(release, tree):
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
def test_a_version_that_is_not_the_next_changes_nothing(release, tree, version, says):
    require_refused(release, tree, says, version)


def test_the_changelog_is_one_that_a_release_takes(repo_root, release, tmp_path):
    changelog = (repo_root / "CHANGELOG.md").read_text(encoding="utf-8")
    assert changelog.startswith("# Changelog\n")
    if release.UNRELEASED in changelog:
        release._require_summary(changelog, tmp_path)


def test_words_that_are_not_a_command_are_reported(release, capsys):
    assert release.main(["name"]) == 2
    assert capsys.readouterr().err == "release.py name VERSION | release.py check\n"


ASKED = re.compile(r"\b(solder(?:-\w+)*)\[([a-z,]+)\]")  # as pip takes it: name and extras


@pytest.fixture(scope="module")
def project(repo_root):
    return dict(read_toml(repo_root / "pyproject.toml", "the project")["project"])


def test_the_project_has_that_name(project):
    assert project["name"] == DISTRIBUTION != "solder"


@pytest.mark.slow
def test_hints_and_pages_ask_pip_for_it_and_for_extras_that_it_has(repo_files, project):
    of_today = [path for path in repo_files if path.name != "CHANGELOG.md"]
    texts = [path.read_text(encoding="utf-8") for path in of_today if b"\0" not in path.read_bytes()]
    asked = {found for text in texts for found in ASKED.findall(text)}
    assert len(asked) > 5
    assert {name for name, _ in asked} == {DISTRIBUTION}
    assert {extra for _, extras in asked for extra in extras.split(",")} <= project[
        "optional-dependencies"
    ].keys()


def test_a_hint_is_a_line_to_copy():
    assert pip_install("zig", "unicorn") == "pip install 'solder-mcu[zig,unicorn]'"


ARM = {"gcc", "clang", "arm-none-eabi-gcc", "qemu-system-arm"}
RISC_V = {"riscv64-unknown-elf-gcc", "qemu-system-riscv32"}
ARDUINO = {"avr-gcc", "arduino-builder", "simavr"}
EVERYTHING = ARM | RISC_V | ARDUINO | {"g++", "ccache", "chromium", "cmake", "rustc", "cargo"}


@pytest.fixture(scope="module")
def prepare(repo_root):
    return script(repo_root, "prepare")


def give_programs(monkeypatch: pytest.MonkeyPatch, programs: Iterable[str]) -> None:
    found = set(programs)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}" if name in found else None)


@pytest.mark.parametrize(
    ("programs", "extras"),
    [
        (EVERYTHING, ()),
        (EVERYTHING - {"clang"}, ()),
        (EVERYTHING - {"qemu-system-arm"}, ("unicorn",)),
        (EVERYTHING - {"arm-none-eabi-gcc"}, ("zig",)),
        (EVERYTHING - {"gcc", "clang"}, ("zig",)),
        (set(), ("zig", "unicorn")),
    ],
)
def test_the_demo_takes_from_pip_only_what_the_machine_lacks(prepare, monkeypatch, programs, extras):
    give_programs(monkeypatch, programs)
    assert prepare.demo_extras() == extras


def test_the_tests_need_no_package_that_is_there(prepare, monkeypatch):
    give_programs(monkeypatch, EVERYTHING)
    assert prepare.missing_packages() == ()


def test_a_compiler_without_its_library_gets_it(prepare, monkeypatch, tmp_path):
    """Programs alone do not say it: Debian's cross compilers come without a C library."""
    give_programs(monkeypatch, EVERYTHING)
    monkeypatch.setattr(prepare, "DEBIAN", tmp_path)
    assert prepare.missing_packages() == ()  # elsewhere nothing is known of its places
    (there := tmp_path / "string.h").touch()
    monkeypatch.setattr(prepare, "DEBIAN", there)
    files = {str(there): ("here",), str(tmp_path / "sodium.h"): ("libsodium-dev",)}
    monkeypatch.setattr(prepare, "FILES", files)
    assert prepare.missing_packages() == ("libsodium-dev",)


@pytest.mark.parametrize(("has_runtime", "packages"), [(True, ()), (False, ("libclang-rt-14-dev",))])
def test_clang_gets_the_runtime_of_its_sanitizers(prepare, monkeypatch, tmp_path, has_runtime, packages):
    said = {"-print-resource-dir": str(tmp_path), "-dumpversion": "14.0.6"}
    monkeypatch.setattr(prepare, "_said_by", lambda _, word: said[word])
    (tmp_path / "lib" / "linux").mkdir(parents=True)
    if has_runtime:
        (tmp_path / "lib" / "linux" / "libclang_rt.asan-x86_64.a").touch()
    give_programs(monkeypatch, EVERYTHING)
    assert prepare.sanitizer_packages() == packages


def test_without_clang_no_runtime_is_missing(prepare, monkeypatch):
    give_programs(monkeypatch, EVERYTHING - {"clang"})
    assert prepare.sanitizer_packages() == ()


def test_packages_are_named_where_apt_cannot_install_them(prepare, monkeypatch, capsys):
    give_programs(monkeypatch, EVERYTHING - {"arm-none-eabi-gcc", "qemu-system-arm"})
    assert not prepare.install_programs(prepare.missing_packages())
    require_facts(
        capsys.readouterr().err,
        "gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm missing machine apt-get Debian's "
        "install names",
    )
