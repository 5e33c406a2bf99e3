"""Saved states: a run continues from them; damaged ones, and those of other models, are refused."""

from pathlib import Path

import numpy as np
import pytest
from model_checks import OPTIONS, PLAIN, compiled

from aot.errors import InputError
from aot.ir.graph import Graph
from aot.ir.text import parse_graph
from platforms.shared_library import HostModel, build

HEADER = 32
SUM = """graph "sum"
input "x": i8[1,3] {0.5, 0}
"add" = add() "x", "last" -> "y": i8[1,3] {0.5, 0}
state "last": i8[1,3] {0.5, 0} next "y" = [1, -2, 3]
output "y"
"""
WIDER = SUM.replace("[1,3]", "[1,4]").replace("-2, 3]", "-2, 3, 4]")
SAMPLES = [{"x": np.array([[n, 2 * n, -n]], np.int8)} for n in range(4)]


def running_sum(text: str = SUM) -> Graph:
    return parse_graph(text)


def host_of(graph: Graph, folder: Path) -> HostModel:
    model = compiled(graph, PLAIN, OPTIONS["speed"], "k")
    return build(model.sources, folder)


@pytest.mark.cc
def test_a_run_continues_from_a_saved_state(tmp_path):
    host, samples = host_of(running_sum(), tmp_path), SAMPLES
    host.run(samples[0])
    saved = host.save_state()
    first = [host.run(sample)["y"].tolist() for sample in samples]
    assert len(saved) == HEADER + 3
    host.restore_state(saved)
    assert [host.run(sample)["y"].tolist() for sample in samples] == first


@pytest.mark.cc
def test_states_that_do_not_belong_are_refused_and_change_nothing(tmp_path):
    host, samples = host_of(running_sum(), tmp_path / "one"), SAMPLES
    host.run(samples[0])
    saved = host.save_state()
    other = host_of(running_sum(WIDER), tmp_path / "two")
    damaged = bytearray(saved)
    damaged[-1] ^= 1
    wrong_model = bytearray(saved)
    wrong_model[8] ^= 1
    wrong = {
        "not a saved state": b"x" * 40,
        "of this model with other states": other.save_state(),
        "of the model with hash": bytes(wrong_model),
        "damaged": bytes(damaged),
    }
    before = host.arenas[0].copy()
    for what, given in {**wrong, "is damaged": saved[:-1]}.items():
        with pytest.raises(InputError, match=what):
            host.restore_state(given)
        np.testing.assert_array_equal(host.arenas[0], before)


@pytest.mark.cc
def test_c_refuses_what_python_refuses(tmp_path):
    host = host_of(running_sum(), tmp_path)
    saved = host.save_state()
    codes = {}
    for number in range(len(saved)):
        changed = bytearray(saved)
        changed[number] ^= 0x10
        codes[number] = host._on_states("restore_state", bytes(changed))
    assert set(codes.values()) == {5}
    assert host._on_states("restore_state", saved) == 0


def test_the_header_has_the_size_of_a_saved_state():
    sources = compiled(running_sum(), PLAIN, OPTIONS["speed"], "sums").sources
    assert "#define SUMS_SAVED_BYTES 35u" in sources["sums.h"]
    assert "int32_t sums_save_state(void *saved, void *arena);" in sources["sums.h"]
    assert "SUMS_ERROR_STATE = 5" in sources["sums.h"]
