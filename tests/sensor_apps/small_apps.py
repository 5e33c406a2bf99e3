"""Small networks of integers for sound and movement, with recordings: they need no large C library."""

from pathlib import Path

import numpy as np
from movement_cost import FRONTS, network

HEARD = "micro_frontend:window_size=30,window_step=20,num_channels=40,out_scale=26"
HEARD_LABELS = "silence,unknown,yes,no"
MOVED, _FEATURES = FRONTS["rms, skew, kurtosis and welch of 16"]
MOVED_LABELS = "still,wave,circle,knock"


def recording_for(app: str, folder: Path, shared_dir: Path) -> Path:
    if app == "kws":
        return shared_dir / "datasets" / "yes_1000ms.wav"
    t, path = np.arange(250) / 62.5, folder / "moves.csv"
    rows = np.stack([np.sin(9 * t), np.cos(23 * t) ** 3, 9.81 + 0.1 * np.sin(50 * t)], 1)
    np.savetxt(path, rows.astype(np.float32), "%.6f", ",")
    return path


def model_for(app: str, folder: Path, shared_dir: Path) -> Path:
    if app == "kws":
        return shared_dir / "models" / "tflm_micro_speech_int8" / "model.tflite"
    path = folder / "moves.tflite"
    path.write_bytes(network(_FEATURES))
    return path
