"""A float keyword model quantised with and without --refine, and measured on other clips."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.cases import SHARED
from benchmarks.shared import model_file
from deploy.quantization.quantize_file import quantize
from deploy.verification.oracles import onnx_session

MODEL = "onnx_ali_kws_f32"
CALIBRATED = 100  # clips; the others are measured
_SCALE, _ZERO_POINT = 0.5847029, 83  # of the stored features
HEAD = """\
# Refined weights

Printed by `python -m benchmarks refined`: a float keyword model, quantized by `deploy quantize` with 100
clips of MLPerf Tiny's set and measured on the 400 others. *Signal to noise* is that of the outputs;
*reported* is the report's figure, measured on the calibration clips.

| weights | `--refine` | kept | signal to noise, dB | reported | class as float | right |
|---|---|---|---:|---:|---:|---:|
"""
FloatArray = npt.NDArray[np.float64]


def refined_rows() -> Iterator[str]:
    clips, labels = keyword_clips()
    real = scores_of(model_file(MODEL), clips[CALIBRATED:])
    yield row_of(("float", "", "", "", ""), real, real, labels[CALIBRATED:])
    with tempfile.TemporaryDirectory() as folder:
        for weights in ("int8", "int4"):
            for refine in (False, True):
                place = Path(folder) / f"{weights}_{refine}.onnx"
                answer = quantize(
                    model_file(MODEL), {"x:0": clips[:CALIBRATED]}, place, weight_type=weights, refine=refine
                )
                kept, told = _kept(answer.facts["refinements"])
                found = scores_of(place, clips[CALIBRATED:])
                words = (weights, "yes" if refine else "no", kept, f"{decibels(real, found):.1f}", told)
                yield row_of(words, real, found, labels[CALIBRATED:])


def keyword_clips() -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Features as the model needs them, and the place of the word of each."""
    stored = np.load(SHARED / "datasets" / "kws_500.npz")
    numbers = (stored["x_int8"].astype(np.float32) - _ZERO_POINT) * np.float32(_SCALE)
    return numbers, stored["y"]


def scores_of(path: Path, clips: npt.NDArray[np.float32]) -> FloatArray:
    session = onnx_session(path.read_bytes())
    name = session.get_inputs()[0].name
    return np.stack([session.run(None, {name: clip[None]})[0].reshape(-1) for clip in clips]).astype(
        np.float64
    )


def _kept(refinements: Any) -> tuple[str, str]:
    """What was kept, and its decibels."""
    kept = [(each["name"], f"{each['signal_to_noise_db']:.1f}") for each in refinements if each["is_kept"]]
    return kept[0] if kept else ("", "")


def decibels(real: FloatArray, found: FloatArray) -> float:
    return float(10 * np.log10(np.square(real).sum() / np.square(real - found).sum()))


def row_of(words: tuple[str, ...], real: FloatArray, found: FloatArray, labels: npt.NDArray[np.int64]) -> str:
    classes = found.argmax(axis=1)
    same, right = np.mean(classes == real.argmax(axis=1)), np.mean(classes == labels)
    return f"| {' | '.join((*words, f'{same:.1%}', f'{right:.1%}'))} |\n"
