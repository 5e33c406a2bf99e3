"""docs/exporting.md is true: where a framework is installed its lines run, and what they write compiles."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from aot.frontend.input_overrides import NO_OVERRIDES, InputOverrides
from aot.frontend.load import load_model
from aot.target import Target
from codegen.compile import compile_job
from codegen.job import ImportedModel, Job
from codegen.options import CompileOptions

NEEDED = {
    "keras": ("keras", "tensorflow"),
    "sklearn": ("sklearn", "skl2onnx"),
    "torch": ("torch", "onnx"),
    "jax": ("jax", "jax2onnx"),
}
WRITES = {"keras": "model.tflite", "sklearn": "model.onnx", "torch": "model.onnx", "jax": "model.onnx"}
OPEN = {"sklearn": InputOverrides(shapes={"X": (1, 6)})}


def blocks(page: str) -> dict[str, str]:
    return dict(re.findall(r"```python (\w+)\n(.*?)```", page, re.DOTALL))


def test_the_page_shows_each_framework(repo_root: Path) -> None:
    page = (repo_root / "docs" / "exporting.md").read_text()
    for name, code in blocks(page).items():
        compile(code, name, "exec")
    assert set(blocks(page)) == set(NEEDED)


@pytest.mark.slow
@pytest.mark.parametrize("framework", NEEDED)
def test_what_the_page_exports_compiles(framework: str, repo_root: Path, tmp_path: Path) -> None:
    missing = [package for package in NEEDED[framework] if find_spec(package) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed: not asked for")
    code = blocks((repo_root / "docs" / "exporting.md").read_text())[framework]
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True)
    graph = load_model(tmp_path / WRITES[framework], overrides=OPEN.get(framework, NO_OVERRIDES))
    model = compile_job(
        Job(ImportedModel(graph, WRITES[framework], "00" * 32, "model"), Target("host"), CompileOptions())
    )
    assert model.sources
