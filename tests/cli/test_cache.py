"""deploy cache tells what is kept, and deletes what has not been used for longest."""

import json
import os
import time

import pytest

import deploy
from deploy.devices.build_cache import MOST_KEPT, cached


@pytest.fixture
def place(run_deploy, monkeypatch, tmp_path):
    """Two kept folders, of 3 and 5 KiB, the second of them used just now."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name, size, unused_s in (("old-1", 3072, 3 * 86400 + 60), ("new-2", 5120, 0)):
        made = cached(name, lambda _folder: None)
        (made / "elf").write_bytes(bytes(size))
        os.utime(made, (time.time() - unused_s,) * 2)
    return tmp_path / "solder"


def test_what_is_kept_is_listed_with_its_size_and_its_place(place, run_deploy):
    lines = run_deploy("cache").out.splitlines()
    assert lines[0].split() == ["kept", "size", "unused", "for"]
    assert lines[2].split() == ["old-1", "3", "KiB", "3", "days"]
    assert lines[-2] == f"2 folders, 8 KiB in {place}"
    assert lines[-1] == (f"at most {MOST_KEPT} folders unused for 60 minutes are kept; --keep N deletes more")


@pytest.mark.parametrize(("keep", "left"), [(5, {"old-1", "new-2"}), (1, {"new-2"}), (0, set())])
def test_all_but_those_used_last_are_deleted(keep, left, place, run_deploy):
    facts = json.loads(run_deploy("cache", "--keep", keep, "--json").out)
    assert {path.name for path in place.iterdir()} == left == {each["name"] for each in facts["kept"]}
    assert len(facts["deleted"]) == 2 - len(left)


def test_what_was_deleted_is_reported(place, run_deploy):
    assert "deleted: 1 folders, 3 KiB" in run_deploy("cache", "--keep", "1").out


def test_nothing_is_kept_in_the_beginning(run_deploy, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert run_deploy("cache").out.startswith(f"0 folders, 0 KiB in {tmp_path / 'solder'}\n")
    assert deploy.cache(keep=0)["kept"] == []


def test_fewer_than_none_cannot_be_kept(run_deploy):
    outcome = run_deploy("cache", "--keep=-1")
    assert outcome.err == "error: -1 folders cannot be kept\n  hint: --keep 0 deletes all\n"
