"""Damaged model files end in C or in a clear error, in five seconds and a gigabyte; more in `make fuzz`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fuzz_run import COMPILED, GOOD, REFUSED, run_fuzz
from fuzz_seeds import seeds
from mutations import mutated

COUNT = 400


@pytest.mark.slow
def test_damaged_files_end_in_code_or_in_a_clear_error(repo_root: Path) -> None:
    endings = list(run_fuzz(seeds(repo_root.parent / "shared"), COUNT, run=7))
    assert [(e.seed.name, e.number, e.why) for e in endings if e.how not in GOOD] == []
    assert {e.how for e in endings} == {COMPILED, REFUSED}


def test_damage_is_the_same_every_time_and_changes_something() -> None:
    data = bytes(range(256)) * 4
    once, again = (mutated(data, np.random.default_rng(5)) for _ in range(2))
    assert once == again != data
