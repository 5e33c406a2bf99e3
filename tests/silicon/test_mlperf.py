"""MLPerf Tiny: the firmware's answers, the runner's figures over good and bad lines, and a submission."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from make_kit_models import Network

import deploy
from aot.errors import BoardError, DeviceError, InputError
from benchmarks.faulty_line import Faults, FaultyTransport
from codegen.job import import_model
from codegen.options import CompileOptions
from deploy.inputs.samples import Samples
from deploy.silicon import mlperf_device, mlperf_run
from deploy.silicon.kit_models import KIT
from deploy.silicon.mlperf_samples import Sample, quality_of, read_samples
from deploy.verification.compare_layers import reference_outputs
from platforms.mlperf_tiny import BENCHMARKS
from platforms.transport.pipe import PipeTransport

BENCHMARK = {each.task: each for each in BENCHMARKS}
KWS = KIT["keywords"].path
TASKS = ("kws", "ic", "vww", "ad")
HELP = "name, profile, timestamp, db load BYTES, db HEX, db print, infer ITERATIONS WARMUPS, results"


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A model for each benchmark."""
    folder = tmp_path_factory.mktemp("models")
    picture = Network("picture", (1, 96, 96, 3), 7)
    picture.conv(4, (3, 3), 2)
    spectrum = Network("spectrum", (1, 640), 8)
    spectrum.dense(16)
    (folder / "picture.tflite").write_bytes(picture.classify(2))
    (folder / "spectrum.tflite").write_bytes(spectrum.build.finish(spectrum.dense(640, "NONE")))
    made = {"vww": folder / "picture.tflite", "ad": folder / "spectrum.tflite"}
    return {"kws": KWS, "ic": KIT["residual"].path, **made}


def project(model: Path, folder: Path, board: str) -> Path:
    compiled = deploy.compile(model, board=board)
    deploy.new(compiled, folder, app="mlperf-tiny")
    return folder


def made(folder: Path, *words: str) -> Path:
    make = ["make", "-s", "SANITIZE=1", "CC=cc -Werror", *words]
    subprocess.run(make, cwd=folder, check=True, capture_output=True)
    return folder / "build" / "sanitize" / "firmware"


@pytest.fixture(scope="module")
def programs(models, tmp_path_factory, require_tool):
    """The programs for this computer, with sanitizers and without a warning."""
    require_tool("cc")
    folder = tmp_path_factory.mktemp("mlperf")
    return {task: made(project(model, folder / task, "host")) for task, model in models.items()}


def answers(program: Path, *commands: str) -> list[str]:
    """Returns the answer to each command, without the last line, which is m-ready."""
    sent = "".join(f"{command}%" for command in commands).encode("latin-1")
    done = subprocess.run([program], input=sent, capture_output=True, check=True)
    assert not done.stderr
    start, *found = done.stdout.decode("latin-1").split("m-ready\r\n")
    assert start.endswith("m-init-done\r\n")
    assert found.pop() == ""
    assert len(found) == len(commands)
    return [each.replace("\r\n", "\n").strip() for each in found]


def sample_of(task: str, seed: int) -> bytes:
    random = np.random.default_rng(seed)
    if task == "ad":
        return random.normal(0, 20, 640).astype("<f4").tobytes()
    return random.bytes(BENCHMARK[task].sample_bytes)


def loaded(sample: bytes) -> list[str]:
    return [f"db load {len(sample)}", *(f"db {sample[n : n + 31].hex()}" for n in range(0, len(sample), 31))]


# ---- the firmware ----


