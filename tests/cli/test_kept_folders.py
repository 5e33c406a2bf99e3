"""What is built once is kept, complete or not at all, and not for ever."""

import errno
import os
import shutil
import time
from pathlib import Path

import pytest

from aot.errors import OutputError
from deploy.devices.build_cache import IN_USE_S, MOST_KEPT, cache_folder, cached
from platforms.tuning.workshop import keep_object


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def fill(folder: Path) -> None:
    (folder / "made").touch()


def must_not_run(_folder: Path) -> None:
    raise AssertionError("it is there already")


def test_a_folder_is_made_once():
    first = cached("a", fill)
    assert [path.name for path in first.iterdir()] == ["made"]
    assert cached("a", must_not_run) == first


def test_nothing_is_left_of_what_could_not_be_made():
    def fail(folder: Path) -> None:
        fill(folder)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        cached("a", fail)
    assert list(cache_folder().iterdir()) == []


def test_another_process_may_be_faster():
    def overtaken(folder: Path) -> None:
        fill(folder)
        cached("a", lambda other: fill(other))

    assert (cached("a", overtaken) / "made").exists()
    assert [path.name for path in cache_folder().iterdir()] == ["a"]


def test_the_least_recently_used_folders_go_first():
    for number in range(MOST_KEPT):
        os.utime(cached(str(number), fill), (number, number))
    cached("0", must_not_run)  # is used again now
    cached("new", fill)
    kept = {path.name for path in cache_folder().iterdir()}
    assert kept == {"new", *(str(number) for number in range(MOST_KEPT) if number != 1)}


def test_a_folder_that_may_be_in_use_stays_however_many_there_are():
    for number in range(MOST_KEPT + 2):
        cached(str(number), fill)
    assert len(list(cache_folder().iterdir())) == MOST_KEPT + 2


def test_another_process_may_forget_a_folder_that_is_wanted(monkeypatch):
    def forgotten_before(place: Path) -> None:
        monkeypatch.undo()
        monkeypatch.setenv("XDG_CACHE_HOME", str(place.parents[1]))
        shutil.rmtree(place)
        os.utime(place)

    cached("a", fill)
    monkeypatch.setattr("os.utime", forgotten_before)
    assert (cached("a", fill) / "made").exists()


def test_another_process_may_forget_a_folder_while_the_oldest_are_sought(monkeypatch):
    listed = Path.iterdir

    def with_one_gone(folder: Path) -> list[Path]:
        return [*listed(folder), folder / "gone"]

    monkeypatch.setattr(Path, "iterdir", with_one_gone)
    assert (cached("a", fill) / "made").exists()


def test_what_a_killed_process_had_begun_goes_when_nobody_can_be_making_it():
    cached("a", fill)
    for name, age_s in ((".killed", 2 * IN_USE_S), (".being-made", 0)):
        (cache_folder() / name).mkdir()
        touched = time.time() - age_s
        os.utime(cache_folder() / name, (touched, touched))
    cached("b", fill)
    assert {path.name for path in cache_folder().iterdir()} == {".being-made", "a", "b"}


def test_a_cache_that_can_only_be_read_serves_what_it_has(monkeypatch):
    place = cached("a", fill)

    def refuse(_path: Path) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("deploy.devices.build_cache.os.utime", refuse)
    assert cached("a", must_not_run) == place


def test_a_file_in_place_of_the_cache_is_reported(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file" / "cache"))
    with pytest.raises(OutputError) as caught:
        cached("a", fill)
    assert caught.value.what == "the folder for built firmware cannot be created: Not a directory"


def test_a_file_in_place_of_kept_objects_is_reported(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError) as caught:
        keep_object(tmp_path / "file" / "kept.o", b"")
    assert caught.value.what.startswith("the folder for compiled kernels cannot be created: ")
    assert caught.value.hint == "set XDG_CACHE_HOME to a writable folder"
