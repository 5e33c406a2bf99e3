"""MLPerf's keyword spotting as a program for a sensor, and its windows as the reference hears them."""

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import deploy
from deploy.compiler.compile_model import Compiled
from deploy.python_api.model import Model
from deploy.sensors.sensor_log import Record, read_line

FRONT = (
    "tf.signal.mfcc:sample_rate=16000,samples=16000,frame_length=480,frame_step=320,num_mel_bins=40,"
    "lower_edge_hertz=20,upper_edge_hertz=4000,num_mfccs=10"
)
BACK = "classes:threshold=0.7"
CLASSES = ["down", "go", "left", "no", "off", "on", "right", "stop", "up", "yes", "silence", "unknown"]
LABELS = ",".join(CLASSES)
WINDOW_ROWS, ROW_SAMPLES = 50, 320

Samples = npt.NDArray[np.int16]


def network(shared_dir: Path) -> Path:
    return shared_dir / "models" / "tiny_kws_dscnn_int8" / "model.tflite"


def listener(shared_dir: Path, board: str, slide: int | None = None) -> Compiled:
    more: dict[str, Any] = {} if slide is None else {"slide": slide}
    return deploy.compile(network(shared_dir), board=board, front=FRONT, back=BACK, stream=True, **more)


def built(project: Path) -> Path:
    """The program of a project for this computer, made by its Makefile with sanitizers and no warning."""
    make = ["make", "-s", "SANITIZE=1", "CC=cc -Werror"]
    subprocess.run(make, cwd=project, check=True, capture_output=True)
    return project / "build" / "sanitize" / "firmware"


def records(sent: bytes) -> list[Record]:
    """What the program told, in records."""
    found = (read_line(line) for line in sent.splitlines())
    return [record for record in found if record is not None]


def heard(model: Model, sound: Samples, last_rows: list[int]) -> list[tuple[int, int]]:
    """The class of each window that ends with such a row, and its score in thousandths, by the reference."""
    window = WINDOW_ROWS * ROW_SAMPLES
    clips = [sound[row * ROW_SAMPLES - window : row * ROW_SAMPLES] for row in last_rows]
    decided, scores = (array.reshape(-1) for array in model.run(np.stack(clips)).values())
    thousandths = np.floor(scores.astype(np.float32) * np.float32(1000))
    return list(zip(decided.tolist(), thousandths.astype(int).tolist(), strict=True))