@pytest.mark.cc
@pytest.mark.slow
def test_the_commands_are_answered_as_the_benchmark_describes(programs):
    sample = sample_of("kws", 1)
    found = answers(programs["kws"], "name", "profile", *loaded(sample), "infer 3 2", "results", "timestamp")
    name, profile, expecting, *loads, inferred, results, timestamp = found
    assert name == "m-name-dut-[host]"
    assert profile == "m-profile-[ULPMark for tinyML Firmware V0.0.1]\nm-model-[kws01]"
    assert expecting == "m-[Expecting 490 bytes]"
    assert [line for line in loads if line] == ["m-load-done"] == loads[-1:]
    start, done, begin, first, last, ended, values = inferred.split("\n")
    assert (start, done, begin, ended) == (
        "m-warmup-start-2",
        "m-warmup-done",
        "m-infer-start-3",
        "m-infer-done",
    )
    assert int(first.removeprefix("m-lap-us-")) < int(last.removeprefix("m-lap-us-"))
    assert values == results
    assert int(timestamp.removeprefix("m-lap-us-")) >= int(last.removeprefix("m-lap-us-"))


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize(
    ("commands", "last"),
    [
        (["db load 491"], "e-[A sample has 490 bytes]"),
        (["db load 0"], "e-[A sample has 490 bytes]"),
        (["db load -490"], "e-[A sample has 490 bytes]"),
        (["db load 99999999990"], "e-[A sample has 490 bytes]"),
        (["db 00"], "e-[Bytes expected: 0]"),
        (["db load 490", "db 000"], "e-[A byte has two hex digits]"),
        (["db load 490", "db 0g"], "e-[Not a hex digit]"),
        (["db load 490", "db 0\xff"], "e-[Not a hex digit]"),
        (["db load 490", "db 0aFf", "db print"], "m-buffer-0a-ff"),
        (["db load 490", *["db " + "00" * 38] * 12, "db " + "00" * 38], "e-[Bytes expected: 34]"),
        (["db load 490", "db 00", "infer 1 0"], "e-[Load a sample first; bytes loaded: 1]"),
        (["db load 490", "db 00", "db load 489", "infer 1 0"], "e-[Load a sample first; bytes loaded: 0]"),
        ([*loaded(bytes(490)), "infer 0 0"], "e-[infer needs ITERATIONS of at least 1, and WARMUPS]"),
        ([*loaded(bytes(490)), "infer 1 x"], "e-[infer needs ITERATIONS of at least 1, and WARMUPS]"),
        (["x" * 80], f"e-[Unknown command: {'x' * 80}]"),
        (["x" * 81], "e-[A command has at most 80 characters]"),
        (["x" * 100_000, "name"], "m-name-dut-[host]"),
        (["", " ", "db"], ""),
        (["na\r\nme\n"], "m-name-dut-[host]"),
        (["NAME"], "e-[Unknown command: NAME]"),
        (
            ["help"],
            "name, profile, timestamp, db load BYTES, db HEX, db print, infer ITERATIONS WARMUPS, results",
        ),
    ],
)
def test_wrong_commands_are_named(programs, commands, last):
    assert answers(programs["kws"], *commands)[-1] == last


def expected(task: str, model: Path, sample: bytes) -> list[float]:
    """Returns the results by the reference of the model."""
    graph = import_model(model, CompileOptions()).graph
    before, after = (graph.types[names[0]].quant for names in (graph.inputs, graph.outputs))
    assert before is not None
    assert after is not None
    shape = graph.types[graph.inputs[0]].shape
    if task == "ad":
        values = np.frombuffer(sample, "<f4")
        steps = np.trunc(values / np.float32(before.scale) + np.copysign(np.float32(0.5), values))
        array = np.clip(steps + before.zero_point, -128, 127).astype(np.int8)
    elif task in ("ic", "vww"):
        array = (np.frombuffer(sample, np.uint8).astype(np.int16) - 128).astype(np.int8)
    else:
        array = np.frombuffer(sample, np.int8)
    ((output,),) = reference_outputs(graph, Samples(((array.reshape(shape),),), is_series=False))
    found = (output.reshape(-1).astype(np.float64) - after.zero_point) * after.scale
    return [float(np.mean((found - values) ** 2))] if task == "ad" else found.tolist()


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_results_are_those_of_the_reference_however_often_the_model_runs(task, programs, models):
    for seed in (1, 2):
        sample = sample_of(task, seed)
        *_, once, often = answers(programs[task], *loaded(sample), "infer 1 0", "infer 5 3")
        assert once.split("\n")[-1] == often.split("\n")[-1]
        values = [float(text) for text in once.split("\n")[-1][len("m-results-[") : -1].split(",")]
        assert values == pytest.approx(expected(task, models[task], sample), rel=1e-5, abs=1e-6)


