"""Front ends give the features of the libraries that they are named after, whose results are stored."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from front_cases import CASES, FrontCase, signal
from library_bounds import BOUND, STORED, distance, features

EACH = pytest.mark.parametrize("case", CASES, ids=lambda case: case.declared.partition(":")[0])


@EACH
def test_the_reference_gives_what_the_library_gave(case: FrontCase) -> None:
    assert distance(case) < BOUND


def test_integer_features_are_the_librarys_in_every_bit() -> None:
    (case,) = (c for c in CASES if c.library == "pymicro_features")
    assert distance(case) == 0


@pytest.mark.slow
@pytest.mark.parametrize("case", [c for c in CASES if c.library == "librosa"], ids=lambda c: c.declared[:14])
def test_the_stored_results_are_those_of_the_installed_library(
    case: FrontCase, require_package: Callable[..., None]
) -> None:
    require_package(case.library)
    found, rows = np.asarray(case.compute(signal() / 32768.0)), STORED[case.declared]["rows"]
    wanted = np.array(list(rows.values()))
    assert np.allclose(found[[int(n) for n in rows]], wanted, rtol=1e-4, atol=1e-5 * np.abs(wanted).max())


@pytest.mark.parametrize(
    ("changed", "into"),
    [
        ("num_mfccs=10", "num_mfccs=10,log_offset=0.01"),
        ("divide_by=max", "divide_by=32768"),
        ("lower_edge_hertz=20", "lower_edge_hertz=40"),
        ("num_mel_bins=40", "num_mel_bins=39"),
    ],
)
def test_each_parameter_counts(changed: str, into: str) -> None:
    declared = CASES[2].declared
    assert changed in declared
    other = features(declared.replace(changed, into))
    assert not np.allclose(features(declared), other, rtol=1e-3)
