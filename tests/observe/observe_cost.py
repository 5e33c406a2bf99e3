"""Tells the instructions that --observe adds to MLPerf Tiny's four networks on an emulated Cortex-M4.

`PYTHONPATH=. python tests/observe/observe_cost.py` prints the table.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import deploy

MODELS = {
    "image classification": "tiny_ic_resnet8_int8",
    "keyword spotting": "tiny_kws_dscnn_int8",
    "visual wake words": "tiny_vww_mbv1_int8",
    "anomaly detection": "tiny_ad_fc_int8",
}
BOARD = "mps2-an386"
RUNS = 6


def most_instructions(path: Path, observe: bool) -> float:
    """The instructions of the longest of some runs on random inputs: each looks at another layer."""
    ((name, kind),) = deploy.load(path).inputs.items()
    rng = np.random.default_rng(5)
    samples = rng.integers(-128, 128, (RUNS, *kind.shape)).astype(np.int8)
    return deploy.run(path, {name: samples}, board=BOARD, observe=observe).count.max


def costs(shared_dir: Path) -> Iterator[tuple[str, float, float]]:
    """The name of each network, its instructions, and those with --observe."""
    for name, folder in MODELS.items():
        path = shared_dir / "models" / folder / "model.tflite"
        yield name, most_instructions(path, observe=False), most_instructions(path, observe=True)


def main() -> None:
    shared_dir = Path(__file__).resolve().parents[3] / "shared"
    for name, alone, observed in costs(shared_dir):
        share = 100 * (observed / alone - 1)
        sys.stdout.write(f"| {name} | {alone:,.0f} | {observed:,.0f} | {share:.2f} % |\n")


if __name__ == "__main__":
    main()
