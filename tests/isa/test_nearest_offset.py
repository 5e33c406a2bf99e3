"""The search of offsets finds what trying them one by one finds."""

import random

import numpy as np
import pytest

from codegen.isa.plain.fitted_scale import MOST_OFFSET, first_multiple, nearest_offset

MOST_ADDEND = 1 << 15
WORD = 1 << 32
CASES = 60
SIZES = np.arange(MOST_OFFSET + 1, dtype=np.int64)
NEAREST_FIRST = np.stack((SIZES, -SIZES), axis=1).reshape(-1)


def tried_one_by_one(m: int, start: int, most: int) -> int | None:
    left = NEAREST_FIRST.astype(np.uint32) * np.uint32(m) + np.uint32(start % WORD)
    hits = NEAREST_FIRST[left <= np.uint32(most)].tolist()
    return next((offset for offset in hits if abs((offset * m + start) >> 32) < MOST_ADDEND), None)


def test_multiples_in_small_moduli():
    for modulus in range(1, 13):
        for step in range(-modulus, modulus):
            for start in range(modulus):
                for most in range(modulus):
                    hits = (n for n in range(modulus) if (n * step + start) % modulus <= most)
                    found = first_multiple(step, start, most, modulus)
                    assert found == next(hits, None), (step, start, most, modulus)


@pytest.mark.slow
def test_the_nearest_offset_is_the_first_that_trying_finds():
    rng = random.Random(5)
    kinds = set()
    for _ in range(CASES):
        drawn = (rng.randrange(1 << bits) for bits in (31, 31, 20))
        m = rng.choice([0, 1, 2**30, 2**31 - 1, *drawn])
        size = 1 << rng.randrange(1, 50)
        start = rng.randrange(-size, size)
        most = rng.choice([0, WORD - 1, rng.randrange(2**14), rng.randrange(2**20), rng.randrange(2**32)])
        found = nearest_offset(m, start, most)
        assert found == tried_one_by_one(m, start, most), (m, start, most)
        kinds.add("none" if found is None else "up" if found > 0 else "down" if found < 0 else "here")
    assert kinds == {"none", "up", "down", "here"}
