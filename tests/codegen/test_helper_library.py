"""Functions of the generated C are named for what they do, not for the numbers in it."""

from __future__ import annotations

import pytest
from graphs import GRAPHS
from model_checks import DSP, OPTIONS, PLAIN

from aot.target import Feature, Target
from codegen.c.helper_library import collect_helpers, plain_names
from codegen.c.printer import Printer
from codegen.c.tree import Helper
from codegen.compile import compile_job
from codegen.job import ImportedModel, Job

HELIUM = Target("cortex-m55", frozenset({Feature.DSP, Feature.MVE, Feature.UNALIGNED}))


def test_a_checksum_becomes_a_counter() -> None:
    names = ("times", "add_int8@75d477ca", "add_int8@0123abcd", "add_int8@75d477ca_row_of_32")
    assert plain_names(names, {"add_int8"}) == {
        "add_int8@75d477ca": "add_int8_2",
        "add_int8@0123abcd": "add_int8_3",
        "add_int8@75d477ca_row_of_32": "add_int8_row_of_32",
    }


def test_calls_and_tables_follow_their_function() -> None:
    other = Helper("line@0123abcd", "line@0123abcd(v)")
    text = "line@75d477ca_points[0] = line@75d477ca(v) + line@0123abcd(v);"
    helpers = collect_helpers([Helper("line@75d477ca", text, calls=(other,))])
    assert helpers.texts(Printer(names=helpers.names)) == (
        "line(v)",
        "line_2_points[0] = line_2(v) + line(v);",
    )


@pytest.mark.parametrize("target", [PLAIN, DSP, HELIUM], ids=lambda t: t.core)
def test_no_function_is_called_by_a_checksum(target: Target) -> None:
    graph = GRAPHS["alike_but_for_scales"]()
    text = compile_job(Job(ImportedModel(graph, "g", "0" * 64, "g"), target, OPTIONS["speed"])).sources["g.c"]
    assert "add_int8_2" in text or "add_int8_row_of_6_2" in text
    assert "@" not in text
