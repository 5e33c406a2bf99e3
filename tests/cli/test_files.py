"""Results appear whole or not at all, and never in place of something else."""

from pathlib import Path

import pytest

from aot.errors import OutputError
from artifact.whole_file import write_whole
from deploy.inputs.result_paths import require_place


def nothing_is_ours(_path: Path) -> bool:
    return False


def everything_is_ours(_path: Path) -> bool:
    return True


def test_a_file_is_written_with_the_usual_permissions(tmp_path):
    path, other = tmp_path / "a", tmp_path / "b"
    write_whole(path, b"new")
    other.touch()
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode == other.stat().st_mode


def test_nothing_is_left_and_nothing_lost_where_writing_fails(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def full(_self: Path, _target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OutputError, match="No space left on device"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_earlier_result_may_be_replaced(tmp_path):
    (tmp_path / "a").touch()
    require_place(tmp_path / "a", everything_is_ours, "a result")


def test_a_device_is_not_a_place(tmp_path):
    """A file would be put in its place, or read to its end, which it has not."""
    for path in (Path("/dev/null"), Path("/dev/full")):
        with pytest.raises(OutputError, match="a result must be a file, this is a device or a pipe"):
            require_place(path, everything_is_ours, "a result")


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "b").write_bytes(b"old")
    (tmp_path / "a").symlink_to(tmp_path / "b")
    write_whole(tmp_path / "a", b"new")
    assert (tmp_path / "a").is_symlink()
    assert (tmp_path / "b").read_bytes() == b"new"


def test_a_new_name_is_a_good_place(tmp_path):
    require_place(tmp_path / "a", nothing_is_ours, "a result")


def test_a_file_of_another_kind_is_left_alone(tmp_path):
    (tmp_path / "a").touch()
    with pytest.raises(OutputError, match="the file exists and is not a result, so it is not overwritten"):
        require_place(tmp_path / "a", nothing_is_ours, "a result")
