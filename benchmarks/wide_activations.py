"""A float keyword model quantised with values of eight bits, of both widths and of 16, on other clips."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import deploy
from benchmarks.refined import CALIBRATED, MODEL, decibels, keyword_clips, row_of, scores_of
from benchmarks.shared import model_file
from deploy.quantization.quantize_file import quantize

_BOARD = "mps2-an386"
_ASKED_DB = (27, 30, 35)
HEAD = f"""\
# 16-bit activations

Printed by `python -m benchmarks wide-activations`: a float keyword model, quantized by `deploy quantize`
with 100 clips of MLPerf Tiny's set and measured on the 400 others. *Reported* is the report's signal to
noise of the outputs, measured on the calibration clips. RAM is for tensors, flash for constants, and
instructions are for one run on `{_BOARD}`, an emulated Cortex-M4.

| `--activation-type` | 16 bits | reported | dB | RAM | flash | instructions | class as float | right |
|---|---:|---:|---:|---:|---:|---:|---:|---:|
"""


def wide_rows() -> Iterator[str]:
    clips, labels = keyword_clips()
    real = scores_of(model_file(MODEL), clips[CALIBRATED:])
    options = [("int8", None), *(("mixed", asked) for asked in _ASKED_DB), ("int16", None)]
    with tempfile.TemporaryDirectory() as folder:
        for activations, asked in options:
            place = Path(folder) / f"{activations}_{asked}.onnx"
            answer = quantize(
                model_file(MODEL),
                {"x:0": clips[:CALIBRATED]},
                place,
                activation_type=activations,
                signal_to_noise=asked,
            )
            found = scores_of(place, clips[CALIBRATED:])
            shown = f"{activations}, {asked} dB" if asked else activations
            words = (shown, *_told(answer.facts["widened"]), f"{decibels(real, found):.1f}", *_cost(place))
            yield row_of(words, real, found, labels[CALIBRATED:])


def _told(widened: object) -> tuple[str, str]:
    """The share of values that have 16 bits, and the decibels."""
    if not isinstance(widened, dict):
        return "", ""
    bits = [each["bits"] for each in widened["activations"]]
    return f"{bits.count(16)} of {len(bits)}", f"{widened['signal_to_noise_db']:.1f}"


def _cost(place: Path) -> tuple[str, str, str]:
    compiled = deploy.compile(place, _BOARD)
    ran = deploy.run(compiled, fill="zeros").count.mean
    numbers = compiled.arena_bytes, compiled.constants_bytes, int(ran)
    return tuple(f"{number:,}" for number in numbers)  # type: ignore[return-value]
