"""Tells how often the program for keywords is right on 500 clips of MLPerf Tiny, and the network alone.

`python tests/sensor_apps/kws_accuracy.py` prints both. The set has the features of clips and no samples: the
program is made without a front end, and takes features row by row from a file of numbers.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import deploy
from deploy.sensors.sensor_log import WindowRun, read_line

LABELS = "down,go,left,no,off,on,right,stop,up,yes,silence,unknown"


def accuracies(shared_dir: Path, count: int, folder: Path) -> tuple[float, float]:
    """The parts of the first `count` clips of which program and network tell the right class."""
    data = np.load(shared_dir / "datasets" / "kws_500.npz")
    features, classes = data["x_int8"][:count], data["y"][:count]
    path = shared_dir / "models" / "tiny_kws_dscnn_int8" / "model.tflite"
    compiled = deploy.compile(path, board="host", back="classes", stream=True)
    deploy.new(compiled, folder / "app", app="kws", class_names=LABELS)
    made = ["make", "-s", "CC=cc -DLANES=1u"]  # windows that do not overlap: a clip each
    subprocess.run(made, cwd=folder / "app", check=True, capture_output=True)
    np.savetxt(folder / "clips.csv", features.reshape(-1, features.shape[2]), "%d", ",")
    ran = subprocess.run(
        [folder / "app" / "build" / "firmware", folder / "clips.csv"], check=True, capture_output=True
    )
    told = [record for record in map(read_line, ran.stdout.splitlines()) if isinstance(record, WindowRun)]
    names = LABELS.split(",")
    assert len(told) == count, "the program has told of each clip"
    right = sum(run.found == names[number] for run, number in zip(told, classes, strict=True))
    (scores,) = deploy.load(path).run(features).values()
    return right / count, float(np.mean(scores.reshape(count, -1).argmax(axis=1) == classes))


def main() -> None:
    shared_dir = Path(__file__).resolve().parents[3] / "shared"
    with tempfile.TemporaryDirectory() as folder:
        program, network = accuracies(shared_dir, 500, Path(folder))
    sys.stdout.write(f"program {100 * program:.1f} %, network {100 * network:.1f} %, of 500 clips\n")


if __name__ == "__main__":
    main()