@pytest.mark.cc
@pytest.mark.slow
def test_for_energy_a_pin_falls_and_no_time_is_printed(tmp_path):
    folder = project(KWS, tmp_path / "p", "host")
    flags = folder / "flags" / "compile"
    flags.write_text(flags.read_text() + "-DMLPERF_ENERGY\n")
    with pytest.raises(subprocess.CalledProcessError) as refused:
        made(folder)
    assert b"set the pin of your board in mlperf_pin" in refused.value.stderr
    (folder / "src" / "pin.c").write_text(
        '#include "mlperf_tiny.h"\nvoid mlperf_pin(int is_high) { mlperf_send(is_high ? "/" : "\\\\"); }\n'
    )
    program = made(folder)
    done = subprocess.run(
        [program],
        input="%".join([*loaded(bytes(490)), "infer 2 1", ""]).encode(),
        capture_output=True,
        check=True,
    )
    text = done.stdout.decode()
    assert text.startswith("/m-timestamp-mode-energy\r\n\\/m-init-done")
    assert "m-infer-start-2\r\n\\/\\/m-infer-done" in text
    assert "m-lap-us" not in text


@pytest.mark.parametrize(
    ("model", "board", "more", "what"),
    [
        ("digits", "host", {}, "no benchmark of MLPerf Tiny: i8.1, 8, 8, 1. to i8"),
        ("keywords", "host", {"stream": True}, "one model without state on a whole sample"),
        ("keywords", "nano-33-ble", {}, "supports the platforms baremetal and host, not zephyr"),
        ("keywords", "qemu-microbit", {}, "has no counter of 32 bits"),
    ],
)
def test_what_the_benchmark_cannot_measure_is_refused(model, board, more, what, tmp_path):
    compiled = deploy.compile(KIT[model].path, board=board, **more)
    with pytest.raises((InputError, BoardError), match=what):
        deploy.new(compiled, tmp_path / "p", app="mlperf-tiny")
    assert not (tmp_path / "p").exists()


# ---- the runner ----


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(mlperf_run, "WINDOW_S", 0.02)


def kws_samples(count: int) -> list[Sample]:
    windows = [sample_of("kws", n) for n in range(count)]
    return [as_sample(f"{n}.bin", n % 12, each) for n, each in enumerate(windows)]


def as_sample(file: str, label: int, data: bytes) -> Sample:
    return Sample(file, 12, label, (data,), (file, "12", str(label)))


def measured_over(line: Any, samples: Sequence[Sample]) -> mlperf_run.Measured:
    try:
        return mlperf_run.measure(line, BENCHMARK["kws"], samples, lambda _step: None)
    finally:
        line.close()


def host_line(program: Path) -> PipeTransport:
    return PipeTransport([str(program)])


def values_of(found: mlperf_run.Measured) -> list[Any]:
    return [each["infer"]["results"] for each in found.modes[0].results]


@pytest.mark.cc
@pytest.mark.slow
def test_a_spoilt_line_changes_no_figure(programs, short, monkeypatch):
    monkeypatch.setattr(mlperf_device, "ANSWER_S", 0.5)
    monkeypatch.setattr(mlperf_device, "TRIES", 30)
    samples = kws_samples(2)
    clean = measured_over(host_line(programs["kws"]), samples)
    faults = Faults(flipped_bits=2e-5, dropped=1e-4, duplicated=1e-4, swapped=1e-4)
    spoilt = measured_over(FaultyTransport(host_line(programs["kws"]), faults, 3), samples)
    assert values_of(spoilt) == values_of(clean)
    assert spoilt.quality == clean.quality
    assert [each.iterations for each in spoilt.windows] == [
        each["infer"]["iterations"] for each in spoilt.modes[1].results
    ]


