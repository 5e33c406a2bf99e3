"""Files that GitHub reads: checked by their schemas, and against our own versions and commands."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

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
def test_a_file_keeps_to_its_schema(
    pattern: str, schema: str, repo_root: Path, require_package: Callable[..., None]
) -> None:
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


def test_ci_runs_each_python_that_the_package_claims(repo_root: Path) -> None:
    (tested,) = re.findall(r'python: \[(".*")\]', workflow(repo_root, "ci"))
    project = read_toml(repo_root / "pyproject.toml", "the project")["project"]
    claimed = re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))
    assert re.findall(r'"(3\.\d+)"', tested) == claimed, "pyproject.toml's classifiers and ci.yml differ"


def test_workflows_run_targets_of_make_that_exist(repo_root: Path) -> None:
    texts = [path.read_text(encoding="utf-8") for path in (repo_root / ".github" / "workflows").glob("*.yml")]
    makefile = (repo_root / "Makefile").read_text(encoding="utf-8")
    named = {name for text in texts for name in re.findall(r"make ([a-z]+)", text)} | {"fuzz", "mutants"}
    assert len(texts) == 4
    assert [name for name in named if not re.search(rf"^{name}:", makefile, re.MULTILINE)] == []


def test_a_citation_names_this_version(repo_root: Path) -> None:
    assert f"\nversion: {VERSION}\n" in (repo_root / "CITATION.cff").read_text(encoding="utf-8")
