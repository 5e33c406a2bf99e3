"""Commands that only look: inspect, boards, doctor."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
INSPECT_S = 1.0  # what is promised; it takes 0.7


def test_inspect_says_what_is_in_a_model_and_that_it_fits(model: Path, run_deploy: Run) -> None:
    out = run_deploy("inspect", model, "--board", "mps2-an386", "--layers", "--memory").out
    for said in (
        'input      "image" int8[1, 8, 8, 1], scale 0.0625, zero point -128',
        "bytes of RAM (0.0 %): fits",
        "bytes of FLASH (0.1 %): fits",
        "stack, estimated",
        "constants",
        "code, estimated",
        "bytes in use at layer",
        'CONV_2D #0 "',
        "* most memory is needed here",
        "all together",
    ):
        assert said in out


def test_inspect_as_json_has_the_same_numbers_for_model_and_archive(
    model: Path, archive: Path, run_deploy: Run
) -> None:
    of_model = json.loads(run_deploy("inspect", model, "--board", "host", "--json").out)
    of_archive = json.loads(run_deploy("inspect", archive, "--board", "host", "--json").out)
    assert of_model == of_archive
    assert of_model["fits"] is True
    assert of_model["macs"] == sum(layer["macs"] for layer in of_model["layers"]) > 0
    assert of_model["operators"]["conv2d"] == 1
    assert [slot["shape"] for slot in of_model["inputs"]] == [[1, 8, 8, 1]]
    assert sum(layer["is_peak"] for layer in of_model["layers"]) == 1


def test_inspect_as_json_says_what_lives_where_if_asked(model: Path, run_deploy: Run) -> None:
    assert "arena" not in json.loads(run_deploy("inspect", model, "--json").out)
    facts = json.loads(run_deploy("inspect", model, "--memory", "--json").out)
    (pool,) = facts["arena"]["pools"]
    assert (pool["name"], pool["bytes"]) == ("arena", facts["arena_bytes"])
    assert max(b["offset"] + b["bytes"] for b in pool["buffers"]) == pool["bytes"]
    assert pool["peak_firing"] < facts["arena"]["firings"] == len(facts["arena"]["order"])


def test_inspect_without_a_board_says_nothing_of_fitting(model: Path, run_deploy: Run) -> None:
    assert json.loads(run_deploy("inspect", model, "--json").out)["fits"] is None
    assert "fits" not in run_deploy("inspect", model).out


def test_inspect_draws_the_arena_into_a_file(model: Path, tmp_path: Path, run_deploy: Run) -> None:
    for _ in range(2):  # a picture may be replaced by a picture
        assert run_deploy("inspect", model, "--svg", tmp_path / "map.svg").status == 0
    assert (tmp_path / "map.svg").read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.slow
def test_inspect_answers_in_under_a_second(shared_dir: Path) -> None:
    """Of processor time: the machine that runs this may be busy."""
    model = shared_dir / "models" / "tiny_vww_mbv1_int8" / "model.tflite"
    argv = [sys.executable, "-m", "deploy", "inspect", str(model), "--board", "mps2-an386"]
    taken = []
    for _ in range(3):
        before = os.times().children_user
        subprocess.run(argv, stdout=subprocess.DEVNULL, check=True, env=os.environ | {"OMP_NUM_THREADS": "1"})
        taken.append(os.times().children_user - before)
    assert min(taken) < INSPECT_S


def test_boards_are_listed_and_shown(run_deploy: Run) -> None:
    assert run_deploy("boards").out == run_deploy("boards", "list").out
    assert re.search(r"^mps2-an386 +cortex-m4 ", run_deploy("boards").out, re.MULTILINE)
    assert "runners     qemu, unicorn" in run_deploy("boards", "show", "mps2-an386").out


def test_boards_as_json_have_their_regions(run_deploy: Run) -> None:
    listed = json.loads(run_deploy("boards", "list", "--json").out)
    shown = json.loads(run_deploy("boards", "show", "mps2-an386", "--json").out)
    assert shown in listed
    assert {region["role"] for region in shown["regions"]} == {"ram", "flash"}


def test_json_may_stand_before_the_word_too(run_deploy: Run) -> None:
    assert run_deploy("boards", "--json", "list").out == run_deploy("boards", "list", "--json").out


def test_doctor_names_a_compiler_and_a_runner_for_every_board_it_builds_for(run_deploy: Run) -> None:
    abilities = json.loads(run_deploy("doctor", "--json").out)["boards"]
    assert {"host", "mps2-an386"} <= {ability["board"] for ability in abilities}
    assert all(ability["lacks"] or (ability["compiler"] and ability["runner"]) for ability in abilities)


def test_doctor_says_how_to_get_what_is_lacking(run_deploy: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platforms.runners.qemu.shutil.which", lambda _name: None)
    monkeypatch.setattr("platforms.runners.unicorn_runner.find_spec", lambda _name: None)
    out = run_deploy("doctor").out
    assert "--  runner    qemu" in out
    assert "apt install qemu-system-arm" in out
    assert "pip install 'solder[unicorn]'" in out


def test_doctor_says_once_how_to_get_what_many_boards_lack(
    run_deploy: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ZEPHYR_BASE", raising=False)
    boards, _, notes = run_deploy("doctor").out.partition("(1) ")
    assert re.search(r"^--  nrf52840dk .*\(\d\)$", boards, re.MULTILINE)
    assert re.search(r"^--  rpi-pico .*\(\d\)$", boards, re.MULTILINE)
    assert notes.count("get Zephyr 3.7 or newer") == 1