@pytest.mark.cc
@pytest.mark.slow
def test_a_line_that_is_too_bad_is_named(programs, short, monkeypatch):
    monkeypatch.setattr(mlperf_device, "ANSWER_S", 0.2)
    for faults in (Faults(dropped=1.0), Faults(flipped_bits=0.01)):
        line = FaultyTransport(host_line(programs["kws"]), faults, 1)
        with pytest.raises(DeviceError, match=r"did not transfer .* in 5 attempts"):
            measured_over(line, kws_samples(1))


@pytest.mark.cc
@pytest.mark.slow
def test_firmware_for_energy_or_another_benchmark_is_named(programs, short):
    with pytest.raises(BoardError, match="the firmware is for ic01, not for kws01"):
        measured_over(host_line(programs["ic"]), kws_samples(1))


@pytest.fixture
def sample_set(tmp_path):
    folder = tmp_path / "kws01"
    folder.mkdir()
    for each in kws_samples(3):
        (folder / each.file).write_bytes(each.windows[0])
    (folder / "y_labels.csv").write_text("".join(",".join(each.columns) + "\n" for each in kws_samples(3)))
    return folder


@pytest.mark.parametrize(
    "board",
    [
        pytest.param("mps2-an386", marks=[pytest.mark.arm, pytest.mark.qemu, pytest.mark.slow]),
        pytest.param("qemu-riscv32", marks=[pytest.mark.slow]),
    ],
)
def test_emulated_boards_give_the_results_of_the_host(
    board, sample_set, programs, short, run_deploy, require_tool, tmp_path
):
    tools = {"mps2-an386": ("arm-none-eabi-gcc", "qemu-system-arm")}
    require_tool(*tools.get(board, ("riscv64-unknown-elf-gcc", "qemu-system-riscv32")))
    folder = tmp_path / "tiny" / "open" / "acme"
    words = ("bench", "--mlperf", sample_set, KWS, "--board", board, "-o", folder)
    ended = run_deploy(*words)
    assert "NOT HARDWARE" in ended.out, ended.err
    assert "inferences a second, the median of 5 windows" in ended.out
    place = folder / "results" / board / "kws"
    results = json.loads((place / "accuracy" / "results.json").read_text())
    clean = measured_over(host_line(programs["kws"]), read_samples(sample_set, BENCHMARK["kws"]))
    assert [each["infer"]["results"] for each in results] == [list(each) for each in values_of(clean)]
    before = sorted(folder.rglob("*"))
    again = run_deploy(*words)
    assert "there are results already" in again.err
    assert sorted(folder.rglob("*")) == before


@pytest.mark.cc
@pytest.mark.slow
def test_a_submission_has_what_the_checker_of_the_benchmark_reads(sample_set, short, run_deploy, tmp_path):
    folder = tmp_path / "tiny" / "closed" / "acme"
    ended = run_deploy("bench", "--mlperf", sample_set, KWS, "--board", "host", "-o", folder, "--json")
    (facts,) = [json.loads(ended.out)]
    assert not facts["is_hardware"]
    for mode in ("accuracy", "performance"):
        place = folder / "results" / "host" / "kws" / mode
        assert {path.name for path in place.iterdir()} == {"log.txt", "results.txt", "results.json"}
    text = (folder / "results/host/kws/accuracy/results.txt").read_text()
    assert f" Top 1% = {facts['top1_percent']:.1f}\n" in text
    text = (folder / "results/host/kws/performance/results.txt").read_text()
    assert f" Median throughput is {facts['inferences_per_second']:>10.3f} inf./sec." in text
    assert json.loads((folder / "systems" / "host.json").read_text())["Status"].lower() in (
        "available",
        "rdi",
    )
    paths = list(folder.rglob("*"))
    assert not [path for path in paths if path.name.startswith(".") or " " in path.name]
    assert not [path for path in paths if path.is_dir() and not any(path.iterdir())]
    assert (folder / "code" / "host" / "kws" / "src" / "main.c").exists()


