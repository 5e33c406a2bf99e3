"""An archive is the same bytes on every run, and is written whole or not at all."""

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
from error_facts import require_facts
from tiny_models import TINY

from aot.errors import OutputError
from aot.ir.types import Array
from artifact.archive import read_archive, write_archive
from artifact.artifact import ParametersError, artifact_of, pack_parameters, unpack_parameters
from codegen.compile import CompiledModel

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
def test_two_compiles_in_different_folders_give_the_same_bytes(tmp_path, repo_root):
    folders = [tmp_path / "one", tmp_path / "some where" / "else"]
    running = [start(folder, str(seed), repo_root) for seed, folder in enumerate(folders, start=3)]
    assert [process.wait(timeout=120) for process in running] == [0, 0]
    one, other = ((folder / "out.tar").read_bytes() for folder in folders)
    assert one == other
    assert str(tmp_path).encode() not in one


def test_entries_belong_to_nobody_and_have_no_date(archive_path):
    with tarfile.open(archive_path, "r:") as tar:
        facts = {(i.uid, i.gid, i.uname, i.gname, i.mtime, i.mode, i.type) for i in tar}
    assert facts == {(0, 0, "", "", 0, 0o644, tarfile.REGTYPE)}


def test_entries_are_sorted_after_the_metadata(archive_path):
    with tarfile.open(archive_path, "r:") as tar:
        first, *others = tar.getnames()
    assert first == "./metadata.json"
    assert others == sorted(others)


def refusal(model: CompiledModel, path: Path) -> str:
    with pytest.raises(OutputError) as caught:
        write_archive(artifact_of(model), path)
    return str(caught.value).replace(f"{path.parent}/", "")


def test_an_earlier_archive_is_replaced(compiled, archive_path):
    write_archive(artifact_of(compiled), archive_path)
    assert read_archive(archive_path).runtime == {}


def test_a_damaged_earlier_archive_is_replaced(compiled, archive_path):
    data = archive_path.read_bytes()
    archive_path.write_bytes(data[: len(data) * 2 // 3])
    write_archive(artifact_of(compiled), archive_path)
    assert read_archive(archive_path).name == "residual"


def test_an_empty_file_is_replaced(compiled, tmp_path):
    (tmp_path / "x.tar").touch()
    write_archive(artifact_of(compiled), tmp_path / "x.tar")
    assert read_archive(tmp_path / "x.tar").name == "residual"


@pytest.mark.parametrize("data", [b"my thesis", b"TFL3" * 300, bytes(1024)])
def test_another_file_is_kept(data, compiled, tmp_path):
    (tmp_path / "x.tar").write_bytes(data)
    require_facts(refusal(compiled, tmp_path / "x.tar"), "Solder file exists archive x.tar another remove")
    assert (tmp_path / "x.tar").read_bytes() == data


def test_a_folder_of_that_name_is_kept(compiled, tmp_path):
    (tmp_path / "x.tar").mkdir()
    require_facts(refusal(compiled, tmp_path / "x.tar"), "archive written folder x.tar")


def test_a_folder_that_is_not_there_is_named(compiled, tmp_path):
    require_facts(
        refusal(compiled, tmp_path / "no" / "x.tar"),
        f"No archive written such x.tar {tmp_path / 'no'} create folder",
    )


def test_a_link_stays_a_link(compiled, archive_path, tmp_path):
    link = tmp_path / "latest.tar"
    link.symlink_to(archive_path.name)
    write_archive(artifact_of(compiled), link)
    assert link.is_symlink()
    assert read_archive(archive_path).runtime == {}


def test_a_failure_leaves_the_earlier_archive_and_nothing_else(compiled, archive_path, monkeypatch):
    def no_space(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", no_space)
    require_facts(refusal(compiled, archive_path), "No archive written space residual.tar elsewhere")
    assert list(archive_path.parent.iterdir()) == [archive_path]
    assert read_archive(archive_path).runtime != {}


def test_others_may_read_the_archive(archive_path):
    assert archive_path.stat().st_mode & 0o777 == 0o644


ONE_ARRAY = bytes.fromhex(
    "b79c04054f8de5f7 0000000000000000"  # magic of a list, reserved
    "0100000000000000 0100000000000000 77"  # one name of one letter
    "0100000000000000"  # one array
    "3fa1b496f0405edd 0000000000000000"  # magic of an array, reserved
    "01000000 00000000 02000000"  # the CPU, number 0, rank 2
    "00 10 0100"  # signed integers of 16 bits, one lane
    "0100000000000000 0200000000000000"  # shape
    "0400000000000000 0100 feff"  # four bytes: 1 and -2
)
ARRAYS: dict[str, Array] = {
    "bytes": np.arange(-3, 3, dtype=np.int8).reshape(2, 1, 3),
    "unsigned": np.array([0, 255], np.uint8),
    "words": np.array([0, 2**32 - 1], np.uint32),
    "longest": np.array([2**64 - 1], np.uint64),
    "bias/µ": np.array([-(2**31), 7], np.int32),
    "wide": np.array([2**40], np.int64),
    "real": np.array([[0.1]], np.float32),
    "flags": np.array([True, False]),
    "scalar": np.array(5, np.int16),
    "empty": np.zeros((0, 4), np.float32),
}


def test_the_bytes_are_those_of_the_format():
    array = np.array([[1, -2]], np.int16)
    assert pack_parameters({"w": array}) == ONE_ARRAY
    assert unpack_parameters(ONE_ARRAY)["w"].tolist() == [[1, -2]]


def test_arrays_come_back():
    found = unpack_parameters(pack_parameters(ARRAYS))
    assert list(found) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].tolist() == array.tolist()


def test_no_arrays_are_a_file_too():
    assert unpack_parameters(pack_parameters({})) == {}


@pytest.mark.parametrize("cut", range(len(ONE_ARRAY)))
def test_a_cut_file_is_refused(cut):
    with pytest.raises(ParametersError, match=f"ends after {cut} bytes"):
        unpack_parameters(ONE_ARRAY[:cut])


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        (0, 0, "does not start"),
        (33, 2, "numbers of arrays and names differ"),
        (41, 0, "unknown format"),  # the array's magic
        (65, 17, "unknown format"),  # rank
        (70, 3, "unknown format"),  # bits
        (73, 9, "does not match its shape"),
    ],
)
def test_a_file_of_another_form_is_refused(place, value, says):
    changed = bytearray(ONE_ARRAY)
    changed[place] = value
    with pytest.raises(ParametersError, match=says):
        unpack_parameters(bytes(changed))
