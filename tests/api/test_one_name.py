"""`import solder` is the one name to learn: all that `deploy` has, the same objects, as quick to import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import deploy
import solder
from deploy import lang

SAYS_WHAT_IS_LOADED = "import sys, solder; print([n for n in sys.modules if n.startswith('codegen')])"


def test_it_has_the_same_objects_under_the_same_names() -> None:
    assert solder.__all__ == deploy.__all__
    for name in solder.__all__:
        assert getattr(solder, name) is getattr(deploy, name)
    assert set(solder.__all__) <= set(dir(solder))


def test_the_language_is_the_same_module_however_it_is_imported() -> None:
    import solder.lang

    assert sys.modules["solder.lang"] is lang
    assert solder.lang is lang


def test_nothing_of_the_compiler_is_loaded_before_it_is_asked_for() -> None:
    argv = [sys.executable, "-c", SAYS_WHAT_IS_LOADED]
    assert subprocess.run(argv, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_file_that_hides_ours_is_named_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "deploy.py").write_text("print('mine')\n")
    argv = [sys.executable, "-c", "import solder"]
    said = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True).stderr.splitlines()[-1]
    assert said == (
        f"ImportError: {tmp_path / 'deploy.py'} hides Solder's package deploy: rename it, "
        "or start Python in another folder (deploy doctor tells of such files)"
    )
