"""The counters of --observe: on this computer and on an emulated Cortex-M4 they are the reference's."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from counted_by_reference import Counted, counted, looked_at
from observe_cost import costs

import deploy
from aot.errors import DeviceError, InputError
from aot.ir.types import Array
from deploy.benchmark.field_statistics import Observed, observed_lines, read_observed
from deploy.compiler.compile_model import Compiled
from platforms.rpc.session import Session

pytestmark = [pytest.mark.cc]

BOARDS = ["host", pytest.param("mps2-an386", marks=[pytest.mark.arm, pytest.mark.qemu])]


@dataclass(frozen=True)
class Case:
    """A model, and the value of its softmax."""

    model: str
    scores: str
    runs: int
    options: dict[str, Any] = field(default_factory=dict)
    stream_rows: int = 0


CASES = {
    "integers": Case("tiny_kws_dscnn_int8", "Identity", 70),
    "rows as they come": Case("tiny_kws_dscnn_int8", "Identity", 66, {"stream": True}, 49),
    "reals": Case("tiny_kws_dscnn_f32", "dense/Softmax", 66),
    "no classes": Case("tiny_ad_fc_int8", "", 70),
}


def samples_of(compiled: Compiled, runs: int) -> Array:
    (kind,) = (each.type for each in compiled.artifact.facts.inputs)
    rng = np.random.default_rng(18)
    if kind.dtype.is_integer:
        return rng.normal(20, 40, (runs, *kind.shape)).clip(-128, 127).astype(kind.dtype.numpy)
    return rng.normal(1, 12, (runs, *kind.shape)).astype(np.float32)


def require_for(board: str, require_tool: Callable[..., None]) -> None:
    require_tool(*(("cc",) if board == "host" else ("arm-none-eabi-gcc", "qemu-system-arm")))


def said(seen: Observed) -> Iterator[Any]:
    yield seen.runs, seen.looked_at, seen.saturated, seen.windows
    yield seen.worst_layer, round(seen.worst_share * 65535)
    yield list(seen.margins)
    yield seen.first_window, seen.last_window
    yield None if seen.entropy_bits is None else round(seen.entropy_bits * 4096 * seen.runs)


def expected(found: Counted, scores: str) -> Iterator[Any]:
    yield found.runs, found.looked_at, found.saturated, len(found.windows)
    yield found.worst or (None, 0)
    yield found.margins if scores else []
    yield (found.windows[0], found.windows[-1]) if found.windows else (None, None)
    yield found.entropy if scores else None


@pytest.mark.slow
@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("name", CASES)
def test_counters_are_the_references(name, board, shared_dir, require_tool):
    require_for(board, require_tool)
    case = CASES[name]
    path = shared_dir / "models" / case.model / "model.tflite"
    compiled = deploy.compile(path, board=board, observe=True, **case.options)
    samples = samples_of(compiled, case.runs)
    with deploy.connect(compiled) as device:
        assert device.observed is not None
        assert device.observed.runs == 0
        device.run(samples)
        seen = device.observed
    assert seen is not None
    wanted = counted(compiled, samples, case.scores, case.stream_rows)
    assert list(said(seen)) == list(expected(wanted, case.scores))
    assert seen.windows == 1
    assert seen.timed_runs == case.runs
    assert 0 < seen.least_ticks <= seen.mean_ticks <= seen.most_ticks
    assert seen.saturated > 0 or not looked_at(compiled), "the samples reach the ends of some integers"


def test_an_end_that_an_activation_makes_is_not_looked_at(shared_dir):
    path = shared_dir / "models" / "tiny_kws_dscnn_int8" / "model.tflite"
    table = looked_at(deploy.compile(path, board="mps2-an386", observe=True))
    assert {tuple(row[2:]) for row in table[:-1]} == {(1, 127, 255)}, "behind a ReLU zeros are meant"
    assert table[-1][2:] == (2, 127, 255), "the dense layer has none"


@pytest.mark.slow
@pytest.mark.arm
@pytest.mark.qemu
def test_it_costs_less_than_a_hundredth(shared_dir):
    for name, alone, observed in costs(shared_dir):
        assert alone < observed <= 1.01 * alone, name


def test_a_model_without_it_has_no_counters(tmp_path):
    with deploy.connect(digits(), board="host") as device:
        assert device.observed is None


def digits() -> Path:
    return Path(str(deploy.__file__)).parent / "demo" / "digits.tflite"


def test_run_and_monitor_show_them(tmp_path, run_deploy, require_tool):
    require_tool("make")
    outcome = run_deploy("run", digits(), "--board", "host", "--observe", "--fill", "random")
    assert outcome.status == 0, outcome.err
    assert "observed: 1 run\n" in outcome.out
    archive, project = tmp_path / "digits.tar", tmp_path / "project"
    run_deploy("compile", digits(), "--board", "host", "--observe", "-o", archive)
    run_deploy("new", archive, project, "--board", "host")
    outcome = run_deploy("monitor", project, "--decode")
    assert (outcome.status, outcome.out) == (0, "observed: no run yet\n")


def test_what_counts_nothing_is_reported(tmp_path, run_deploy, require_tool):
    require_tool("make")
    archive, project = tmp_path / "digits.tar", tmp_path / "project"
    run_deploy("compile", digits(), "--board", "host", "-o", archive)
    run_deploy("new", archive, project, "--board", "host")
    outcome = run_deploy("monitor", project, "--decode")
    assert outcome.status == 1
    assert outcome.err.splitlines()[-3:] == [
        "error: digits counts no statistics",
        f"  {project}",
        "  hint: compile the model with --observe",
    ]


def test_firmware_with_slots_refuses_it(tmp_path, run_deploy):
    archive = tmp_path / "digits.tar"
    run_deploy("compile", digits(), "--board", "host", "--observe", "-o", archive)
    outcome = run_deploy("new", archive, tmp_path / "project", "--board", "host", "--slots", "128K")
    assert outcome.status == 1
    assert outcome.err.splitlines() == [
        "error: digits was compiled with --observe, which cannot be combined with --slots",
        "  hint: compile it without --observe, or omit --slots",
    ]


def test_counters_of_another_format_are_refused():
    for data in (b"", b"\2\0" + bytes(126)):
        with pytest.raises(InputError, match=r"the board's counters are \d+ bytes of format [02], this"):
            read_observed(data)


def test_they_are_said_in_words():
    data = bytearray(128)
    data[:4] = b"\1\0\5\2"  # integers and scores, two windows
    for offset, value in ((4, 128), (8, 1000), (12, 10), (32, 3), (36, 1), (60, 124), (116, 128), (120, 7)):
        data[offset : offset + 4] = value.to_bytes(4, "little")
    for offset, value in ((16, 4), (18, 6553), (24, 8192), (26, 32), (28, 64), (124, 9)):
        data[offset : offset + 2] = value.to_bytes(2, "little")
    for offset, value in ((64, 128 * 2048), (72, 128 * 8), (80, 2048 * 104), (88, 2048 * 125)):
        data[offset : offset + 8] = value.to_bytes(8, "little")
    data[104:112] = (2048 * 2).to_bytes(4, "little") + (2048 * 5).to_bytes(4, "little")
    assert list(observed_lines(read_observed(bytes(data)), lambda ticks: f"{ticks:g} ticks")) == [
        "observed: 128 runs",
        "  saturated      10 of 1,000 results; most in layer 4, 10.0 % of a row",
        "  best class     less than 1/4 ahead in 4 of 128 runs",
        "  margins        3 1 0 0 0 0 0 124   (runs by eighths, from 0 to 1)",
        "  entropy        0.50 bits, 2.00 at most",
        "  input          5 +- 10; in the first runs 2 +- 10",
        "  drift          +0.30 deviations",
        "  time of a run  8 ticks, from 7 ticks to 9 ticks",
    ]


@pytest.mark.parametrize("reply", [b"odd", DeviceError("device did not answer"), InputError("malformed")])
def test_run_keeps_its_outputs_where_counters_cannot_be_read(
    reply, tmp_path, run_deploy, require_tool, monkeypatch
):
    def observed(_session: Session, _model: object) -> bytes:
        if isinstance(reply, Exception):
            raise reply
        return reply

    require_tool("make")
    monkeypatch.setattr(Session, "observed", observed)
    words = ("--board", "host", "--observe", "--fill", "random", "--output", tmp_path / "out.npz")
    outcome = run_deploy("run", digits(), *words)
    assert (outcome.status, outcome.err) == (0, "")
    assert "\nobserved: not read: " in outcome.out
    assert (tmp_path / "out.npz").exists()
