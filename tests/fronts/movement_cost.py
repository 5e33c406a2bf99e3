"""Tells what front ends for movement cost before a small network on an emulated Cortex-M4.

`PYTHONPATH=.:tests/fronts:tests/models python tests/fronts/movement_cost.py` prints the table.
"""

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from tflite_builder import ModelBuilder
from tiny_models import random_weights

import deploy
from deploy.compiler.compile_model import Compiled

BOARD, SAMPLES = "mps2-an386", 125
_START = f"sample_rate=62.5,axes=3,samples={SAMPLES}"
FRONTS: Mapping[str, tuple[str, int]] = {  # and the features that the network takes
    "none, 375 numbers": ("", 375),
    "filter of order 6": (f"scipy.filter:{_START},N=6,Wn=3", 375),
    "filter of 21 taps": (f"scipy.filter:{_START},b={'/'.join(['0.05'] * 21)}", 375),
    "rms, skew, kurtosis and welch of 16": (f"scipy.features:{_START},N=6,Wn=3,detrend=constant", 36),
    "the same of 64": (f"scipy.features:{_START},N=6,Wn=3,detrend=constant,nperseg=64", 108),
}


def network(features: int) -> bytes:
    """A dense layer of four classes, and a softmax."""
    build = ModelBuilder("moves")
    x = build.input("features", (1, features), scale=0.05, zero_point=-4)
    weights, bias, scales = random_weights(7, (4, features))
    return build.finish(
        build.softmax(build.fully_connected(x, weights, bias, weight_scales=scales, scale=0.1))
    )


def compiled(name: str, folder: Path, board: str = BOARD) -> Compiled:
    declared, features = FRONTS[name]
    path = folder / "moves.tflite"
    path.write_bytes(network(features))
    if not declared:
        return deploy.compile(path, board=board)
    return deploy.compile(path, board=board, front=declared, stream=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in FRONTS:
            made = compiled(name, Path(folder))
            facts = made.artifact.facts
            (spec,) = facts.inputs
            rows = np.random.default_rng(3).standard_normal(spec.shape)
            count = deploy.run(made, rows.astype(np.float32), quantize=not FRONTS[name][0]).count.mean
            parts = facts.arena_bytes, facts.constants_bytes, facts.code_bytes_estimate
            sizes = " | ".join(f"{part:,} bytes" for part in parts)
            sys.stdout.write(f"| {name} | {sizes} | {count:,.0f} |\n")


if __name__ == "__main__":
    main()
