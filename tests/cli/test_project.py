"""compile, new, build, flash, monitor: from a model to firmware, step by step."""

import json
import subprocess
from pathlib import Path

import pytest

import deploy
from aot.errors import MissingToolError


def test_compile_says_what_it_has_made(model, tmp_path, run_deploy):
    out = run_deploy("compile", model, "--board", "mps2-an386", "-o", tmp_path / "a.tar", "--json").out
    facts = json.loads(out)
    assert facts["board"] == "mps2-an386"
    assert facts["arena_bytes"] > 0
    assert facts["constants_bytes"] > 0
    assert (tmp_path / "a.tar").is_file()


def test_compile_replaces_an_earlier_archive(model, archive, run_deploy):
    before = archive.read_bytes()
    assert run_deploy("compile", model, "--board", "mps2-an386", "-o", archive).status == 0
    assert archive.read_bytes() != before


@pytest.mark.slow
def test_compile_keeps_to_a_ram_budget(model, tmp_path, run_deploy):
    words = ("compile", model, "--board", "host", "-o", tmp_path / "a.tar")
    arena_bytes = json.loads(run_deploy(*words, "--optimize", "ram", "--json").out)["arena_bytes"]
    assert run_deploy(*words, "--ram", arena_bytes).status == 0
    assert run_deploy(*words, "--ram", arena_bytes - 1).status == 1


def test_new_says_what_comes_next(archive, tmp_path, run_deploy):
    out = run_deploy("new", archive, tmp_path / "p", "--board", "host").out
    assert out == (
        f"{tmp_path / 'p'}: tiny for host, platform host, app rpc\n  next: deploy build {tmp_path / 'p'}\n"
    )


def test_new_compiles_a_model_file(model, tmp_path, run_deploy):
    made = run_deploy("new", model, tmp_path / "p", "--board", "host")
    assert made.status == 0, made.err
    assert made.out.startswith(f"{tmp_path / 'p'}: tiny for host")


def test_new_chooses_a_platform_that_can_be_built_here_and_names_the_others(
    model, tmp_path, run_deploy, monkeypatch
):
    def no_tool(*_: object) -> None:
        raise MissingToolError("cannot build for Zephyr", "west was not found", "pip install west")

    monkeypatch.setattr("platforms.zephyr.Zephyr.toolchain", no_tool)
    monkeypatch.setattr("platforms.arduino.Arduino.toolchain", no_tool)
    monkeypatch.setattr("platforms.baremetal.Baremetal.toolchain", lambda *_: None)
    words = ("new", model, tmp_path / "p", "--board", "nucleo-f446re")
    out = run_deploy(*words).out
    assert "platform baremetal, app rpc" in out
    assert "not built here: zephyr (cannot build for Zephyr: west was not found)" in out
    assert f"next: deploy build {tmp_path / 'p'}\n" in out
    out = run_deploy(*words[:2], tmp_path / "z", *words[3:], "--platform", "zephyr").out
    assert "platform zephyr" in out
    assert "not built here: zephyr (cannot build for Zephyr: west was not found)" in out
    assert "to build it here: pip install west\n" in out
    assert "built here: baremetal (--platform baremetal, or omit --platform)\n" in out
    assert "next: install what is missing" in out
    assert "arduino" not in out, "only the platform that was asked for"


def test_new_for_a_board_that_cannot_be_built_here_says_what_comes_first(
    model, tmp_path, run_deploy, monkeypatch
):
    def no_tool(*_: object) -> None:
        raise MissingToolError("cannot build for it", "a tool was not found")

    for kind in ("zephyr.Zephyr", "arduino.Arduino", "baremetal.Baremetal"):
        monkeypatch.setattr(f"platforms.{kind}.toolchain", no_tool)
    out = run_deploy("new", model, tmp_path / "p", "--board", "uno-r4-minima").out
    said = "install what is missing (deploy doctor --fix lists how), then deploy build"
    assert out.endswith(f"\n  next: {said} {tmp_path / 'p'}\n")


@pytest.mark.cc
def test_an_archive_has_its_board(archive, tmp_path, run_deploy):
    for words in (("new", archive, tmp_path / "p"), ("verify", archive), ("bench", archive)):
        done = run_deploy(*words)
        assert done.status == 0, done.err


def test_a_command_without_a_board_says_how_to_name_one(model, run_deploy, tmp_path):
    for words in (("verify", model), ("bench", model), ("new", model, tmp_path / "p")):
        done = run_deploy(*words)
        assert (done.status, done.code) == (1, "E401"), done.err
        assert "add --board B" in done.err


def test_what_comes_next_can_be_pasted_into_a_shell(archive, tmp_path, run_deploy):
    folder = tmp_path / "fw x y"
    out = run_deploy("new", archive, folder, "--board", "host").out
    assert out.endswith(f"\n  next: deploy build '{folder}'\n")


@pytest.mark.cc
def test_new_puts_several_models_into_one_firmware(model, archive, tmp_path, run_deploy):
    second = model.rename(tmp_path / "second.tflite")
    run_deploy("compile", second, "--board", "host", "-o", tmp_path / "b.tar")
    words = ("new", archive, tmp_path / "p", "--board", "host", "--with", tmp_path / "b.tar")
    assert run_deploy(*words).out.startswith(f"{tmp_path / 'p'}: tiny, second for host")
    assert "&tiny_model,\n    &second_model,\n" in (tmp_path / "p" / "src" / "models.c").read_text()
    assert run_deploy("build", tmp_path / "p").status == 0


