"""Damaged files are read or clearly refused, in five seconds and a gigabyte; more in `make fuzz`."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fuzz_kinds import KINDS
from fuzz_run import GOOD, GREEDY, MOST_BYTES, READ, REFUSED, endings, run_fuzz, seeds
from mutations import mutated, mutated_text

COUNT = {"model": 400, **{kind: 100 for kind in KINDS if kind != "model"}}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_end_in_code_or_in_a_clear_error(kind, repo_root):
    found = list(run_fuzz(seeds(repo_root.parent / "shared", [kind]), COUNT[kind], run=7))
    assert [(e.seed.name, e.number, e.why) for e in found if e.how not in GOOD] == []
    assert {e.how for e in found} == {READ, REFUSED}


@pytest.mark.parametrize(("taken_bytes", "how"), [(MOST_BYTES // 2, READ), (2 * MOST_BYTES, GREEDY)])
def test_a_gigabyte_is_more_than_the_tests_before_have_kept(taken_bytes, how, monkeypatch):
    """Neither is touched, so that no memory is used up."""
    kind = next(kind for kind in KINDS if kind != "model")
    reads = replace(KINDS[kind], read=lambda data, name, folder: np.zeros(taken_bytes, np.uint8))
    monkeypatch.setitem(KINDS, kind, reads)
    kept = np.zeros(MOST_BYTES, np.uint8)
    assert [each.how for each in endings([(seed, 0) for seed in seeds(Path(), [kind])[kind][:1]], 7)] == [how]
    assert kept.size == MOST_BYTES


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "model"])
def test_whole_files_are_read(kind, tmp_path):
    for name, data in KINDS[kind].seeds(tmp_path):
        KINDS[kind].read(data, name, tmp_path)


@pytest.mark.parametrize("damage", [mutated, mutated_text])
def test_damage_is_the_same_every_time_and_changes_something(damage):
    data = b'{"a": 1, "b": [2, 3.5], "c": "text"}\n' * 20
    once, again = (damage(data, np.random.default_rng(5)) for _ in range(2))
    assert once == again != data
