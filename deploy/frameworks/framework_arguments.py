"""The words that are said of models of frameworks, and of no model files."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from aot.errors import InputError


@dataclass(frozen=True)
class ModuleWords:
    """All that is said of such a model beside the board."""

    example: Any  # of its input, or of its inputs
    calibration: Any = None  # samples, the first axis counts them
    labels: Any = None  # their classes
    signal_to_noise: float | None = None  # decibels to be left, of weights or of activations
    activation_type: str | None = None  # of ACTIVATIONS


def require_no_module_words(words: ModuleWords) -> None:
    """Raises InputError for words that only models of frameworks have."""
    if any(getattr(words, each.name) is not None for each in fields(words)):
        raise InputError(
            "an example, calibration, labels, signal_to_noise and activation_type are for models of "
            "frameworks, "
            "and this one is a file",
            hint="deploy.quantize makes an int8 model of an ONNX file; deploy.verify takes labels",
        )
