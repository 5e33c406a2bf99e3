"""Tells PyTorch modules from model files, without loading PyTorch."""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields
from typing import Any

from aot.errors import InputError


@dataclass(frozen=True)
class ModuleWords:
    """All that is said of a module beside the board."""

    example: Any  # of its input, or of its inputs
    calibration: Any = None  # samples, the first axis counts them
    labels: Any = None  # their classes
    signal_to_noise: float | None = None  # decibels that weights of four bits must leave


def is_module(model: object) -> bool:
    """True for a PyTorch module; PyTorch is not loaded to know it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def require_no_module_words(words: ModuleWords) -> None:
    """Raises InputError for words that only modules have."""
    if any(getattr(words, each.name) is not None for each in fields(words)):
        raise InputError(
            "an example, calibration, labels and signal_to_noise are for PyTorch modules, "
            "and this model is exported",
            hint="deploy.quantize makes an int8 model of an ONNX file; deploy.verify takes labels",
        )
