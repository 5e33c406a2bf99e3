"""The shared models: their files, and the sizes that these leave open."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from benchmarks.cases import SHARED


def shared_models() -> tuple[str, ...]:
    return tuple(sorted(path.parent.name for path in (SHARED / "models").glob("*/model.*")))


def model_file(name: str) -> Path:
    return next((SHARED / "models" / name).glob("model.*"))


def shapes_for(name: str) -> dict[str, tuple[int, ...]]:
    """The sizes that an ONNX file leaves open are those of its golden inputs."""
    folder = SHARED / "models" / name
    if model_file(name).suffix != ".onnx":
        return {}
    inputs = json.loads((folder / "info.json").read_text())["inputs"]
    golden = np.load(folder / "golden.npz")
    return {each["name"]: golden[f"in_{n}"].shape[1:] for n, each in enumerate(inputs)}
