"""deploy new-accelerator writes a package that works from the start; a name that cannot be one is refused."""

import os
import subprocess
import sys

import pytest
from error_facts import refused

import deploy
from codegen.accelerators.names import EXAMPLES
from deploy.accelerator_package.write import package_files


@pytest.mark.parametrize("like", EXAMPLES)
def test_a_package_speaks_of_itself_only(like):
    made = package_files("my_npu", like)
    assert {"pyproject.toml", "README.md", "my_npu/accelerator.py", "tests/test_my_npu.py"} <= made.keys()
    inside = "\n".join(text for path, text in made.items() if path.startswith("my_npu/"))
    assert "my_npu" in inside
    assert not [word for word in ("to copy", "to be copied", *EXAMPLES) if word in inside.lower()]
    compile(made["my_npu/accelerator.py"], "accelerator.py", "exec")


@pytest.mark.cc
@pytest.mark.slow
def test_its_test_passes(repo_root, tmp_path, require_package):
    """All three are installed side by side, and their tests are one run."""
    require_package("pip", "hatchling")
    site, folders = tmp_path / "site", [tmp_path / f"like_{like}" for like in EXAMPLES]
    for folder, like in zip(folders, EXAMPLES, strict=True):
        answer = deploy.new_accelerator(folder.name, folder, like)
        assert answer["files"] == sorted(answer["files"])
    words = ["install", "--quiet", "--no-deps", "--no-build-isolation", "--target", str(site)]
    words += ["--disable-pip-version-check", *map(str, folders)]
    subprocess.run([sys.executable, "-m", "pip", *words], check=True)
    for folder in folders:
        written, installed = (
            {path.name for path in (place / folder.name).iterdir() if path.is_file()}
            for place in (folder, site)
        )
        assert installed == written
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(repo_root), str(site)))}
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
    argv += [str(folder / "tests") for folder in folders]
    # Not from their parent: there, each name is a folder that is no package.
    done = subprocess.run(argv, cwd=site, env=environment, capture_output=True, text=True, check=False)
    assert "6 passed" in done.stdout, done.stdout + done.stderr


def test_the_page_says_what_comes_next(run_deploy, tmp_path):
    folder = tmp_path / "npu_a"
    out = run_deploy("new-accelerator", "npu_a", folder).out
    assert out.startswith(f"{folder}: the accelerator npu_a, like vanilla\n  README.md\n")
    assert out.endswith(f"  next: pip install -e {folder}, then deploy accelerators\n")
    again = run_deploy("new-accelerator", "npu_a", folder)
    assert "error: the folder is not empty, and deploy does not overwrite files" in again.err


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("My-NPU", 'error: "My-NPU" cannot be the name of an accelerator\n  hint: use lower-case letters'),
        ("while", 'error: "while" cannot be the name of an accelerator'),
        ("int", 'error: "int" cannot be the name of an accelerator'),
        (
            "vanilla",
            'error: an accelerator "vanilla" already exists\n  hint: deploy accelerators lists them',
        ),
        (
            "json",
            'error: "json" is a Python package on this machine\n  hint: choose another name, which does not '
            "hide it",
        ),
    ],
)
def test_a_name_that_cannot_be_one_is_refused(name, text, run_deploy, tmp_path):
    done = run_deploy("new-accelerator", name, tmp_path / "p")
    assert done.status == 1
    assert text in done.err
    assert not (tmp_path / "p").exists()


def test_what_it_is_like_must_be_there(tmp_path):
    refused(
        lambda: deploy.new_accelerator("npu_b", tmp_path / "p", "strawbery"),
        '"strawbery" "strawberry"? like known mean vanilla strawberry',
    )
