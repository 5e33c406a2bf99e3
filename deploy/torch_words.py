"""Tells PyTorch modules from model files, without loading PyTorch."""

from __future__ import annotations

import sys
from typing import Any

from aot.errors import InputError


def is_module(model: object) -> bool:
    """True for a PyTorch module; PyTorch is not loaded to know it."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


def require_no_module_words(example: Any, calibration: Any, labels: Any) -> None:
    """Raises InputError for words that only modules have."""
    if example is not None or calibration is not None or labels is not None:
        raise InputError(
            "an example, calibration and labels are for PyTorch modules, and this model is exported",
            hint="deploy.quantize makes an int8 model of an ONNX file; deploy.verify takes labels",
        )
