"""A board that is not known, and a model that does not fit one: code, numbers and the fix."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Run = Callable[..., Any]


@pytest.mark.parametrize(("name", "guess"), [("mps2-an368", 'did you mean "mps2-an386"?'), ("zx81", "")])
def test_an_unknown_board_is_reported_with_the_place_of_the_known_ones(name, guess, model, complaint):
    error = complaint("inspect", model, "--board", name)
    error.names("E402", f'"{name}"', guess, "deploy boards list", f"boards/{name}.toml")
    assert ("did you mean" in error.text) == bool(guess)


def test_a_name_that_a_script_left_empty_is_not_a_board(model, complaint):
    complaint("inspect", model, "--board", "").names("E402", "empty", "deploy boards list")


def test_a_board_that_is_known_by_its_data_only_gets_no_firmware(model, complaint, small_board, tmp_path):
    board = small_board()
    board.write_text(board.read_text(encoding="utf-8").replace("[platforms.host]", ""), encoding="utf-8")
    np.savez(tmp_path / "in.npz", image=np.zeros((1, 8, 8, 1), np.int8))
    error = complaint("run", model, "--board", board, "--inputs", tmp_path / "in.npz")
    error.names("E401", "no firmware for small", "deploy doctor")


def needs(model: Path, run_deploy: Run, *more: object) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(run_deploy("inspect", model, "--board", "host", *more, "--json").out)
    return facts


@pytest.mark.slow
def test_too_little_ram_is_reported_in_bytes_with_the_layer_of_the_peak(
    model, small_board, complaint, run_deploy, tmp_path
):
    facts = needs(model, run_deploy, "--optimize", "ram")
    arena, stack, peak = facts["arena_bytes"], facts["stack_bytes_estimate"], facts["peak"]
    largest = ", ".join(f"{name} {size:,}" for name, size in list(peak["buffers"].items())[:3])
    words = ("compile", model, "--board", small_board(ram_bytes=100), "-o", tmp_path / "out.tar")
    complaint(*words).names(
        "E301",
        f"{arena + stack:,} bytes of RAM",
        f"small has 100: {arena + stack - 100:,} missing",
        "--optimize ram",
        f"{arena:,}",
        f"{stack:,}",
        f"layer {peak['layer']}",
        peak["origin"] or peak["name"],
        largest,
        "--force",
        "deploy inspect tiny.tflite --board small --memory",
        "deploy boards list --fits tiny.tflite",
    )
    assert not (tmp_path / "out.tar").exists()


def test_too_little_flash_is_reported_in_bytes(model, small_board, complaint, run_deploy, tmp_path):
    facts = needs(model, run_deploy)
    constants, code = facts["constants_bytes"], facts["code_bytes_estimate"]
    words = ("compile", model, "--board", small_board(flash_bytes=1000), "-o", tmp_path / "out.tar")
    complaint(*words).names(
        "E301",
        f"{constants + code:,} bytes of flash",
        f"small has 1,000: {constants + code - 1000:,} missing",
        f"constants {constants:,}",
        f"{code:,}",
        "--force",
        "deploy inspect tiny.tflite --board small --memory",
        "deploy boards list --fits tiny.tflite",
    )


def test_what_fits_except_by_the_estimates_is_refused_only_without_force(
    model, small_board, complaint, run_deploy, tmp_path
):
    """An estimate may be too high: then the linker has the last word."""
    facts = needs(model, run_deploy)
    constants, code = facts["constants_bytes"], facts["code_bytes_estimate"]
    board, archive = small_board(flash_bytes=constants + 100), tmp_path / "out.tar"
    words = ("compile", model, "--board", board, "-o", archive)
    complaint(*words).names("E301", f"{constants + 100:,}: {code - 100:,} missing", "--force")
    assert run_deploy(*words, "--force").status == 0
    assert "does not fit by estimate" in run_deploy("inspect", archive, "--board", board).out
    assert run_deploy("new", archive, tmp_path / "p", "--board", board).status == 0


def test_what_is_not_an_estimate_is_refused_with_force_too(model, small_board, complaint, tmp_path):
    words = ("compile", model, "--board", small_board(flash_bytes=100), "-o", tmp_path / "out.tar")
    assert complaint(*words) == complaint(*words, "--force")


@pytest.mark.slow
def test_inspect_says_by_how_much_a_model_does_not_fit_and_fails_as_compile_does(
    model, small_board, run_deploy, tmp_path
):
    facts = needs(model, run_deploy, "--optimize", "ram")
    needed = facts["arena_bytes"] + facts["stack_bytes_estimate"]
    board = small_board(ram_bytes=100)
    outcome = run_deploy("inspect", model, "--board", board)
    assert outcome.status == 1
    assert f"does not fit by estimate: {needed - 100:,} bytes missing" in outcome.out
    refused = run_deploy("compile", model, "--board", board, "-o", tmp_path / "out.tar")
    assert (refused.status, refused.err) == (1, outcome.err)


@pytest.mark.slow
def test_an_option_that_makes_a_model_fit_is_named(model, small_board, complaint, run_deploy, tmp_path):
    least, streamed = (needs(model, run_deploy, "--optimize", "ram", *more) for more in ((), ("--stream",)))
    room = streamed["arena_bytes"] + streamed["stack_bytes_estimate"]
    assert room < least["arena_bytes"] + least["stack_bytes_estimate"]
    words = ("compile", model, "--board", small_board(ram_bytes=room), "-o", tmp_path / "out.tar")
    complaint(*words).names("E301", "hint: --stream makes it fit")
    assert run_deploy(*words, "--stream").status == 0


@pytest.mark.slow
def test_a_limit_that_is_too_low_is_reported_with_what_is_enough(model, complaint, run_deploy, tmp_path):
    least = needs(model, run_deploy, "--optimize", "ram")["arena_bytes"]
    streamed = needs(model, run_deploy, "--optimize", "ram", "--stream")["arena_bytes"]
    words = ("compile", model, "--board", "host", "-o", tmp_path / "out.tar", "--ram")
    complaint(*words, least - 1).names(
        "E301", f"{least:,} bytes", f"--ram {least - 1}", "--stream", f"--ram {least}"
    )
    error = complaint(*words, streamed - 1)
    error.names("E301", f"--ram {least}")
    assert "--stream" not in error.text
    assert run_deploy(*words, least).status == 0


def test_an_archive_is_refused_for_a_board_with_less_memory(
    model, small_board, complaint, run_deploy, tmp_path
):
    run_deploy("compile", model, "--board", "host", "-o", tmp_path / "a.tar")
    board = small_board(ram_bytes=100)
    error = complaint("new", tmp_path / "a.tar", tmp_path / "p", "--board", board)
    error.names("E301", "hint: deploy compile tiny.tflite --board small -o OUT.tar")
    assert run_deploy("inspect", tmp_path / "a.tar", "--board", board).err == error.text
    assert not (tmp_path / "p").exists()


def test_inspect_and_compile_squeeze_a_model_into_the_memory_there_is(
    model, small_board, run_deploy, tmp_path
):
    fast, least = (needs(model, run_deploy, "--optimize", goal) for goal in ("speed", "ram"))
    needed, wished = (facts["arena_bytes"] + facts["stack_bytes_estimate"] for facts in (least, fast))
    assert needed < wished
    board = small_board(ram_bytes=needed)
    assert json.loads(run_deploy("inspect", model, "--board", board, "--json").out)["fits"]
    compiled = run_deploy("compile", model, "--board", board, "-o", tmp_path / "out.tar", "--json")
    assert json.loads(compiled.out)["arena_bytes"] == least["arena_bytes"]


def test_an_archive_for_another_core_is_refused_with_the_way_to_a_right_one(
    model, complaint, run_deploy, tmp_path
):
    run_deploy("compile", model, "--board", "mps2-an386", "-o", tmp_path / "m4.tar")
    for words in (("new", tmp_path / "m4.tar", tmp_path / "p"), ("inspect", tmp_path / "m4.tar")):
        error = complaint(*words, "--board", "mps2-an385")
        error.names("E401", "cortex-m4 (dsp, fpu, unaligned)", "mps2-an385 has cortex-m3 (unaligned)")
        error.names("E401", "hint: ", "deploy compile MODEL --board mps2-an385")
    assert not (tmp_path / "p").exists()


def test_a_model_needs_a_board_to_run_on(model, complaint):
    complaint("run", model, "--inputs", "in.npz").names("E401", "--board", "deploy boards")


def test_what_is_not_there_is_reported_before_a_missing_board(tmp_path, complaint):
    error = complaint("run", tmp_path / "my-app", "--inputs", "in.npz")
    error.names("E102", "no model, archive or project", "FOLDER/my-app", "archive", "project folder")


def test_options_for_compiling_are_refused_where_nothing_is_compiled(model, complaint, run_deploy, tmp_path):
    run_deploy("compile", model, "--board", "host", "-o", tmp_path / "a.tar")
    words = ("run", tmp_path / "a.tar", "--board", "host", "--inputs", "in.npz", "--optimize", "ram")
    complaint(*words).names("E102", "compiled already", "FOLDER/a.tar", "the model file")