@pytest.mark.cc
def test_build_tells_the_stack_of_the_model_whose_run_takes_most(archive, tmp_path, run_deploy):
    digits = Path(deploy.__file__).parent / "demo" / "digits.tflite"
    run_deploy("compile", digits, "--board", "host", "-o", tmp_path / "d.tar")
    told = {}
    for name, first, more in (
        ("alone", archive, []),
        ("first", tmp_path / "d.tar", ["--with", archive]),
        ("last", archive, ["--with", tmp_path / "d.tar"]),
    ):
        run_deploy("new", first, tmp_path / name, "--board", "host", *more)
        told[name] = json.loads(run_deploy("build", tmp_path / name, "--json").out)["run_stack_bytes"]
    assert told["alone"] < told["first"] == told["last"]
    assert "bytes of stack, in digits_run" in run_deploy("build", tmp_path / "last").out


@pytest.mark.cc
def test_build_dry_run_prints_command_lines_that_build_it(project, run_deploy):
    out = run_deploy("build", project, "--dry-run").out
    assert not (project / "build").exists()
    (project / "build" / "model").mkdir(parents=True)
    (project / "build" / "runtime").mkdir()
    subprocess.run(["sh", "-e"], input=out, text=True, check=True)
    assert (project / "build" / "firmware").is_file()


@pytest.mark.cc
def test_build_makes_firmware_and_says_how_large_it_is(project, run_deploy):
    facts = json.loads(run_deploy("build", project, "--json").out)
    assert Path(facts["firmware"]).is_file()
    assert facts["flash_bytes"] > 0
    assert facts["ram_bytes"] > 0


@pytest.mark.cc
def test_verbose_shows_each_command_line_with_its_folder(project, run_deploy):
    outcome = run_deploy("build", project, "-v", "--json")
    assert f"+ cd {project} && " in outcome.err
    assert "-c src/main.c" in outcome.err
    json.loads(outcome.out)  # results and progress do not mix


@pytest.mark.cc
def test_flash_says_that_an_emulated_board_needs_none(project, run_deploy):
    out = run_deploy("flash", project).out
    assert out.startswith(f"nothing to write: exec loads {project / 'build' / 'firmware'} when it starts")


@pytest.mark.cc
def test_flash_runs_what_the_runner_says_but_not_dry(project, tmp_path, run_deploy, monkeypatch):
    mark = tmp_path / "flashed"
    touch = (("touch", str(mark)),)
    monkeypatch.setattr("deploy.devices.projects.flash_commands", lambda _name, _elf, _board, _where: touch)
    assert run_deploy("flash", project, "--dry-run").out == f"touch {mark}\n"
    assert not mark.exists()
    assert not (project / "build").exists()
    assert run_deploy("flash", project).status == 0
    assert mark.exists()


@pytest.mark.cc
def test_monitor_shows_what_a_standalone_program_prints(archive, tmp_path, run_deploy):
    run_deploy("new", archive, tmp_path / "p", "--board", "host", "--app", "standalone")
    outcome = run_deploy("monitor", tmp_path / "p")
    assert outcome.status == 0
    assert outcome.out.count(" ") == 5  # the scores of five classes
    assert "firmware ended: exit status 0" in outcome.err


@pytest.mark.cc
def test_monitor_shows_the_packets_of_firmware_with_a_server(project, run_deploy, monkeypatch):
    """The firmware says that it has booted, and waits; Ctrl-C comes."""
    from platforms.transport.pipe import PipeTransport

    read = PipeTransport.read

    def read_once(self: PipeTransport, most: int, deadline_s: float) -> bytes:
        received = read(self, most, 5.0)
        monkeypatch.setattr(PipeTransport, "read", interrupted)
        return received

    def interrupted(_self: PipeTransport, _most: int, _deadline_s: float) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(PipeTransport, "read", read_once)
    outcome = run_deploy("monitor", project)
    assert outcome.status == 0
    assert outcome.out.startswith("booted #0")


def test_what_new_does_not_take_is_answered_with_what_to_do(model, tmp_path, run_deploy):
    outcome = run_deploy("new", model, model, tmp_path / "p", "--board", "host")
    assert "deploy new MODEL PROJECT --with OTHER_MODEL" in outcome.err
    outcome = run_deploy("new", model, tmp_path / "p", "--board", "host", "--stream")
    assert 'option "--stream" is one of deploy compile' in outcome.err
    assert "did you mean" not in outcome.err
    assert "deploy compile MODEL --stream" in outcome.err
    assert "is not known" in run_deploy("new", model, tmp_path / "p", "--streem").err


def test_an_archive_for_a_core_has_no_board(model, tmp_path, run_deploy):
    """Its core was searched among the boards."""
    archive = tmp_path / "core.tar"
    assert run_deploy("compile", model, "--target", "cortex-m55", "-o", archive).status == 0
    outcome = run_deploy("run", archive, "--fill", "random")
    assert "no board: model files and archives for a target name none" in outcome.err
    assert "add --board B" in outcome.err
