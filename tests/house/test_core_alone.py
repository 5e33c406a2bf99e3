"""The core works without the package `extensions`: it compiles, lists what there is, and its tests pass."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tree_copies import copy_folders

# Tests of the core that ask for no part: what runs them all takes minutes.
TESTS = (
    "tests/kernels/test_strategies.py",
    "tests/extensions/test_extensions.py",
    "tests/passes/test_rewrite.py",
)


@pytest.fixture(scope="module")
def core(repo_root, tmp_path_factory):
    """A copy of the tree without the parts."""
    tree = tmp_path_factory.mktemp("core")
    packages = ("aot", "codegen", "artifact", "boards", "platforms", "project_templates", "deploy", "solder")
    copy_folders(repo_root, (*packages, "tests"), tree)
    shutil.copy(repo_root / "pyproject.toml", tree)
    # A package of this name that is found first, and empty: the tree under test may be installed.
    (tree / "extensions").mkdir()
    (tree / "extensions/__init__.py").touch()
    return tree


def run(core: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(core), "XDG_CONFIG_HOME": str(core / "config")}
    return subprocess.run(
        (sys.executable, *argv), cwd=core, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_a_model_compiles_and_no_accelerator_is_known(core):
    words = ("-m", "deploy", "compile", "deploy/demo/digits.tflite", "--board", "mps2-an386", "-o", "out")
    done = run(core, *words)
    assert done.returncode == 0, done.stderr
    assert (core / "out/digits.c").is_file()
    refused = run(core, *words, "--accelerator", "gemm-npu")
    assert '"gemm-npu"' in refused.stderr
    assert "Traceback" not in refused.stderr
    listed = run(core, "-m", "deploy", "accelerators")
    assert (listed.returncode, "gemm-npu" in listed.stdout) == (0, False), listed.stderr


@pytest.mark.slow
def test_its_tests_pass(core):
    done = run(core, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", *TESTS)
    assert done.returncode == 0, done.stdout
