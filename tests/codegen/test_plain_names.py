"""Functions of the generated C are named for what they do, not for the numbers in it."""

from __future__ import annotations

import re

import pytest
from graphs import GRAPHS
from model_checks import DSP, OPTIONS, PLAIN

from aot.target import Feature, Target
from codegen.compile import compile_graph
from codegen.plain_names import plain_names, renamed

HELIUM = Target("cortex-m55", frozenset({Feature.DSP, Feature.MVE, Feature.UNALIGNED}))


def test_a_checksum_becomes_a_counter() -> None:
    names = ("times", "add_int8_75d477ca", "add_int8_0123abcd", "add_int8_75d477ca_row_of_32")
    assert plain_names(names, {"add_int8"}) == {
        "add_int8_75d477ca": "add_int8_2",
        "add_int8_0123abcd": "add_int8_3",
        "add_int8_75d477ca_row_of_32": "add_int8_row_of_32",
    }


def test_calls_and_tables_follow_their_function() -> None:
    plain = {"tanh_line_75d477ca": "tanh_line"}
    text = "tanh_line_75d477ca_points[0] = tanh_line_75d477ca(v) + other_line_75d477ca(v);"
    assert renamed(text, plain) == "tanh_line_points[0] = tanh_line(v) + other_line_75d477ca(v);"


@pytest.mark.parametrize("target", [PLAIN, DSP, HELIUM], ids=lambda t: t.core)
def test_no_function_is_called_by_a_checksum(target: Target) -> None:
    graph = GRAPHS["alike_but_for_scales"]()
    text = compile_graph(graph, target, OPTIONS["speed"], "g", "0" * 64, "g").sources["g.c"]
    assert "add_int8_2" in text or "add_int8_row_of_6_2" in text
    assert not re.findall(r"\b[a-z]\w*_[0-9a-f]{8}\b", text)
