"""The same model gives the same bytes, whatever the folder, the day and the order of hashes."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from tiny_models import TINY

COMPILE = """
from pathlib import Path
from aot.target import Feature, Target
from artifact.archive import write_archive
from artifact.artifact import artifact_of
from codegen.compile import compile_job
from codegen.job import read_job
from codegen.options import CompileOptions

target = Target("cortex-m4", frozenset({Feature.DSP, Feature.FPU, Feature.UNALIGNED}))
model = compile_job(read_job(Path("classifier.tflite"), target, CompileOptions()))
write_archive(artifact_of(model, {"b.h": b"b", "a.h": b"a"}), Path("out.tar"))
"""


def start(folder: Path, hash_seed: str, root: Path) -> subprocess.Popen[bytes]:
    folder.mkdir(parents=True)
    (folder / "classifier.tflite").write_bytes(TINY["classifier"]())
    environment = {k: v for k, v in os.environ.items() if k != "SOURCE_DATE_EPOCH"}
    environment.update(PYTHONHASHSEED=hash_seed, PYTHONPATH=str(root), TZ=f"UTC-{hash_seed}")
    return subprocess.Popen([sys.executable, "-c", COMPILE], cwd=folder, env=environment)


@pytest.mark.slow
def test_two_compiles_in_different_folders_give_the_same_bytes(tmp_path: Path, repo_root: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "some where" / "else"]
    running = [start(folder, str(seed), repo_root) for seed, folder in enumerate(folders, start=3)]
    assert [process.wait(timeout=120) for process in running] == [0, 0]
    one, other = ((folder / "out.tar").read_bytes() for folder in folders)
    assert one == other
    assert str(tmp_path).encode() not in one


def test_entries_belong_to_nobody_and_have_no_date(archive_path: Path) -> None:
    with tarfile.open(archive_path, "r:") as tar:
        facts = {(i.uid, i.gid, i.uname, i.gname, i.mtime, i.mode, i.type) for i in tar}
    assert facts == {(0, 0, "", "", 0, 0o644, tarfile.REGTYPE)}


def test_entries_are_sorted_after_the_metadata(archive_path: Path) -> None:
    with tarfile.open(archive_path, "r:") as tar:
        first, *others = tar.getnames()
    assert first == "./metadata.json"
    assert others == sorted(others)
