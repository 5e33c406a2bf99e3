"""The model input that a front end computes, and its error messages."""

from __future__ import annotations

from dataclasses import dataclass

from aot.errors import ModelError
from aot.ir.types import DType, TensorType


@dataclass(frozen=True)
class ModelInput:
    """Name and type of the input, and the front end as declared."""

    name: str
    type: TensorType
    declared: str

    @property
    def said(self) -> str:
        return f'the model\'s input "{self.name}"'

    @property
    def is_number(self) -> bool:
        """Returns whether the input is float or quantized."""
        quant = self.type.quant
        return self.type.dtype is DType.F32 or (quant is not None and not quant.is_per_channel)

    def refusal(self, what: str, hint: str = "") -> ModelError:
        return ModelError(what, f"--front {self.declared}", hint)
