"""The six models of the kit. Every user has them, and their files, inputs and outputs never change.

Their kernels are those that most models use. Their weights are small enough that boards with 256 KiB of
flash and 64 KiB of RAM run all six. tests/models/make_kit_models.py makes all but the first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aot.ir.tensor_spec import TensorSpec
from aot.ir.types import Array

_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class KitModel:
    """A model of the kit."""

    path: Path
    why: str  # what it shows about a board
    sha256: str  # of its file
    outputs_sha256: str  # of its outputs for kit_inputs


KIT: Mapping[str, KitModel] = {
    "digits": KitModel(
        _HERE.parent / "demo" / "digits.tflite",
        "a small trained network: the time of few, short layers",
        "367c3f849eab4939911833d27dde72b3f080ebf7b03d75f3233a7111489a3af6",
        "bdbb35de15cc7a9951de1bbb0d24f46e96e7be41d2112a08005169b7c2672dff",
    ),
    "keywords": KitModel(
        _HERE / "models" / "keywords.tflite",
        "depthwise and pointwise convolutions in the shapes of MLPerf Tiny's keyword spotting",
        "07755a12a2084309d7340bb1d3955725137f7bff744bf650457691abe3f54e62",
        "c0575adc295b6787881ca40b6f0bdcd80ef399835cc0a5bb99d8a856e9bd1346",
    ),
    "residual": KitModel(
        _HERE / "models" / "residual.tflite",
        "3x3 convolutions and sums, in the shapes of MLPerf Tiny's image classification",
        "34a4018ed38814a0aad348c2b23de060b914a7ddcf4e0e18e6dc6acd3c6350a8",
        "9f8a081d2fe0565313bbf519ed34256fc13d60509333d35c645ba7cfac50cd67",
    ),
    "mobile": KitModel(
        _HERE / "models" / "mobile.tflite",
        "a mobile network with strides: many layers, large rows, little reuse",
        "fa573914cc4ec5bd16a0a7c1d40bba926c373e103b86b55a8b09237409e6e603",
        "270d6761a196d575183676aa21c85c8c062ef9adceb23fb4c281d5c3a9d87b22",
    ),
    "autoencoder": KitModel(
        _HERE / "models" / "autoencoder.tflite",
        "dense layers: each weight is read once, so the flash's waits show",
        "3aeb428ffd2443f13e7c11e18d5e9f29d8039ceedbeded58662ce3871bd8ae21",
        "f7fdc33ed94e85c33ada932405d628fae6ed91d4161edcdb7a4e492a83c4136c",
    ),
    "gestures": KitModel(
        _HERE / "models" / "gestures.tflite",
        "convolutions over time and maximum pools",
        "9bdd2a09e53bbe5a70f1c8ef7e260780a1a0c917bd687b2fd27bbc8ae2a202c2",
        "92a8bab4b757506907283f947e879a460ad947c68fc3969cf1deedbd0fa9bbcf",
    ),
}


def kit_inputs(specs: tuple[TensorSpec, ...]) -> tuple[Array, ...]:
    """Returns the input of a measurement. SHAKE-128 makes the same bytes on every computer."""
    found = []
    for number, spec in enumerate(specs):
        data = hashlib.shake_128(f"input {number}".encode()).digest(spec.bytes)
        found.append(np.frombuffer(data, spec.dtype).reshape(spec.shape))
    return tuple(found)


def sha256_of(*parts: bytes) -> str:
    """Returns the SHA-256 of the joined parts, in hex."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()
