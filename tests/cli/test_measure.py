"""Measurements: what a board's counter counts, which differences count, and boards that cannot measure."""

import json
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from still_host import still_host

from aot.ir.graph import Graph, Node
from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import DType, TensorType
from aot.ops.binary import Sub
from boards.board import Board, Counter
from deploy.benchmark.counter_check import counted_by, instruction_shift
from deploy.benchmark.meter import Meter, spread
from deploy.inputs.samples import Samples, make_samples, random_samples
from deploy.verification.compare_layers import apart_from_roundings, differences
from platforms.board_files import load_board
from platforms.runners import qemu, qemu_riscv32
from platforms.transport.base import LineClosedError
from platforms.transport.named import open_named

SLOT = TensorSpec("scores", TensorType(DType.I8, (1, 3)))


def test_an_emulated_board_counts_instructions():
    """One instruction takes 256 ns, one tick 40 ns."""
    meter = Meter(load_board("mps2-an386"))
    assert (meter.unit, meter.count(2560), meter.seconds(2560)) == ("instructions", 400, 400 / 25e6)


def test_a_real_counter_counts_cycles_whatever_its_own_clock():
    counter = Counter("register", hz=10_000_000, bits=32, address=0x4000_0000)
    meter = Meter(replace(load_board("mps2-an386"), own_counter=counter))
    assert (meter.unit, meter.count(1000), meter.seconds(1000)) == ("cycles", 2500, 1e-4)


def test_a_clock_counts_nothing_but_time():
    meter = Meter(load_board("host"))
    assert (meter.unit, meter.seconds(1_000_000)) == ("", 1e-3)


def test_a_spread_is_five_numbers():
    found = spread([1, 2, 3, 6])
    assert (found.mean, found.median, found.min, found.max) == (3, 2.5, 1, 6)
    assert found.std == pytest.approx(3.5**0.5)


def test_equal_outputs_have_no_difference():
    outputs = [(np.array([[1, 2, 3]], np.int8),)]
    assert differences(outputs, outputs, [SLOT]) == []


def test_a_difference_is_counted_and_its_first_place_is_reported():
    expected = [(np.array([[1, 2, 3]], np.int8),), (np.array([[1, 2, 3]], np.int8),)]
    found = [(np.array([[1, 2, 3]], np.int8),), (np.array([[1, -126, 4]], np.int8),)]
    (difference,) = differences(expected, found, [SLOT])
    assert str(difference) == (
        'sample 1, output "scores": 2 of 3 elements differ, by 128 at most; first at [0, 1]: -126, expected 2'
    )


def test_a_float_that_is_not_a_number_must_be_none_on_the_board_too():
    spec = TensorSpec("y", TensorType(DType.F32, (2,)))
    expected, other = (np.array([x, 1.0], np.float32) for x in (np.nan, 1.0))
    assert differences([(expected,)], [(expected,)], [spec]) == []
    assert len(differences([(expected,)], [(other,)], [spec])) == 1


def far_difference(step, exact):
    """The difference of two inputs near 1e6, which a board returns as step, and the reference as exact."""
    types = dict.fromkeys(("a", "b", "y"), TensorType(DType.F32, (8,)))
    graph = Graph("net", ("a", "b"), ("y",), (Node("sub", Sub(), ("a", "b"), ("y",)),), types, {})
    a, b = np.full(8, 1e6 + exact, np.float32), np.full(8, 1e6, np.float32)
    samples, expected = Samples(((a, b),), is_series=True), [(np.full(8, exact, np.float32),)]
    found = differences(expected, [(np.full(8, step, np.float32),)], [TensorSpec("y", types["y"])])
    return apart_from_roundings(found, graph, samples, expected)


def test_a_difference_that_single_precision_cannot_avoid_is_told_apart():
    """Neighbours are 0.0625 apart at 1e6: a step of 0.25 is rounding, one of 4 is not."""
    counting, (rounded,) = far_difference(4.25, 4.0)
    assert (counting, rounded.most) == ((), 0.25)
    assert 0.0625 <= rounded.moved <= 0.125
    ((counting,), rounded) = far_difference(8.0, 4.0)
    assert (counting.most, rounded) == (4.0, ())
    ((counting,), rounded) = far_difference(np.nan, 4.0)
    assert np.isnan(counting.most)


def test_random_samples_are_the_same_each_time_and_reach_the_limits():
    first, second = (
        random_samples([TensorSpec("x", TensorType(DType.I8, (1, 5000)))], 1).each[0][0] for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)
    assert (first.min(), first.max()) == (-128, 127)


def test_an_input_without_an_axis_for_samples_serves_them_all():
    specs = [TensorSpec("a", TensorType(DType.I8, (2,))), TensorSpec("b", TensorType(DType.I8, (2,)))]
    series = np.arange(6, dtype=np.int8).reshape(3, 2)
    samples = make_samples({"a": series, "input_1": series[0]}, specs, "here")
    assert [tuple(x.tolist() for x in sample) for sample in samples.each] == [
        ([0, 1], [0, 1]),
        ([2, 3], [0, 1]),
        ([4, 5], [0, 1]),
    ]


def test_arrays_come_from_the_device_in_little_endian_order():
    spec = TensorSpec("x", TensorType(DType.I16, (2,)))
    assert spec.from_bytes(b"\x01\x00\xff\xff").tolist() == [1, -1]
    assert spec.to_bytes(np.array([1, -1], ">i2")) == b"\x01\x00\xff\xff"


SLOTS: Any = cast(Any, (SimpleNamespace(name="y"),))


