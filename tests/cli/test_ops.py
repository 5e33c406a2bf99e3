"""deploy ops says what the tables hold, for people and for machines."""

import json
from pathlib import Path

import pytest
from error_facts import require_facts
from onnx import helper
from onnx_files import onnx_file

import deploy
from aot.frontend.onnx.importers import IMPORTERS as ONNX
from aot.frontend.tflite.importers import IMPORTERS
from aot.ops import OPS

DIGITS = Path(deploy.__file__).parent / "demo" / "digits.tflite"


def test_every_op_and_every_operator_has_a_line(run_deploy):
    words = {line.split("  ")[0] for line in run_deploy("ops").out.splitlines() if line}
    assert set(OPS) | set(IMPORTERS) | set(ONNX) <= words


def test_text_says_how_each_op_rounds_each_type(run_deploy):
    lines = [line.split() for line in run_deploy("ops").out.splitlines()]
    assert ["conv2d", "i8", "double", "double", "single"] in lines
    assert ["lookup", "i8;", "u8", "table", "table", "table"] in lines


def test_json_has_the_limits_and_the_counts(run_deploy):
    facts = json.loads(run_deploy("ops", "--json").out)
    dense = next(op for op in facts["ops"] if op["name"] == "dense")
    assert dense["rounding"]["i8"] == {"tflm": "double", "litert-ref": "single", "onnx": "single"}
    assert dense["rounding"]["i16"]["tflm"] == "reduced"
    assert dense["elements"] == ["i8", "i16", "f32"]
    assert "FULLY_CONNECTED" in dense["tflite"]["operators"]
    assert dense["tflite"]["cases"] > 0 < dense["onnx"]["cases"]
    floor = next(o for o in facts["formats"]["tflite"] if o["operator"] == "FLOOR")
    assert floor == {"operator": "FLOOR", "right": 2, "refused": 0}
    counted = [o for o in facts["formats"]["onnx"] if "right" in o]
    assert sum(o["right"] for o in counted) >= 1200


def test_an_operator_says_what_it_becomes_and_where_its_limits_are(run_deploy):
    first, *_, last = run_deploy("ops", "fully_connected").out.splitlines()
    assert first == "TFLite FULLY_CONNECTED: 17 cases of public kernel tests right, 0 refused;"
    assert last == "deploy ops add shows its limits, and so on."


def test_an_op_has_its_meaning_and_its_limits_in_eighty_columns(run_deploy):
    lines = run_deploy("ops", "dense").out.splitlines()
    assert "Inputs: x [N, K], w [O, K], b [O] or None." in lines
    assert "- weights must be 2-d with rows as long as the input's" in lines
    assert max(map(len, lines)) <= 80
    facts = json.loads(run_deploy("ops", "dense", "--json").out)
    assert [op["name"] for op in facts["ops"]] == ["dense"]


@pytest.mark.parametrize("words", [("ops",), ("ops", "Max"), ("ops", "combine")])
def test_an_op_of_several_functions_says_which(words, run_deploy):
    lines = run_deploy(*words).out.splitlines()
    first = "combine is one of: maximum, minimum, floor div, floor mod, remainder, power,"
    assert lines[lines.index(first) + 1] == "  atan2, and, or, xor, shift left, shift right"


def test_an_operator_that_is_not_known_gets_the_nearest(run_deploy):
    outcome = run_deploy("ops", "Gem")
    assert outcome.status == 1
    require_facts(outcome.err, '"Gem" "Gemm"? operator known mean deploy MODEL')


def test_a_model_s_operators_are_counted(run_deploy):
    assert run_deploy("ops", DIGITS).out.splitlines() == [
        "digits.tflite: 7 nodes of 6 operators, all supported",
        "",
        "operator           nodes  known",
        "CONV_2D                2  yes",
        "DEPTHWISE_CONV_2D      1  yes",
        "FULLY_CONNECTED        1  yes",
        "MAX_POOL_2D            1  yes",
        "RESHAPE                1  yes",
        "SOFTMAX                1  yes",
    ]


def test_what_a_model_asks_for_in_vain_is_named_with_the_reason(tmp_path, run_deploy):
    nodes = [helper.make_node("Relu", ["x"], ["r"]), helper.make_node("NonSuch", ["r"], ["y"], "odd")]
    path = tmp_path / "odd.onnx"
    path.write_bytes(onnx_file(nodes, {"x": ["n", 4]}, {"y": ["n", "m"]}))
    outcome = run_deploy("ops", path)
    assert outcome.status == 1
    assert outcome.out.splitlines() == [
        "odd.onnx: 2 nodes of 2 operators, 1 nodes unsupported",
        "",
        "operator  nodes  known",
        "NonSuch       1  no",
        "Relu          1  yes",
    ]
    assert "ONNX operator NonSuch is not supported" in outcome.err
    facts = deploy.ops(path)
    assert facts["used"][0] == {"operator": "NonSuch", "nodes": 1, "known": False}
    assert 'NonSuch: "odd"' in facts["refused"]


def test_a_model_that_is_not_there_is_no_operator(run_deploy):
    outcome = run_deploy("ops", "nowhere.tflite")
    assert outcome.status == 1
    assert "nowhere.tflite" in outcome.err
