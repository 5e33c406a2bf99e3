"""A file of outputs has each by the model's name for it, whatever that is, and by its number."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from aot.errors import OutputError
from deploy.results import require_results_place, write_results

ARRAYS = {f"output_{n}": np.full((n + 1,), n, np.int8) for n in range(3)}


def test_names_that_are_options_of_numpys_or_have_slashes_are_names(tmp_path: Path) -> None:
    write_results(path := tmp_path / "out.npz", ARRAYS, ["file", "head/boxes:0", "arr_0"])
    made = np.load(path)
    assert made.files == [*ARRAYS, "file", "head/boxes:0", "arr_0"]
    assert [made[name].tolist() for name in made.files] == [[0], [1, 1], [2, 2, 2]] * 2
    require_results_place(path)


def test_a_name_that_is_another_outputs_number_stays_that_number(tmp_path: Path) -> None:
    write_results(path := tmp_path / "out.npz", ARRAYS, ["output_1", "output_0", "y"])
    made = np.load(path)
    assert made.files == [*ARRAYS, "y"]
    assert made["output_0"].tolist() == [0]


def test_a_file_of_inputs_is_no_file_of_outputs(tmp_path: Path) -> None:
    np.savez(path := tmp_path / "in.npz", input_0=np.zeros(3))
    with pytest.raises(OutputError):
        require_results_place(path)