@pytest.mark.parametrize(
    ("edit", "what"),
    [
        ("", "the list has no samples"),
        ("0.bin,12\n", "a row is FILE,CLASSES,CLASS"),
        ("0.bin,12,twelve\n", "a row is FILE,CLASSES,CLASS"),
        ("0.bin,12,12\n", "class 12 of 12 classes"),
        ("9.bin,12,1\n", "a sample cannot be read"),
        ("0.bin,12,1,480,10\n", "0.bin has 490 bytes, with windows of 480"),
        ("0.bin,12,1,490,0\n", "with windows of 490"),
    ],
)
def test_a_wrong_list_of_samples_is_named(edit, what, sample_set):
    (sample_set / "y_labels.csv").write_text(edit)
    with pytest.raises(InputError, match=what):
        read_samples(sample_set, BENCHMARK["kws"])


def test_a_wrong_folder_or_option_is_named_before_anything_is_built(sample_set, run_deploy, tmp_path):
    words = ("bench", "--mlperf", sample_set, KWS, "--board", "host")
    for more, what in (
        (("-o", tmp_path / "acme"), "a submission's folder is DIVISION/SUBMITTER"),
        (("--layers",), "--mlperf does not go with --layers"),
        ((KIT["residual"].path,), "--mlperf measures one model on one board"),
    ):
        assert what in run_deploy(*words, *more).err


def test_windows_slide_over_a_long_recording(tmp_path):
    (tmp_path / "a.bin").write_bytes(bytes(range(256)) * 12)
    (tmp_path / "y_labels.csv").write_text("a.bin,2,1,2560,256\n")
    (sample,) = read_samples(tmp_path, BENCHMARK["ad"])
    assert [len(each) for each in sample.windows] == [2560] * 3


def test_quality_is_that_of_the_rules():
    def samples(*labels: int) -> list[Sample]:
        return [Sample("", 2, label, (), ()) for label in labels]

    found = quality_of(samples(0, 0, 1, 1), [[[9, 1]], [[6, 4]], [[6, 4]], [[2, 8]]])
    assert found.top1_percent == 75
    assert found.auc == 3.5 / 4  # of four pairs three are in order and one is equal
    errors = quality_of(samples(0, 0, 1, 1), [[[1.0], [3.0]], [[5.0]], [[4.0]], [[9.0]]])
    assert errors.auc == 3 / 4
    three = quality_of(samples(0, 1, 2), [[[8, 1, 1]], [[1, 8, 1]], [[1, 8, 1]]])
    assert three.top1_percent == pytest.approx(200 / 3)
    assert three.auc == pytest.approx((1 + 3 / 4 + 1 / 2) / 3)
    assert quality_of(samples(0, 0), [[[8, 1, 1]], [[1, 8, 1]]]).auc is None


@pytest.mark.cc
@pytest.mark.slow
def test_the_accuracy_of_keyword_spotting_is_that_of_the_benchmarks_model(shared_dir, short, tmp_path):
    data = np.load(shared_dir / "datasets" / "kws_500.npz")
    model = shared_dir / "models" / "tiny_kws_dscnn_int8" / "model.tflite"
    program = made(project(model, tmp_path / "p", "host"))
    rows = zip(data["files"], data["x_int8"], data["y"], strict=True)
    samples = [as_sample(str(file), int(label), x.tobytes()) for file, x, label in [*rows][:24]]
    found = measured_over(host_line(program), samples)
    by_reference = [expected("kws", model, each.windows[0]) for each in samples]
    assert np.array(values_of(found)) == pytest.approx(np.array(by_reference), abs=1e-6)
    right = [int(np.argmax(each)) for each in by_reference] == data["y"][:24]
    assert found.quality.top1_percent == pytest.approx(100 * np.mean(right))
    assert found.quality.top1_percent > BENCHMARK["kws"].target