@pytest.mark.parametrize(
    ("expected", "found", "differing"),
    [
        (np.array([3, -4], np.int8), np.array([3, -4], np.int8), 0),
        (np.array([3, -4], np.int8), np.array([3, -5], np.int8), 1),
        (np.array([3, -4], np.int8), np.array([3, -4], np.int16), 1),
        (np.array([100.0, 1.0], np.float32), np.array([100.0009, 0.9991], np.float32), 0),
        (np.array([100.0, 1.0], np.float32), np.array([100.0, 1.0011], np.float32), 1),
        (np.array([0.0], np.float32), np.array([1e-30], np.float32), 1),
    ],
)
def test_outputs_differ_where_they_may_not(expected, found, differing):
    assert len(differences([(expected,)], [(found,)], SLOTS)) == differing


PROGRAMS = {"mps2-an386": qemu, "mps3-an547": qemu, "qemu-riscv32": qemu_riscv32}
_STARTS_S = 20.0


@contextmanager
def emulated(elf: Path, board: Board, counts: bool) -> Iterator[str]:
    """An emulator that somebody started, with or without counting; gives the line's name."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = list(PROGRAMS[board.name].argv(elf, board))
    words[words.index("stdio")] = f"tcp:127.0.0.1:{port},server=on,wait=off"
    if not counts:
        at = words.index("-icount")
        del words[at : at + 2]
    name = f"tcp://127.0.0.1:{port}"
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            _wait_for(name)
            yield name
        finally:
            process.kill()


def _wait_for(name: str) -> None:
    give_up_at = time.monotonic() + _STARTS_S
    while True:
        try:
            open_named(name, 115_200).close()
        except LineClosedError:
            if time.monotonic() > give_up_at:
                raise
            time.sleep(0.05)
        else:
            return


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_an_emulator_that_counts_is_distinguished_from_one_that_does_not(name, tmp_path, run_deploy, model):
    board, project = load_board(name), tmp_path / "project"
    compiled = tmp_path / "for_board.tar"
    assert run_deploy("compile", model, "--board", name, "-o", compiled).status == 0
    assert run_deploy("new", compiled, project, "--board", name).status == 0
    assert run_deploy("build", project).status == 0
    with emulated(project / "build/firmware.elf", board, True) as line:
        outcome = run_deploy("run", project, "--fill", "zeros", "--port", line, "--json")
        assert outcome.status == 0, outcome.err
    own = run_deploy("run", project, "--fill", "zeros", "--json")
    assert json.loads(outcome.out)["instructions"] == json.loads(own.out)["instructions"]
    with emulated(project / "build/firmware.elf", board, False) as line:
        outcome = run_deploy("run", project, "--fill", "zeros", "--port", line)
        assert outcome.status == 0, outcome.err
    shown = " ".join(outcome.out.split())
    assert (
        f"started with -icount shift={instruction_shift(board)}, so its counter measures this comp" in shown
    )
    assert "instructions " not in shown.replace("no instructions are shown", "")


class _Ticking:
    """A device whose calls that do nothing take so many ticks, round by round."""

    def __init__(self, *ticks_a_call: float) -> None:
        self._ticks = cycle(ticks_a_call)

    def time_nothing(self, _model: object, calls: int) -> int:
        return round(next(self._ticks) * calls)


@pytest.mark.parametrize(
    ("instructions", "counts"),
    [(23, True), (23.01, True), (23.4, False), (0.37, False), (7, False), (450, False)],
)
def test_a_call_takes_a_whole_number_of_instructions(instructions, counts):
    board = load_board("mps2-an386")
    device: Any = _Ticking(instructions * 256 / 40)
    found = counted_by(device, None, board)  # type: ignore[arg-type]
    assert (found is board) == counts
    assert Meter(found).unit == ("instructions" if counts else "")


@pytest.mark.parametrize("rounds", [(23, 23.1), (23, 23, 23, 23, 23, 23, 23, 23, 23.3), (23, 24)])
def test_time_that_is_a_whole_number_once_does_not_count_instructions(rounds):
    board = load_board("mps2-an386")
    device: Any = _Ticking(*(instructions * 256 / 40 for instructions in rounds))
    assert counted_by(device, None, board) is not board  # type: ignore[arg-type]


def test_a_board_that_counts_cycles_is_not_asked():
    board = load_board("nucleo-f746zg")
    assert counted_by(None, None, board) is board  # type: ignore[arg-type]


@pytest.fixture
def still(tmp_path):
    """This computer, as if its clock stood still while code runs."""
    path = tmp_path / "still.toml"
    path.write_text(still_host(), encoding="utf-8")
    return path


@pytest.mark.cc
def test_no_time_is_reported_where_the_clock_stands_still(model, still, run_deploy):
    words = ("run", model, "--board", still, "--fill", "zeros")
    outcome = run_deploy(*words)
    assert outcome.status == 0, outcome.err
    assert "(no time is shown: the board's clock stands still while code runs)" in outcome.out
    assert "ms" not in outcome.out.split()
    assert "time_s" not in json.loads(run_deploy(*words, "--json").out)


def test_it_is_not_measured(model, still, run_deploy):
    outcome = run_deploy("bench", model, "--board", still)
    assert outcome.status != 0
    assert "still cannot be measured: its clock stands still while code runs" in outcome.err
    assert "use an emulated board that counts instructions, such as mps2-an386, or host for time" in " ".join(
        outcome.err.split()
    )


def test_zephyrs_native_sim_is_such_a_board():
    assert not Meter(load_board("native-sim")).measures
