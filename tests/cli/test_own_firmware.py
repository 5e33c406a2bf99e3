"""Firmware of the user's own is verified, measured and tuned on as it runs: the same model is enough."""

import json
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from error_facts import require_facts
from tiny_models import TINY

from deploy.devices.firmware import source_for
from deploy.python_api.model import read_artifact
from platforms.base import BuildChoices, platform_of
from platforms.board_files import load_board
from platforms.project import App

pytestmark = [pytest.mark.arm, pytest.mark.qemu]
Run = Callable[..., Any]
BOARD = "qemu-netduinoplus2"
COUNTING = ("-icount", "shift=3")
MAIN = """
#include "solder_server.h"
#include "board.h"
/* A program of one's own that does its work first, and serves the models when it is asked to. */
static volatile uint32_t work;
int main(void)
{
    for (work = 0; work < 1000u; work++) {
    }
    solder_server_run();
    return 0;
}
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """own(run_deploy, model, takes_code): firmware with the user's main and build of the model."""
    made: dict[bool, Path] = {}

    def build(run_deploy: Run, model: Path, accepts_code: bool) -> Path:
        if accepts_code not in made:
            folder = tmp_path_factory.mktemp("own")
            words = ("compile", model, "--board", BOARD, "--optimize", "size", "-o", folder / "own.tar")
            assert run_deploy(*words).status == 0
            board, platform = load_board(BOARD), platform_of(load_board(BOARD))
            source = source_for(read_artifact(folder / "own.tar"), board)
            platform.generate(replace(source, accepts_code=accepts_code), folder / "own", board, App.RPC)
            (folder / "own" / "src" / "main.c").write_text(MAIN)
            made[accepts_code] = platform.build(folder / "own", board, BuildChoices("arm-none-eabi-gcc")).elf
        return made[accepts_code]

    return build


@contextmanager
def running(elf: Path, *how: str) -> Iterator[tuple[str, ...]]:
    """Somebody's emulator with a line at a port; gives the words that lead there."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    line = f"tcp:127.0.0.1:{port},server=on,wait=off"
    argv = ["qemu-system-arm", "-M", "netduinoplus2", "-display", "none", "-monitor", "none", "-serial", line]
    with subprocess.Popen([*argv, *how, "-kernel", str(elf)]) as process:
        try:
            _wait_for(port)
            yield "--board", BOARD, "--runner", "attach", "--port", f"tcp://127.0.0.1:{port}"
        finally:
            process.kill()


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0):
            return
        time.sleep(0.05)
    pytest.fail("the emulator does not listen")


def test_own_firmware_is_verified_and_measured_without_a_build_here(own, model, run_deploy, monkeypatch):
    elf = own(run_deploy, model, False)
    with running(elf, *COUNTING) as there, monkeypatch.context() as patch:
        patch.setenv("PATH", "")
        verified, measured = (run_deploy(command, model, *there, "--json") for command in ("verify", "bench"))
        refused = run_deploy("bench", model, *there, "--layers")
    assert verified.status == 0, verified.err
    assert measured.status == 0, measured.err
    (cost,) = json.loads(measured.out)
    own_build = run_deploy("bench", model, "--board", BOARD, "--optimize", "size", "--json")
    (built_here,) = json.loads(own_build.out)
    assert cost["instructions"] == built_here["instructions"]
    assert cost["arena_bytes"] == built_here["arena_bytes"]
    assert (cost["code_bytes"], cost["run_stack_bytes"], cost["toolchain"]) == (None, None, "")
    require_facts(refused.err, f"--layers deploy needs firmware built {BOARD} --runner")


def test_kernels_are_tuned_on_own_firmware_that_takes_code(own, model, run_deploy, tmp_path):
    records = tmp_path / "records.jsonl"
    with running(own(run_deploy, model, True), *COUNTING) as there:
        done = run_deploy("tune", model, *there, "--trials", 3, "--tasks", 1, "-o", records)
    assert done.status == 0, done.err
    trials = [json.loads(line) for line in records.read_text().splitlines()]
    assert [trial["error"] for trial in trials] == [""] * len(trials)
    assert {trial["unit"] for trial in trials} == {"instructions"}
    assert (
        run_deploy(
            "compile", model, "--board", BOARD, "--tuning-records", records, "-o", tmp_path / "t.tar"
        ).status
        == 0
    )


def test_what_cannot_be_tuned_on_is_refused_with_words(own, model, run_deploy, tmp_path):
    more = ("--trials", 2, "--tasks", 1, "-o", tmp_path / "records.jsonl")
    with running(own(run_deploy, model, False), *COUNTING) as there:
        takes_none = run_deploy("tune", model, *there, *more)
        in_image = run_deploy("tune", model, *there, *more, "--candidates-in", "image")
        other = tmp_path / "tiny_ml.tflite"
        other.write_bytes(TINY["residual"]())
        another = run_deploy("tune", other, *there, *more)
    with running(own(run_deploy, model, False)) as there:
        by_clock = run_deploy("tune", model, *there, *more)
    assert "error: the running firmware does not accept code over its line\n" in takes_none.err
    require_facts(takes_none.err, "solder_slot.c -DSOLDER_SLOT solder_slot.h build functions")
    assert "running firmware cannot be rebuilt: candidates must go into its RAM" in in_image.err
    assert "firmware does not hold the model tiny_ml" in another.err
    assert "no instructions are shown: the emulator was not started with -icount shift=3" in by_clock.err
