"""run, verify, bench: on the host, and on an emulated Cortex-M4."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deploy
from aot.errors import InputError
from aot.frontend.load import load_model
from aot.interpret import run_graph
from aot.ops.average_pool2d import AveragePool2d
from artifact.archive import read_archive
from artifact.artifact import Artifact

BENCH_KEYS = {
    "model", "board", "arena_bytes", "io_bytes", "stack_bytes", "code_bytes", "constants_bytes", "compile_s",
}  # fmt: skip


def expected(model: Path, inputs: Path) -> np.ndarray[Any, Any]:
    graph = load_model(model)
    (name,) = graph.inputs
    series = np.load(inputs)["input_0"]
    return np.stack([next(iter(run_graph(graph, {name: sample}).values())) for sample in series])


@pytest.mark.cc
def test_run_stacks_the_outputs_of_a_series(model, inputs, tmp_path, run_deploy):
    words = ("run", model, "--board", "host", "--inputs", inputs, "--output", tmp_path / "out.npz")
    outcome = run_deploy(*words)
    assert outcome.status == 0, outcome.err
    assert "tiny on host: 3 samples" in outcome.out
    outputs = np.load(tmp_path / "out.npz")
    assert outputs.files == ["output_0"]
    np.testing.assert_array_equal(outputs["output_0"], expected(model, inputs))
    assert run_deploy(*words).status == 0, "an earlier file of outputs is replaced"


@pytest.mark.cc
def test_run_gives_the_same_from_model_archive_and_project(
    model, archive, project, inputs, tmp_path, run_deploy
):
    results = []
    for source in (model, archive, project):
        out = tmp_path / f"{source.name}.npz"
        outcome = run_deploy("run", source, "--board", "host", "--inputs", inputs, "--output", out)
        assert outcome.status == 0, outcome.err
        results.append(np.load(out)["output_0"].tolist())
    assert results[0] == results[1] == results[2]


@pytest.mark.cc
def test_run_of_one_sample_gives_the_models_own_shape(model, inputs, tmp_path, run_deploy):
    np.savez(tmp_path / "one.npz", image=np.load(inputs)["input_0"][0])
    out = tmp_path / "out.npz"
    words = (
        "run",
        model,
        "--board",
        "host",
        "--inputs",
        tmp_path / "one.npz",
        "--output",
        out,
        "--repeat",
        4,
    )
    facts = json.loads(run_deploy(*words, "--json").out)
    assert np.load(out)["output_0"].shape == (1, 5)
    assert (facts["samples"], facts["repeat"]) == (1, 4)
    assert set(facts["time_s"]) == {"mean", "median", "min", "max", "std"}
    assert facts["time_s"]["min"] <= facts["time_s"]["median"] <= facts["time_s"]["max"]


@pytest.mark.cc
def test_run_writes_every_packet_to_the_trace(model, inputs, tmp_path, run_deploy):
    words = ("run", model, "--board", "host", "--inputs", inputs, "--trace", tmp_path / "trace")
    assert run_deploy(*words).status == 0
    assert "-> hello #1" in (tmp_path / "trace").read_text(encoding="utf-8")


@pytest.mark.cc
def test_verify_finds_every_layer_right(model, run_deploy):
    facts = json.loads(run_deploy("verify", model, "--board", "host", "--layers", "--json").out)
    assert facts["equal"] is True
    assert facts["layers_compared"] >= 4
    assert facts["first_wrong_layer"] is None


@pytest.mark.cc
def test_verify_names_the_first_layer_that_differs(model, run_deploy, monkeypatch):
    """The pooling is made to mean something else to the comparison than to the compiler."""
    right = AveragePool2d.reference
    monkeypatch.setattr(AveragePool2d, "reference", lambda *a: tuple(y ^ 1 for y in right(*a)))  # type: ignore[operator]
    outcome = run_deploy("verify", model, "--board", "host", "--layers")
    assert outcome.status == 1
    named = r"first layer that differs: sample 0, layer \d average_pool2d, AVERAGE_POOL_2D #1"
    assert re.search(named, outcome.out)
    assert outcome.err.startswith("error: host computes tiny differently from the reference")


@pytest.mark.cc
def test_bench_as_json_has_the_promised_keys(model, run_deploy):
    (facts,) = json.loads(run_deploy("bench", model, "--board", "host", "--layers", "--json").out)
    assert set(facts) >= BENCH_KEYS
    assert facts["code_bytes"] > 0
    assert len(facts["layers"]) >= 4


@pytest.mark.cc
def test_bench_is_a_table_with_a_line_for_each_model_and_board(model, run_deploy):
    lines = run_deploy("bench", model, "--board", "host", "host").out.splitlines()
    assert [line.split()[:2] for line in lines[:3]] == [
        ["model", "board"],
        ["tiny", "host"],
        ["tiny", "host"],
    ]


@pytest.mark.cc
def test_bench_keeps_the_rows_of_boards_that_can_be_built(model, run_deploy, tmp_path):
    (tmp_path / "empty.tflite").write_bytes(b"")
    words = ("bench", model, tmp_path / "empty.tflite", "--board", "host")
    outcome = run_deploy(*words)
    assert outcome.status == 1
    assert outcome.out.splitlines()[1].split()[:2] == ["tiny", "host"]
    assert outcome.err.startswith("error: 1 of 2 cases could not be measured\n")
    assert f"{tmp_path}/empty.tflite on host: " in outcome.err
    measured, failed = json.loads(run_deploy(*words, "--json").out)
    assert "time_s" in measured
    assert set(failed) == {"model", "board", "error"}


@pytest.mark.arm
@pytest.mark.qemu
def test_an_emulated_board_counts_the_same_instructions_each_time(model, inputs, run_deploy):
    words = ("run", model, "--board", "mps2-an386", "--inputs", inputs, "--runner", "qemu", "--json")
    first, second = (json.loads(run_deploy(*words).out) for _ in range(2))
    assert first == second
    assert first["instructions"]["mean"] > 1000


@pytest.mark.arm
@pytest.mark.qemu
def test_verify_finds_every_layer_right_on_an_emulated_board(model, run_deploy):
    outcome = run_deploy("verify", model, "--board", "mps2-an386", "--layers", "--runner", "qemu")
    assert outcome.status == 0, outcome.err
    assert "equal to the reference in every bit" in outcome.out


@pytest.mark.arm
@pytest.mark.qemu
def test_bench_tells_instructions_and_stack_of_an_emulated_board(model, run_deploy):
    words = ("bench", model, "--board", "mps2-an386", "--runner", "qemu", "--layers", "--json")
    (facts,) = json.loads(run_deploy(*words).out)
    assert set(facts) >= {*BENCH_KEYS, "instructions"}
    assert facts["stack_bytes"] > 0
    assert all(layer["instructions"] > 0 for layer in facts["layers"])


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.parametrize(
    ("board", "compiler"),
    [
        ("mps2-an383", "arm-none-eabi-gcc"),
        ("mps2-an521", "arm-none-eabi-gcc"),
        ("qemu-riscv32", "riscv64-unknown-elf-gcc"),
    ],
)
def test_verify_finds_every_layer_right_on_processors_without_dsp(
    model, run_deploy, require_tool, board, compiler
):
    require_tool(compiler)
    outcome = run_deploy("verify", model, "--board", board, "--layers")
    assert outcome.status == 0, outcome.err
    assert "equal to the reference in every bit" in outcome.out


@pytest.mark.cc
def test_run_and_verify_take_the_model_that_is_named(model, archive, inputs, tmp_path, run_deploy):
    other = model.rename(tmp_path / "other.tflite")
    run_deploy("compile", other, "--board", "host", "-o", tmp_path / "other.tar")
    words = ("new", archive, tmp_path / "both", "--board", "host", "--with", tmp_path / "other.tar")
    assert run_deploy(*words).status == 0
    run = ("run", tmp_path / "both", "--inputs", inputs)
    for named, wanted in (((), "tiny"), (("--model", "other"), "other")):
        outcome = run_deploy(*run, *named, "--output", tmp_path / f"{wanted}.npz")
        assert outcome.out.startswith(f"{wanted} on host: 3 samples"), outcome.err
    outputs = [np.load(tmp_path / f"{name}.npz")["output_0"] for name in ("tiny", "other")]
    np.testing.assert_array_equal(*outputs)
    for named, wanted in (((), "tiny"), (("--model", "other"), "other")):
        outcome = run_deploy("verify", tmp_path / "both", "--layers", *named)
        assert outcome.out.startswith(f"{wanted} on host: 3 samples, outputs and "), outcome.err
        assert "equal to the reference" in outcome.out
    of_file = run_deploy("verify", other, "--board", "host", "--model", "other")
    assert "an archive does not contain the model file" not in of_file.out
    assert of_file.out == run_deploy("verify", other, "--board", "host").out
    for name in (None, "other"):
        assert deploy.verify(tmp_path / "both", model_name=name).model == (name or "tiny")
    array = np.load(inputs)
    ran = deploy.run(tmp_path / "both", {name: array[name] for name in array.files}, model_name="other")
    np.testing.assert_array_equal(next(iter(ran.outputs.values())), outputs[1])
    with pytest.raises(InputError, match='the firmware has no model "third"'):
        deploy.verify(tmp_path / "both", model_name="third")
    outcome = run_deploy("verify", tmp_path / "both", "--model", "third")
    assert 'the firmware has no model "third"\n  hint: its models: tiny, other' in outcome.err
    outcome = run_deploy(*run, "--model", "third")
    assert outcome.err.startswith("error: firmware does not hold the model third\n")
    assert 'models "tiny" ' in outcome.err


@pytest.mark.cc
def test_a_spectrogram_that_the_file_has_as_a_vector_is_verified_row_by_row(shared_dir, run_deploy):
    model = shared_dir / "models" / "tflm_micro_speech_int8" / "model.tflite"
    outcome = run_deploy("verify", model, "--board", "host", "--stream")
    assert outcome.status == 0, outcome.err
    assert "outputs equal to the reference in every bit" in outcome.out


@pytest.mark.cc
def test_verify_and_bench_take_what_compile_has_made(archive, run_deploy):
    verified = run_deploy("verify", archive, "--board", "host", "--layers")
    assert verified.status == 0, verified.err
    assert "layers equal to the reference in every bit" in verified.out
    assert "an archive does not contain the model file" in verified.out
    measured = run_deploy("bench", archive, "--board", "host", "--json")
    assert measured.status == 0, measured.err
    (facts,) = json.loads(measured.out)
    assert facts["model"] == "tiny"
    assert facts["compile_s"] is None, "nothing was compiled"


@pytest.mark.cc
def test_an_archive_is_verified_as_it_is_and_not_compiled_again(archive, run_deploy, monkeypatch):
    graph = read_archive(archive).imported
    broken = replace(graph, outputs=(graph.nodes[0].outputs[0],))
    monkeypatch.setattr(Artifact, "imported", broken)
    outcome = run_deploy("verify", archive, "--board", "host")
    assert outcome.status != 0, "the reference is the archive's graph"


@pytest.mark.cc
def test_a_project_is_compared_with_the_archive_it_was_created_from(project, run_deploy):
    verified = run_deploy("verify", project, "--layers")
    assert verified.status == 0, verified.err
    assert "layers equal to the reference in every bit" in verified.out
    (facts,) = json.loads(run_deploy("bench", project, "--json").out)
    assert (facts["model"], facts["compile_s"]) == ("tiny", None)
    assert "tiny" in run_deploy("inspect", project).out
    assert "| host |" in run_deploy("report", project).out


@pytest.mark.parametrize("command", ["verify", "bench", "inspect", "report"])
def test_a_project_without_its_archive_has_no_graph_and_no_facts(command, project, archive, run_deploy):
    archive.rename(archive.with_name("elsewhere.tar"))
    outcome = run_deploy(command, project)
    assert outcome.status == 1
    assert "archive of the project" in outcome.err


def test_an_archive_that_was_made_again_otherwise_is_not_that_of_the_project(
    project, archive, model, run_deploy
):
    assert run_deploy("compile", model, "--board", "host", "--optimize", "size", "-o", archive).status == 0
    assert "give the archive of the project" in run_deploy("inspect", project).err


def test_a_report_on_an_archive_is_for_its_board(archive, model, run_deploy):
    assert "| host |" in run_deploy("report", archive).out
    assert "add --board B" in run_deploy("report", model).err


@pytest.mark.cc
@pytest.mark.parametrize("command", ["run", "verify", "bench"])
def test_a_platform_that_a_board_does_not_have_is_refused(command, archive, run_deploy):
    more = ["--fill", "random"] if command == "run" else []
    outcome = run_deploy(command, archive, "--board", "host", "--platform", "zephyr", *more)
    assert outcome.status == 1
    assert 'board "host" has no platform "zephyr"' in outcome.err
    assert run_deploy(command, archive, "--board", "host", "--platform", "host", *more).status == 0


@pytest.mark.cc
def test_a_project_stays_on_its_platform(project, run_deploy):
    outcome = run_deploy("run", project, "--platform", "zephyr", "--fill", "random")
    assert outcome.status == 1
    assert "the project is for platform host, not zephyr" in outcome.err


@pytest.fixture
def own_board(request, model, tmp_path, run_deploy):
    """Arguments that name a model for a board that is not here, in each form that commands accept."""
    board, archive, project = "nucleo-f446re", tmp_path / "own.tar", tmp_path / "own"
    if request.param == "model":
        return [model, "--board", board]
    assert run_deploy("compile", model, "--board", board, "-o", archive).status == 0
    if request.param == "archive":
        return [archive]
    made_of = archive if request.param == "project" else model
    words = ("new", made_of, project, "--board", board, "--platform", "baremetal")
    assert run_deploy(*words).status == 0
    archive.rename(tmp_path / "moved.tar") if made_of == model else None
    return [project]


FORMS = ("model", "archive", "project of a model file")


@pytest.mark.arm
@pytest.mark.slow
@pytest.mark.parametrize("own_board", FORMS, indirect=True)
def test_every_form_of_a_model_is_emulated_by_every_command(own_board, tmp_path, run_deploy):
    emulated = (*own_board, "--emulated", "--platform", "baremetal")
    outcome = run_deploy("verify", *emulated, "--layers")
    assert outcome.status == 0, outcome.err
    assert "layers equal to the reference in every bit" in outcome.out
    assert run_deploy("run", *emulated, "--fill", "random").status == 0
    (facts,) = json.loads(run_deploy("bench", *emulated, "--json").out)
    assert (facts["board"], facts["time_source"]) == ("nucleo-f446re", "cycle model")
    records = tmp_path / "records.jsonl"
    tuned = run_deploy("tune", *emulated, "--trials", 1, "--tasks", 1, "-o", records)
    assert tuned.status == 0, tuned.err
    assert records.is_file()
    assert "nothing to write: unicorn loads" in run_deploy("flash", *emulated).out
    shown = run_deploy("monitor", *emulated, "--decode")
    assert "tiny counts no statistics" in shown.err, "the firmware answered"


@pytest.mark.arm
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["files", "archives"])
def test_a_project_of_several_models_is_emulated_with_each_of_them(kind, model, tmp_path, run_deploy):
    """It was refused, because only projects of one model knew their archive."""
    board = ("--board", "nucleo-f446re")
    first, second = model, Path(deploy.__file__).parent / "demo" / "digits.tflite"
    if kind == "archives":
        for each, archive in ((first, "tiny.tar"), (second, "digits.tar")):
            run_deploy("compile", each, *board, "-o", tmp_path / archive)
        first, second = tmp_path / "tiny.tar", tmp_path / "digits.tar"
    project = tmp_path / "both"
    assert run_deploy("new", first, project, "--with", second, *board, "--platform", "baremetal").status == 0
    for named, wanted in (((), "tiny"), (("--model", "digits"), "digits")):
        outcome = run_deploy("verify", project, "--emulated", *named)
        assert outcome.out.startswith(f"{wanted} on nucleo-f446re: 3 samples, outputs equal"), outcome.err
    run = ("run", project, "--emulated", "--fill", "random", "--model")
    outcome = run_deploy(*run, "digits")
    assert outcome.out.startswith("digits on nucleo-f446re: 1 sample"), outcome.err
    assert 'sample 0  "digit"' in outcome.out, "its own output, and inputs of its own size"
    outcome = run_deploy(*run, "third")
    assert 'the firmware has no model "third"' in outcome.err
    assert "its models: tiny, digits" in outcome.err


@pytest.mark.parametrize("command", ["run", "verify", "bench", "flash"])
def test_another_platform_is_not_emulated(command, model, run_deploy):
    """It was said that the board has none of that name."""
    outcome = run_deploy(command, model, "--board", "nrf52840dk", "--emulated", "--platform", "zephyr")
    assert outcome.status == 1
    assert "the emulated firmware for nrf52840dk is bare metal, not zephyr" in outcome.err
    assert "omit --platform" in outcome.err


@pytest.mark.arm
@pytest.mark.slow
def test_an_emulated_project_says_what_its_firmware_is(model, tmp_path, run_deploy):
    words = ("new", model, tmp_path / "project", "--board", "nrf52840dk", "--platform", "zephyr")
    assert run_deploy(*words).status == 0
    outcome = run_deploy("run", tmp_path / "project", "--emulated", "--fill", "zeros")
    assert outcome.status == 0, outcome.err
    assert "note: the emulated firmware is bare metal with the same model, not the project's for zephyr" in (
        " ".join(outcome.err.split())
    )


def test_slots_of_a_project_are_not_emulated(model, tmp_path, run_deploy):
    board = ("--board", "nucleo-f446re")
    made = run_deploy("new", model, tmp_path / "project", *board, "--platform", "baremetal", "--slots", "16K")
    assert made.status == 0, made.err
    assert run_deploy("compile", model, *board, "--cartridge", "-o", tmp_path / "new.cart").status == 0
    words = ("--emulated", "--fill", "zeros", "--load", tmp_path / "new.cart")
    outcome = run_deploy("run", tmp_path / "project", *words)
    assert outcome.status == 1
    assert "the project's firmware for nucleo-f446re, which has the slots, is not emulated" in outcome.err
    assert "deploy new ARCHIVE DIR --slots BYTES --board mps2-an386 or " in " ".join(outcome.err.split())


def test_slots_that_take_all_ram_are_answered_with_smaller_ones(model, tmp_path, run_deploy):
    words = ("new", model, tmp_path / "p", "--board", "nucleo-f446re", "--platform", "baremetal", "--slots")
    refused = run_deploy(*words, "64K")
    assert (refused.status, refused.code) == (1, "E301")
    (most,) = re.findall(r"hint: --slots (\d+)K or less: both slots are in RAM", refused.err)
    assert run_deploy(*words, f"{int(most) + 1}K").status == 1
    assert run_deploy(*words, f"{most}K").status == 0


@pytest.mark.arm
@pytest.mark.parametrize("own_board", ["model", "archive"], indirect=True)
def test_a_model_is_flashed_without_a_project(own_board, run_deploy, monkeypatch):
    written: list[Any] = []
    monkeypatch.setattr("deploy.devices.projects.choose_runner", lambda *_: "openocd")
    monkeypatch.setattr("deploy.devices.projects.run_all", lambda commands, _folder: written.extend(commands))
    outcome = run_deploy("flash", *own_board)
    assert outcome.status == 0, outcome.err
    assert "firmware.elf" in " ".join(written[0])
    own_board[0].rename(own_board[0].with_name("gone"))
    assert run_deploy("flash", *own_board).status == 1


@pytest.mark.arm
@pytest.mark.parametrize("own_board", ["project"], indirect=True)
def test_a_project_without_its_archive_cannot_be_emulated(own_board, run_deploy):
    own_board[0].with_suffix(".tar").rename(own_board[0].with_suffix(".moved"))
    for command in ("run", "verify", "bench", "flash"):
        outcome = run_deploy(command, *own_board, "--emulated")
        assert outcome.status == 1
        assert "give the archive of the project" in outcome.err


def test_the_firmware_of_a_sensor_program_is_emulated_by_its_own_project_alone(archive, tmp_path, run_deploy):
    words = ("new", archive, tmp_path / "p", "--board", "nucleo-f446re", "--app", "standalone")
    assert (
        run_deploy("compile", archive.with_suffix(".tflite"), "--board", words[4], "-o", archive).status == 0
    )
    assert run_deploy(*words, "--platform", "baremetal").status == 0
    outcome = run_deploy("monitor", tmp_path / "p", "--emulated")
    assert outcome.status == 1
    assert 'this project has the app "standalone" for nucleo-f446re' in outcome.err
    assert "deploy new ARCHIVE DIR --app standalone --board mps2-an386 or " in " ".join(outcome.err.split())
