"""Packages import in one direction, each file format in one package, and kernels know no instruction set."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tree_copies import copy_folders

from codegen.isa import ISAS

# A file that breaks a contract -> what it imports -> the contract's name in pyproject.toml.
INTRUDERS = {
    "aot/intruder.py": ("codegen.model", "data flows one way"),
    "boards/intruder.py": ("serial", "serial ports live in platforms.transport"),
    "platforms/intruder.py": ("tflite", "TFLite's format lives in aot.frontend.tflite"),
    "codegen/intruder.py": ("onnx", "ONNX's format lives in aot.frontend.onnx"),
    "codegen/kernels/intruder.py": ("codegen.isa.rvv.isa", "kernels know no instruction set"),
    "codegen/accelerators/intruder.py": ("extensions.vanilla", "the core names no extension"),
    "codegen/c/intruder.py": ("codegen.fit.budgets", "C is made of plans, whoever searches them"),
    "platforms/transport/intruder.py": (
        "platforms.rpc.trace",
        "lines carry bytes, packets are the session's",
    ),
    "deploy/intruder.py": (
        "jinja2",
        "templates are rendered where files are made",
    ),
}


# Each instruction set of the table stands above the kernels and beside the others, also a new one.
CONTRACT = f"""
[[tool.importlinter.contracts]]
name = "kernels know no instruction set"
type = "layers"
layers = [
  "codegen.lower",
  "codegen.isa.table",
  "{" | ".join(f"codegen.isa.{name}" for name in ISAS)}",
  "codegen.isa.isa | codegen.isa.strategy_table",
  "codegen.kernels",
  "codegen.isa.plain",
]
"""


def lint_imports(folder: Path, repo_root: Path, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """By the contracts of pyproject.toml and the one that is made here."""
    program = Path(sys.executable).parent / "lint-imports"
    config = tmp_path / "pyproject.toml"
    config.write_text((repo_root / "pyproject.toml").read_text(encoding="utf-8") + CONTRACT, encoding="utf-8")
    command = [str(program), "--no-cache", "--no-logo", "--config", str(config)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_every_import_keeps_to_the_layers(repo_root: Path, tmp_path: Path) -> None:
    result = lint_imports(repo_root, repo_root, tmp_path)
    assert result.returncode == 0, result.stdout


@pytest.mark.slow
def test_an_import_against_the_layers_is_found(
    repo_root: Path, package_names: tuple[str, ...], tmp_path: Path
) -> None:
    copy_folders(repo_root, package_names, tmp_path)
    for file_name, (module, _) in INTRUDERS.items():
        (tmp_path / file_name).write_text(f"import {module}\n")
    report = lint_imports(tmp_path, repo_root, tmp_path).stdout
    for _, contract in INTRUDERS.values():
        assert f"{contract} BROKEN" in report
