"""deploy ops says what the tables hold, for people and for machines."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from aot.frontend.onnx.importers import IMPORTERS as ONNX
from aot.frontend.tflite.importers import IMPORTERS
from aot.ops import OPS


def test_every_op_and_every_operator_has_a_line(run_deploy: Callable[..., Any]) -> None:
    words = {line.split("  ")[0] for line in run_deploy("ops").out.splitlines() if line}
    assert set(OPS) | set(IMPORTERS) | set(ONNX) <= words


def test_text_says_how_each_op_rounds_each_type(run_deploy: Callable[..., Any]) -> None:
    lines = [line.split() for line in run_deploy("ops").out.splitlines()]
    assert ["conv2d", "i8", "double", "double", "single"] in lines
    assert ["lookup", "i8;", "u8", "table", "table", "table"] in lines


def test_json_has_the_limits_and_the_counts(run_deploy: Callable[..., Any]) -> None:
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


def test_an_operator_says_what_it_becomes_and_where_its_limits_are(run_deploy: Callable[..., Any]) -> None:
    first, *_, last = run_deploy("ops", "fully_connected").out.splitlines()
    assert first == "TFLite FULLY_CONNECTED: 17 cases of public kernel tests right, 0 refused;"
    assert last == "deploy ops dense says its limits, and so on."


def test_an_op_has_its_meaning_and_its_limits_in_eighty_columns(run_deploy: Callable[..., Any]) -> None:
    lines = run_deploy("ops", "dense").out.splitlines()
    assert "Inputs: x [N, K], w [O, K], b [O] or None." in lines
    assert "- weights must be 2-d with rows as long as the input's" in lines
    assert max(map(len, lines)) <= 80
    facts = json.loads(run_deploy("ops", "dense", "--json").out)
    assert [op["name"] for op in facts["ops"]] == ["dense"]


def test_an_operator_that_is_not_known_gets_the_nearest(run_deploy: Callable[..., Any]) -> None:
    outcome = run_deploy("ops", "Gem")
    assert outcome.status == 1
    assert outcome.err == (
        'error: no operator "Gem" is known - did you mean "Gemm"?\n'
        "  hint: deploy ops lists all; deploy inspect MODEL names those of a model that are not supported\n"
    )
