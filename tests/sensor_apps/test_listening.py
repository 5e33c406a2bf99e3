"""The program for keywords: from a recorded file to the decision, here and on an emulated Cortex-M4."""

import struct
import subprocess
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kws_accuracy import accuracies
from listener import BACK, CLASSES, FRONT, LABELS, Samples, built, heard, listener, network, records

import deploy
from deploy.inputs.recordings import read_wav
from deploy.python_api.model import Model
from deploy.sensors.sensor_log import Losses, ProgramFault, Record, Start, WindowRun

pytestmark = [pytest.mark.cc, pytest.mark.slow]

SPOKEN = ["yes", "yes", "noise", "noise", "no"]
LAST_ROWS = [50, 75, 100, 125, 150, 175, 200, 225, 250]  # of two lanes, half a window apart


@pytest.fixture(scope="module")
def sound(shared_dir):
    clips = [read_wav(shared_dir / "datasets" / f"{word}_1000ms.wav", 16000).reshape(-1) for word in SPOKEN]
    return np.concatenate(clips).astype(np.int16)


@pytest.fixture(scope="module")
def words(sound, tmp_path_factory):
    path = tmp_path_factory.mktemp("sound") / "words.wav"
    write_wav(path, sound)
    return path


@pytest.fixture(scope="module")
def model(shared_dir):
    return deploy.load(network(shared_dir), front=FRONT, back=BACK)


@pytest.fixture(scope="module")
def project(shared_dir, tmp_path_factory, require_tool):
    require_tool("make")
    folder = tmp_path_factory.mktemp("listener") / "project"
    deploy.new(listener(shared_dir, "host"), folder, app="kws", class_names=LABELS)
    return folder


@pytest.fixture(scope="module")
def program(project):
    return built(project)


def write_wav(path: Path, samples: Samples, rate: int = 16000, channels: int = 1, width: int = 2) -> None:
    with wave.open(str(path), "wb") as file:
        file.setparams((channels, width, rate, 0, "NONE", ""))
        file.writeframes(samples.astype("<i2").tobytes())


def ran(program: Path, *files: object, given: bytes = b"") -> tuple[int, list[Record]]:
    done = subprocess.run([program, *map(str, files)], input=given, capture_output=True, check=False)
    assert done.stderr == b""
    return done.returncode, records(done.stdout)


def decided(told: list[Record]) -> list[tuple[int, int, int, str]]:
    return [(r.number, r.row, round(r.score * 1000), r.found) for r in told if isinstance(r, WindowRun)]


def by_reference(model: Model, sound: Samples, last_rows: list[int]) -> list[tuple[int, int, int, str]]:
    expected = []
    before = (-1, 0)
    for number, row in enumerate(last_rows, 1):
        ((best, score),) = heard(model, sound, [row])
        is_new = best >= 0 and not (best == before[0] and row - before[1] < 50)
        before = (best, row) if is_new else before
        expected.append((number, row, score, CLASSES[best] if is_new else ""))
    return expected


def test_this_computer_hears_what_the_reference_hears(program, words, sound, model):
    status, told = ran(program, words)
    assert status == 0
    assert decided(told) == by_reference(model, sound, LAST_ROWS)
    assert [found for *_, found in decided(told) if found] == ["yes", "yes", "unknown", "unknown"]
    assert told[-1] == Losses(is_end=True, runs=9, row=250, lost_rows=0, lost_windows=0, stalls=0)
    assert isinstance(told[0], Start)
    assert (told[0].app, told[0].window_us, told[0].window_rows, told[0].lanes) == ("kws", 1_000_000, 50, 2)


def test_a_window_that_slides_decides_every_40_ms(shared_dir, sound, model, tmp_path, require_tool):
    """Each decision is the reference's for the whole second before it."""
    require_tool("make")
    folder, path, heard_rows = tmp_path / "project", tmp_path / "words.wav", 90
    deploy.new(listener(shared_dir, "host", slide=2), folder, app="kws", class_names=LABELS)
    write_wav(path, sound[: heard_rows * 320])
    status, told = ran(built(folder), path)
    assert status == 0
    assert decided(told) == by_reference(model, sound, list(range(50, heard_rows + 1, 2)))
    assert isinstance(told[0], Start)
    assert (told[0].window_us, told[0].window_rows, told[0].lanes) == (1_000_000, 50, 1)


def test_a_microphones_stream_of_no_known_length_is_heard(program, words):
    whole = words.read_bytes()
    for size in (0, 0x7FFF_FFFF, 0xFFFF_FFFF):
        stream = whole[:40] + struct.pack("<I", size) + whole[44:]
        assert decided(ran(program, given=stream)[1]) == decided(ran(program, words)[1])


