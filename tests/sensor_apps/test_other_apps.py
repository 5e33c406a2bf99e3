"""Programs for movements, pictures and anomalies: what they tell is what the reference computes."""

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from listener import built, records

import deploy
from deploy.inputs.recordings import read_wav
from deploy.sensors.sensor_log import Losses, Record, WindowRun

pytestmark = [pytest.mark.cc, pytest.mark.slow]

Rows = npt.NDArray[Any]  # [rows, elements]


@dataclass(frozen=True)
class AppCase:
    """A program, its model, and a recording for it."""

    app: str
    model: str
    options: Mapping[str, str]
    words: Mapping[str, Any]  # of deploy new
    suffix: str
    write: Callable[[Path, Path], Rows]  # the recording, from the shared folder; its rows
    step: int  # rows from window to window
    found: frozenset[str]
    name: str = ""  # where an app has several


def write_gestures(path: Path, shared_dir: Path) -> Rows:
    samples = np.load(shared_dir / "models" / "tflm_magic_wand_f32" / "real.npz")["in_0"]
    rows = np.concatenate([*samples, *samples]).reshape(-1, 3).astype(np.float32)
    lines = [", ".join(repr(float(number)) for number in row) for row in rows]
    path.write_text("\n".join(["x, y, z", *lines, ""]))
    return rows


def write_pictures(path: Path, shared_dir: Path) -> Rows:
    """A person, nobody, a person: gray pixels of 96x96, each file's lowest row first."""
    names = ["person", "no_person", "person"]
    files = [shared_dir / "datasets" / f"person_detect_{name}.bmp" for name in names]
    pixels = np.stack(
        [np.frombuffer(file.read_bytes()[1078:], np.uint8).reshape(96, 96)[::-1] for file in files]
    )
    path.write_bytes(b"".join(b"P5\n96 96\n255\n" + picture.tobytes() for picture in pixels))
    return pixels.reshape(-1, 96)


def write_sound(path: Path, shared_dir: Path) -> Rows:
    source = shared_dir / "datasets" / "yes_1000ms.wav"
    path.write_bytes(source.read_bytes())
    samples = read_wav(source, 16000).reshape(-1)
    return samples[: len(samples) // 512 * 512].reshape(-1, 512)


CASES = {
    case.name or case.app: case
    for case in (
        AppCase(
            app="motion",
            model="tflm_magic_wand_f32",
            options={"back": "classes:threshold=0.85"},
            words={"class_names": "wing,ring,slope,negative", "rate": 25},
            suffix=".csv",
            write=write_gestures,
            step=64,
            found=frozenset({"slope"}),
        ),
        AppCase(
            app="motion",
            name="motion behind a filter",
            model="tflm_magic_wand_f32",
            options={
                "front": "scipy.filter:sample_rate=25,axes=3,N=2,Wn=8",
                "back": "classes:threshold=0.85",
            },
            words={"class_names": "wing,ring,slope,negative"},
            suffix=".csv",
            write=write_gestures,
            step=64,
            found=frozenset({"slope"}),
        ),
        AppCase(
            app="image",
            model="tflm_person_detect_int8",
            options={
                "front": "tf.image:width=96,height=96,format=gray,stored=true",
                "back": "classes:threshold=0.6",
            },
            words={"class_names": "no person,person", "rate": 2},
            suffix=".pgm",
            write=write_pictures,
            step=96,
            found=frozenset({"no person"}),  # of the person it is not sure: 0.52 for nobody
        ),
        AppCase(
            app="anomaly",
            model="tiny_ad_fc_int8",
            options={
                "front": "librosa.mel_db:sr=16000,n_fft=1024,hop_length=512,n_mels=128,center=false",
                "back": "anomaly:threshold=14",
            },
            words={},
            suffix=".wav",
            write=write_sound,
            step=6,
            found=frozenset({"anomaly"}),
        ),
    )
}


@pytest.fixture(scope="module", params=CASES)
def case(request):
    return CASES[request.param]


@pytest.fixture(scope="module")
def recording(case, shared_dir, tmp_path_factory):
    path = tmp_path_factory.mktemp(case.app) / f"recording{case.suffix}"
    return path, case.write(path, shared_dir)


@pytest.fixture(scope="module")
def told_here(case, recording, shared_dir, require_tool):
    """What the program for this computer tells."""
    require_tool("make")
    path, _ = recording
    made_for(case, shared_dir, "host", path.parent / "here")
    done = subprocess.run([built(path.parent / "here"), path], capture_output=True, check=True)
    return records(done.stdout)


def model_path(case: AppCase, shared_dir: Path) -> Path:
    return shared_dir / "models" / case.model / "model.tflite"


def made_for(case: AppCase, shared_dir: Path, board: str, folder: Path, **words: Any) -> None:
    compiled = deploy.compile(model_path(case, shared_dir), board=board, stream=True, **case.options)
    deploy.new(compiled, folder, app=case.app, **case.words, **words)


def runs(told: list[Record]) -> list[WindowRun]:
    return [record for record in told if isinstance(record, WindowRun)]


def test_it_tells_what_the_reference_computes(case, recording, told_here, shared_dir):
    _, rows = recording
    model = deploy.load(model_path(case, shared_dir), **case.options)
    (shape,) = (each.shape for each in model.inputs.values())
    in_window = int(np.prod(shape)) // rows.shape[1]
    last_rows = list(range(in_window, len(rows) + 1, case.step))
    windows = [rows[row - in_window : row].reshape(shape) for row in last_rows]
    outputs = list(model.run(np.stack(windows)).values())
    scores = next(array.reshape(-1) for array in outputs if array.dtype == np.float32)
    found = runs(told_here)
    assert [run.row for run in found] == last_rows
    assert np.allclose([run.score for run in found], scores, rtol=1e-4, atol=1.1e-3)
    assert case.found <= {run.found for run in found}
    assert len({run.found for run in found}) > 1, "the recording has both"
    assert isinstance(told_here[-1], Losses)


@pytest.mark.arm
@pytest.mark.qemu
def test_an_emulated_cortex_m4_tells_the_same(case, recording, told_here, shared_dir, tmp_path, run_deploy):
    path, _ = recording
    made_for(case, shared_dir, "mps2-an386", tmp_path / "there", recording=path)
    outcome = run_deploy("monitor", tmp_path / "there", "--runner", "qemu")
    assert outcome.status == 0, outcome.err
    there, here = runs(records(outcome.out.encode())), runs(told_here)
    assert [(run.row, run.found) for run in there] == [(run.row, run.found) for run in here]
    assert np.allclose([run.score for run in there], [run.score for run in here], rtol=1e-4, atol=1.1e-3)
