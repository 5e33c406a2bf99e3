"""What random one-operator models are drawn with: shapes, scales, values, operands."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import tflite
from tflite_builder import ModelBuilder

from aot.frontend.tflite.write_file import FileTensor
from aot.ir.types import Array

Shape = tuple[int, ...]


QUANTISED = ("int8", "int16")


MOVED = ("int8", "int16", "int32", "int64", "float32", "bool", "uint8")


# The newest that interpreters know, where it is not what the maker says.
VERSIONS = {
    **dict.fromkeys(
        [
            "CEIL",
            "COS",
            "DEPTH_TO_SPACE",
            "ELU",
            "FLOOR",
            "HARD_SWISH",
            "LOGICAL_AND",
            "LOGICAL_NOT",
            "LOGICAL_OR",
            "NEG",
            "REDUCE_ALL",
            "ROUND",
            "SIN",
            "SQUARE",
            "L2_POOL_2D",
            "CUMSUM",
            "BITWISE_XOR",
            "POW",
            "REDUCE_ANY",
            "RELU_0_TO_1",
            "RIGHT_SHIFT",
        ],
        1,
    ),
    **dict.fromkeys(["DIV", "RSQRT", "SQUARED_DIFFERENCE", "TILE"], 2),
}


ACTIVATIONS = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")


@dataclass
class Draw:
    """One model while it is drawn."""

    rng: np.random.Generator
    build: ModelBuilder
    is_unsigned: bool = False  # whether what is quantised to int8 is written as uint8
    weight_bits: int = 8

    def one_of(self, *choices: Any) -> Any:
        return choices[self.rng.integers(len(choices))]

    def chance(self, share: float = 0.5) -> bool:
        return bool(self.rng.random() < share)

    def upto(self, most: int, least: int = 1) -> int:
        return int(self.rng.integers(least, most + 1))

    def shape(self, rank: int, most: int = 5) -> Shape:
        return tuple(self.upto(most) for _ in range(rank))

    def scale(self) -> float:
        return float(np.float32(2.0 ** self.rng.uniform(-7, -2)))

    def quant(self, dtype: str, quantised: bool = True) -> tuple[tuple[float, ...], tuple[int, ...]]:
        if not quantised or dtype not in QUANTISED:
            return (), ()
        return (self.scale(),), (int(self.rng.integers(-128, 128)) if dtype == "int8" else 0,)

    def spec(self, name: str, shape: Shape, dtype: str, quantised: bool = True) -> FileTensor:
        return FileTensor(name, shape, dtype, *self.quant(dtype, quantised))

    def given(self, spec: FileTensor) -> str:
        """An input of the model."""
        self.build.tensors[spec.name] = spec
        self.build.inputs.append(spec.name)
        return spec.name

    def known(self, name: str, values, dtype: str = "int32") -> str:
        return self.build.constant(name, np.asarray(values, dtype))

    def values(self, spec: FileTensor) -> Array:
        return random_values(self.rng, spec.shape, spec.dtype)

    def operand(self, spec: FileTensor, share: float = 0.25) -> str:
        """An input, or now and then a constant."""
        if self.chance(share):
            return self.build._add(replace(spec, data=self.values(spec)))
        return self.given(spec)

    def activation(self) -> int:
        return self.one_of(*(getattr(tflite.ActivationFunctionType, a) for a in ACTIVATIONS))

    def op(self, code, version, inputs, outputs, options="", **fields) -> bytes:
        if self.is_unsigned:
            outputs = [unsigned(spec) for spec in outputs]
            self.build.tensors = {name: unsigned(spec) for name, spec in self.build.tensors.items()}
        self.build.operator(code, VERSIONS.get(code, version), inputs, outputs, options, **fields)
        return self.build.finish(*(spec.name for spec in outputs))


def unsigned(spec: FileTensor) -> FileTensor:
    """The same floats in unsigned bytes."""
    if spec.dtype != "int8" or not spec.scales:
        return spec
    data = None if spec.data is None else (spec.data.astype(np.int16) + 128).astype(np.uint8)
    return replace(spec, dtype="uint8", zero_points=tuple(z + 128 for z in spec.zero_points), data=data)


Maker = Callable[[Draw], bytes]


def random_values(rng: np.random.Generator, shape: Shape, dtype: str) -> Array:
    if dtype == "bool":
        return np.asarray(rng.integers(0, 2, shape), bool)
    if dtype == "float32":
        return np.asarray(rng.normal(0, 2, shape), np.float32)
    if dtype in ("int32", "int64"):
        return np.asarray(rng.integers(-1000, 1000, shape), dtype)
    limits = np.iinfo(dtype)
    return np.asarray(rng.integers(limits.min, limits.max, shape, endpoint=True), dtype)


def like(spec: FileTensor, shape: Shape, name: str = "y") -> FileTensor:
    return replace(spec, name=name, shape=shape, data=None)


def moved(draw: Draw, rank: int = 5, *dtypes: str, least: int = 1) -> FileTensor:
    return draw.spec("x", draw.shape(draw.upto(rank, least)), draw.one_of(*(dtypes or MOVED)))


def repeatable(draw: Draw, whole: Shape) -> Shape:
    """A shape that is repeated to the whole one: some dimensions 1, leading ones perhaps left out."""
    shape = tuple(1 if draw.chance(0.3) else d for d in whole)
    return shape[draw.upto(len(shape), 0) :] if draw.chance(0.3) else shape