def test_files_are_heard_one_after_the_other(program, shared_dir, words):
    clips = [shared_dir / "datasets" / f"{word}_1000ms.wav" for word in SPOKEN]
    assert decided(ran(program, *clips)[1]) == decided(ran(program, words)[1])


def damaged(change: Callable[[bytearray], object]) -> Callable[[bytes], bytes]:
    def make(whole: bytes) -> bytes:
        data = bytearray(whole)
        change(data)
        return bytes(data)

    return make


def cut(count: int) -> Callable[[bytes], bytes]:
    return lambda whole: whole[:count]


WRONG: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "of another rate": (
        damaged(lambda data: struct.pack_into("<I", data, 24, 44100)),
        "the file has 44100 samples a second, the model takes 16000",
    ),
    "of two channels": (
        damaged(lambda data: struct.pack_into("<H", data, 22, 2)),
        "the file has 2 channels, the model takes 1",
    ),
    "of bytes": (
        damaged(lambda data: struct.pack_into("<H", data, 34, 8)),
        "the file has 8 bits in a sample, the model takes 16",
    ),
    "of floats": (
        damaged(lambda data: struct.pack_into("<H", data, 20, 3)),
        "it is not a WAV file of whole numbers",
    ),
    "of another format": (lambda whole: b"ID3" + whole, "it is not a WAV file"),
    "empty": (cut(0), "it is not a WAV file"),
    "cut in its head": (cut(30), "it has no samples"),
    "cut before its samples": (cut(36), "it has no samples"),
    "cut in its samples": (cut(20_000), "the file ends before its samples do"),
    "with a chunk that has no end": (
        damaged(lambda data: struct.pack_into("<I", data, 16, 0xFFFF_FFFF)),
        "it has no samples",
    ),
    "whose samples come first": (
        damaged(lambda data: data.__setitem__(slice(12, 16), b"data")),
        "its samples come before their form",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_file_is_refused(name, program, shared_dir, tmp_path):
    change, why = WRONG[name]
    path = tmp_path / "in.wav"
    path.write_bytes(change((shared_dir / "datasets" / "yes_1000ms.wav").read_bytes()))
    status, told = ran(program, path)
    assert status == 1
    assert [record.message for record in told if isinstance(record, ProgramFault)] == [f"{path}: {why}"]
    assert isinstance(told[-1], Losses)


def test_a_file_that_is_not_there_is_reported(program, tmp_path):
    status, told = ran(program, tmp_path / "nothing.wav")
    assert status == 1
    assert ProgramFault(f"{tmp_path}/nothing.wav: No such file or directory") in told


def test_the_program_is_as_accurate_as_its_network(shared_dir, tmp_path):
    program, alone = accuracies(shared_dir, 120, tmp_path)
    assert abs(program - alone) <= 0.005
    assert program > 0.85


@pytest.fixture(scope="module")
def firmware(shared_dir, words, tmp_path_factory, require_tool):
    require_tool("arm-none-eabi-gcc", "qemu-system-arm")
    folder = tmp_path_factory.mktemp("firmware") / "project"
    deploy.new(listener(shared_dir, "mps2-an386"), folder, app="kws", class_names=LABELS, recording=words)
    return folder


def sent(project: Path, run_deploy: Callable[..., Any]) -> list[Record]:
    outcome = run_deploy("monitor", project, "--runner", "qemu")
    assert outcome.status == 0, outcome.err
    return records(outcome.out.encode())


@pytest.mark.arm
@pytest.mark.qemu
def test_an_emulated_cortex_m4_hears_the_same(firmware, program, words, run_deploy):
    told = sent(firmware, run_deploy)
    assert decided(told) == decided(ran(program, words)[1])
    assert told[-1] == Losses(is_end=True, runs=9, row=250, lost_rows=0, lost_windows=0, stalls=0)


@pytest.mark.arm
@pytest.mark.qemu
def test_what_a_slow_board_loses_is_counted_and_never_shifts_a_window(firmware, sound, model, run_deploy):
    facts = firmware / "src" / "app.h"
    facts.write_text(facts.read_text().replace("IN_REAL_TIME 0u", "IN_REAL_TIME 1u"))
    told = sent(firmware, run_deploy)
    end = told[-1]
    assert isinstance(end, Losses)
    assert end.row == 250
    assert end.lost_rows > 50, "an emulated instruction takes as long as ten of a board"
    assert end.lost_windows > 0
    last_rows = [record.row for record in told if isinstance(record, WindowRun)]
    assert len(last_rows) >= 3
    assert decided(told) == by_reference(model, sound, last_rows)
