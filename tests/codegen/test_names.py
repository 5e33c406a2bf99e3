"""Whatever a model calls its tensors, the C is valid and nothing of the name is lost on the serial line."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from c_checks import failures_on_host
from graphs import Draft
from hypothesis import given
from hypothesis import strategies as st
from model_checks import OPTIONS, PLAIN, check_of, compiled, samples_of
from op_case import OpCase

from aot.interpret import run_graph
from aot.ir.graph import Graph
from codegen.c.names import c_identifier, model_identifier, unique_identifiers
from codegen.isa.table import headers
from platforms.shared_library import build

IDENTIFIER = re.compile(r"[a-z_][a-z0-9_]*")


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        ("Identity", "identity"),
        ("input:0", "input_0"),
        ("model/conv2d/BiasAdd;model/x", "model_conv2d_biasadd_model_x"),
        ("serving_default_input_1:0", "serving_default_input_1_0"),
        ("3d", "model_3d"),
        ("int", "model_int"),
        ("", "model"),
        ("///", "model"),
        ("größe", "gr_e"),
        ("a" * 60, "a" * 40),
        ("first_" + "b" * 50 + "/last_words_of_a_long_name", "last_words_of_a_long_name"),
    ],
)
def test_names_become_identifiers(name: str, identifier: str) -> None:
    assert c_identifier(name) == identifier


@pytest.mark.parametrize("name", ["string", "board", "solder_2", "arm_mve"])
def test_a_header_of_others_is_not_a_model_s(name: str) -> None:
    """An instruction set brings the headers that its code includes."""
    assert model_identifier(name, headers()) == f"model_{name}"
    assert model_identifier(f"my_{name}", headers()) == f"my_{name}"


@pytest.mark.slow
@given(st.text(max_size=60))
def test_any_name_becomes_an_identifier(name: str) -> None:
    assert IDENTIFIER.fullmatch(c_identifier(name))


@pytest.mark.slow
@given(st.lists(st.text(alphabet="aB_1/ ", max_size=3), unique=True, max_size=12))
def test_different_names_become_different_identifiers(names: list[str]) -> None:
    found = unique_identifiers(names, "tensor")
    assert list(found) == names
    assert len(set(found.values())) == len(names)


def test_equal_identifiers_are_numbered() -> None:
    assert unique_identifiers(["a/b", "a_b", "A b", "a_b_2"], "tensor") == {
        "a/b": "a_b",
        "a_b": "a_b_2",
        "A b": "a_b_3",
        "a_b_2": "a_b_2_2",
    }


def named(x: str, inner: str, y: str) -> Graph:
    """A graph of two layers and two outputs whose tensors have these names."""
    d = Draft()
    middle = d.conv(inner, d.input(x, 1, 4, 4, 2), 3)
    return d.graph(d.conv(y, middle, 2), d.reshape(f"{y}{y}", middle, 1, 48))


# Names that end comments and strings, splice lines, are macros, types or functions of the generated C.
HOSTILE = {
    "comments": ("x */ int;", "/* y", "*/ z /*"),
    "strings": ('"x"', "y\\", '\\"z'),
    "lines": ("x\n#error x", "y\\\n", "z\r\n*\\\n/"),
    "trigraphs": ("??/", "*??/\n/", "??)"),
    "unicode": ("größe", "层/输入", "\u2028\x7f"),
    "formats": ("{x}", "{{ y }}", "%s%n"),
    "words_of_c": ("int", "struct", "return"),
    "words_of_ours": ("run", "arena", "row"),
    "more_words_of_ours": ("in", "out", "inputs"),
    "functions": ("layer_0", "memset", "fill_8"),
    "alike": ("a/b", "a_b", "A.B"),
    "empty": (" ", "  ", "-"),
}


@pytest.mark.cc
@pytest.mark.slow
def test_hostile_names_give_valid_c(require_tool: Callable[..., None], tmp_path: Path) -> None:
    require_tool("gcc", "clang")
    checks = []
    for number, (kind, names) in enumerate(HOSTILE.items()):
        case = OpCase(kind, named(*names))
        model = compiled(case.graph, PLAIN, OPTIONS["speed"], f"k{number}")
        samples = samples_of(case)
        checks.append(check_of(kind, model, samples, [run_graph(case.graph, s) for s in samples]))
    for compiler in ("gcc", "clang"):
        assert failures_on_host(checks, tmp_path / compiler, compiler) == {}


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize("kind", HOSTILE)
def test_the_device_knows_tensors_by_their_own_names(
    kind: str, require_tool: Callable[..., None], tmp_path: Path
) -> None:
    require_tool("gcc")
    graph = named(*HOSTILE[kind])
    model = build(compiled(graph, PLAIN, OPTIONS["speed"], "k").sources, tmp_path)
    given = (*graph.inputs, *graph.outputs)
    assert tuple(t.name for t in (*model.inputs, *model.outputs)) == given


@pytest.mark.cc
@pytest.mark.parametrize("name", ["int", "run", "solder", "layer", "main"])
def test_a_model_may_have_any_name(name: str, require_tool: Callable[..., None], tmp_path: Path) -> None:
    require_tool("gcc")
    graph = named("x", "m", "y")
    model = build(compiled(graph, PLAIN, OPTIONS["speed"], c_identifier(name)).sources, tmp_path)
    sample = OpCase(name, graph).inputs()
    assert model.run(sample)["y"].tolist() == run_graph(graph, sample)["y"].tolist()
