"""`deploy diff` says what differs between two compiled models, and nothing where nothing does."""

import json
from pathlib import Path
from typing import Any

import pytest

import deploy
from deploy.compiler.compile_model import Compiled


def compiled(model: Path, **options: Any) -> Compiled:
    return deploy.compile(model, board="mps2-an386", **options)


def saved(made: Compiled, path: Path) -> Path:
    made.save(path)
    return path


@pytest.mark.slow
def test_the_same_model_twice_has_no_difference(model, tmp_path, run_deploy):
    one, other = (saved(compiled(model), tmp_path / name) for name in ("a.tar", "b.tar"))
    assert run_deploy("diff", one, other).out == "the two are identical\n"
    assert json.loads(run_deploy("diff", one, other, "--json").out)["same"] is True
    assert not deploy.diff(one, compiled(model))


@pytest.mark.slow
def test_another_goal_changes_options_bytes_layers_and_plan(model, tmp_path, run_deploy):
    a, b = compiled(model), compiled(model, optimize="ram")
    found = deploy.diff(a, b)
    assert found
    assert [str(change) for change in found.made_of] == ["--optimize: speed -> ram"]
    assert found.sizes["arena"] == (a.arena_bytes, b.arena_bytes)
    assert found.sizes["constants"] == (a.constants_bytes, b.constants_bytes)
    assert any("16-bit input" in c.before and "8-bit input" in c.after for c in found.layer_changes)
    assert any(change.what == "offset" for change in found.buffer_changes)
    assert found.graph_lines == ()
    assert "tiny.c" in found.file_lines
    page = run_deploy("diff", saved(a, tmp_path / "a.tar"), saved(b, tmp_path / "b.tar")).out
    assert page == f"{found}\n"
    arena = next(line for line in page.splitlines() if line.startswith("arena "))
    assert arena.split() == [
        "arena",
        f"{a.arena_bytes:,}",
        f"{b.arena_bytes:,}",
        f"{b.arena_bytes - a.arena_bytes:+,}",
    ]


def test_another_model_has_other_layers_and_another_graph(model, tiny_file):
    found = deploy.diff(compiled(model), compiled(tiny_file("residual", "other/tiny.tflite")))
    facts = found.as_json()
    assert [change["what"] for change in facts["made_of"]] == ["model"]
    assert "softmax" in " ".join(facts["layers_only_in_first"]) or facts["layers_only_in_first"]
    assert facts["layers_only_in_second"]
    assert any(line.startswith("-output") for line in found.graph_lines)
    assert " more\n" in f"{found}\n" or len(found.graph_lines) <= 12
    shown = str(found).partition("the graph differs in")[2].splitlines()
    assert max(map(len, shown)) <= 112, "constants are long"


def test_another_core_is_reported_in_words(model):
    found = deploy.diff(compiled(model), deploy.compile(model, board="mps2-an385"))
    assert "target: cortex-m4 (dsp, fpu, unaligned) -> cortex-m3 (unaligned)" in str(found)


def test_what_is_not_an_archive_is_refused(model, run_deploy):
    outcome = run_deploy("diff", model, model)
    assert outcome.status == 1
    assert outcome.err.startswith("error: ")
