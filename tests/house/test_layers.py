"""Data flows one way, and each foreign format has one room."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

# A file that breaks a contract -> what it imports -> the contract's name in pyproject.toml.
INTRUDERS = {
    "aot/intruder.py": ("codegen.model", "data flows one way"),
    "boards/intruder.py": ("serial", "serial ports live in platforms.transport"),
    "platforms/intruder.py": ("tflite", "TFLite's format lives in aot.frontend.tflite"),
    "codegen/intruder.py": ("onnx", "ONNX's format lives in aot.frontend.onnx"),
    "deploy/intruder.py": (
        "jinja2",
        "templates are rendered where files are made",
    ),
}


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).parent / "lint-imports"
    command = [str(program), "--no-cache", "--no-logo"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_every_import_keeps_to_the_layers(repo_root: Path) -> None:
    result = lint_imports(repo_root)
    assert result.returncode == 0, result.stdout


@pytest.mark.slow
def test_an_import_against_the_layers_is_found(
    repo_root: Path, package_names: tuple[str, ...], tmp_path: Path
) -> None:
    """A contract that never fails would say nothing."""
    shutil.copy(repo_root / "pyproject.toml", tmp_path)
    for package in package_names:
        shutil.copytree(repo_root / package, tmp_path / package)
    for file_name, (module, _) in INTRUDERS.items():
        (tmp_path / file_name).write_text(f"import {module}\n")
    report = lint_imports(tmp_path).stdout
    for _, contract in INTRUDERS.values():
        assert f"{contract} BROKEN" in report
