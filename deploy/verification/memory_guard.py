"""Detects accelerators that write outside their buffers, by filling and checking all other memory."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from codegen.compile import CompiledModel
from deploy.inputs.samples import Samples
from platforms.poisoned import Poisoned


def require_inside(model: CompiledModel, samples: Samples) -> None:
    """Raises CheckError for the first such layer. Checks only models for this machine."""
    if model.target.core != "host" or not any(layer.device for layer in model.layers):
        return
    first = next(iter(samples.each))
    names = [tensor.name for tensor in model.inputs]
    with TemporaryDirectory(prefix="solder-") as folder:
        Poisoned(model, Path(folder)).run(dict(zip(names, first, strict=True)))
