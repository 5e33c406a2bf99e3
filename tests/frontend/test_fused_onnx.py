"""What ONNX Runtime's optimiser and quantisers write in its own domain gives what ONNX Runtime gives."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from onnx import helper
from onnx_files import onnx_file
from onnx_oracle import run_onnx

from aot.errors import ModelError
from aot.frontend.onnx.read import read_onnx
from aot.interpret import run_graph

RNG = np.random.default_rng(5)
IMAGE, ROWS = (1, 3, 6, 6), (2, 8)


def real(*sizes: int) -> np.ndarray:
    return RNG.normal(size=sizes).astype(np.float32)


def integers(low: int, high: int, *sizes: int) -> np.ndarray:
    return RNG.integers(low, high, sizes).astype(np.int8 if low < 0 else np.uint8)


@dataclass(frozen=True)
class Case:
    """One operator on x and constants; None is an operand that is absent."""

    operator: str
    shape: tuple[int, ...]
    constants: tuple[np.ndarray | None, ...] = ()
    attributes: dict[str, Any] = field(default_factory=dict)
    outputs: tuple[str, ...] = ("y",)
    domain: str = "com.microsoft"

    def file(self) -> bytes:
        held = {f"c{number}": array for number, array in enumerate(self.constants) if array is not None}
        names = [f"c{n}" if array is not None else "" for n, array in enumerate(self.constants)]
        node = helper.make_node(
            self.operator, ["x", *names], list(self.outputs), domain=self.domain, **self.attributes
        )
        return onnx_file([node], {"x": self.shape}, [name for name in self.outputs if name], held, opset=16)


BLOCKS = {"K": 40, "N": 4, "bits": 4, "block_size": 16}
PACKED, SCALES = integers(0, 256, 4, 3, 8), np.abs(real(12)) / 8
FILTERS = (real(4, 3, 3, 3), real(4), real(1, 4, 6, 6))
PADS = {"pads": [1, 1, 1, 1]}


def convolution(activation: str, *parameters: float) -> Case:
    given = {"activation_params": list(parameters)} if parameters else {}
    return Case("FusedConv", IMAGE, FILTERS, {"activation": activation, **PADS, **given})


CASES = {
    "a convolution, a sum, Relu": convolution("Relu"),
    "a convolution, a sum, Clip": convolution("Clip", -0.5, 0.5),
    "a convolution, a sum, LeakyRelu": convolution("LeakyRelu", 0.2),
    "a convolution, a sum, HardSigmoid": convolution("HardSigmoid", 0.2, 0.4),
    "a convolution alone": Case("FusedConv", IMAGE, FILTERS[:1], {"activation": "Tanh"}),
    "a dense layer": Case(
        "FusedGemm",
        ROWS,
        (real(4, 8), real(4)),
        {"transB": 1, "activation": "LeakyRelu", "activation_alpha": 0.3},
    ),
    "a product turned": Case("FusedMatMul", ROWS, (real(4, 8),), {"transB": 1, "alpha": 0.5}),
    "a product of columns": Case("FusedMatMul", (2, 8, 3), (real(8, 4),), {"transA": 1}),
    "Gelu": Case("Gelu", ROWS),
    "BiasGelu": Case("BiasGelu", ROWS, (real(8),)),
    "FastGelu": Case("FastGelu", ROWS),
    "FastGelu of a sum": Case("FastGelu", ROWS, (real(8),)),
    "QuickGelu": Case("QuickGelu", ROWS, (), {"alpha": 1.5}),
    "a normalised sum": Case(
        "SkipLayerNormalization",
        (1, 3, 8),
        (real(1, 3, 8), real(8), real(8), real(8)),
        {"epsilon": 1e-5},
        ("y", "", "", "sum"),
    ),
    "a normalised vector, before ONNX had it": Case(
        "LayerNormalization", (1, 3, 8), (real(8), real(8)), {"epsilon": 1e-5}, domain=""
    ),
    "a normalised image, before ONNX had it": Case(
        "LayerNormalization", IMAGE, (real(6, 6), real(6, 6)), {"axis": 2, "epsilon": 1e-3}, domain=""
    ),
    "a product by the input's own range": Case(
        "DynamicQuantizeMatMul",
        ROWS,
        (integers(-128, 128, 8, 4), np.float32(0.01), np.int8(3), real(4)),
    ),
    "that with a scale for each column": Case(
        "DynamicQuantizeMatMul", ROWS, (integers(-128, 128, 8, 4), np.abs(real(4)) / 64)
    ),
    "weights of 4 bits": Case("MatMulNBits", (2, 40), (PACKED, SCALES), BLOCKS),
    "weights of 4 bits with zero points": Case(
        "MatMulNBits", (2, 40), (PACKED, SCALES, integers(0, 256, 8)), BLOCKS
    ),
    "weights of 8 bits with a bias": Case(
        "MatMulNBits",
        (2, 32),
        (integers(0, 256, 4, 2, 16), SCALES[:8], None, None, real(4)),
        {"K": 32, "N": 4, "bits": 8, "block_size": 16},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_an_operator_gives_what_onnx_runtime_gives(name):
    case = CASES[name]
    data, x = case.file(), real(*case.shape)
    made = run_graph(read_onnx(data, "net.onnx"), {"x": x})
    wanted = run_onnx(data, {"x": x})
    for output, array in zip(filter(None, case.outputs), wanted, strict=True):
        np.testing.assert_allclose(made[output], array, rtol=1e-5, atol=1e-5 * np.abs(array).max())  # type: ignore[arg-type]


def test_weights_in_another_order_are_refused():
    case = Case("MatMulNBits", (2, 40), (PACKED, SCALES, None, np.zeros(40, np.int32)), BLOCKS)
    with pytest.raises(ModelError, match="another order"):
        read_onnx(case.file(), "net.onnx")


def test_weights_packed_for_one_computer_are_refused():
    case = Case("MatMulNBits", (2, 40), (PACKED, SCALES), {**BLOCKS, "weight_prepacked": 1})
    with pytest.raises(ModelError, match="packed for a particular processor"):
        read_onnx(case.file(), "net.onnx")


def test_weights_that_do_not_fit_are_refused():
    case = Case("MatMulNBits", (2, 40), (PACKED[:2], SCALES), BLOCKS)
    with pytest.raises(ModelError, match="weights of 4 bits in blocks of 16 do not fit 40 x 4"):
        read_onnx(case.file(), "net.onnx")
