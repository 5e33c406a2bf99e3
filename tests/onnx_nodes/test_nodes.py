"""Node tests of ONNX as C on this computer: none is wrong, and those refused say why."""

import json
from collections import Counter

import pytest
from node_cases import NodeCase, imported, node_cases
from node_run import COUNTS, RIGHT, WRONG, run_cases

from aot.errors import DeployError

EVERY = 8  # node_run.py runs all; they take minutes
LARGE = ("linear_attention", "_3d", "gru_bidirectional")  # a minute each
LEAST_RIGHT = 0.85


@pytest.mark.cc
@pytest.mark.slow
def test_no_node_test_is_wrong_and_most_are_right(tmp_path, require_package):
    require_package("onnx")
    small = [case for case in node_cases() if not any(word in case.name for word in LARGE)]
    outcomes = run_cases(small[::EVERY], tmp_path)
    assert [(o.case.name, o.why) for o in outcomes if o.verdict == WRONG] == []
    assert len([o for o in outcomes if o.verdict == RIGHT]) >= LEAST_RIGHT * len(outcomes)


@pytest.mark.slow
def test_no_more_node_tests_are_refused_than_is_stored(require_package):
    """By reading those of operators of which some are refused; the page of operators has the counts."""
    require_package("onnx")
    refused = {
        name: each["refused"] for name, each in json.loads(COUNTS.read_text()).items() if each["refused"]
    }
    now = Counter(case.operator for case in node_cases() if case.operator in refused and not _is_read(case))
    assert dict(now) == refused


def _is_read(case: NodeCase) -> bool:
    try:
        imported(case)
    except DeployError:
        return False
    return True
