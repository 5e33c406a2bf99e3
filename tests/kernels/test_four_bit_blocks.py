"""Float weights that are few multiples of a step in each block take 4 bits, and no bit of a result moves."""

from typing import Any

import numpy as np
import pytest
from onnx import helper
from onnx_files import onnx_file

import deploy
from aot.frontend.load import parse_model
from aot.interpret import run_graph
from codegen.kernels.four_bit_blocks import four_bit_blocks

OUTPUTS, DEPTH = 12, 96


def network(block: int, with_zeros: bool, seed: int = 5) -> bytes:
    """MatMulNBits of 4 bits, with a bias."""
    rng = np.random.default_rng(seed)
    blocks = DEPTH // block
    tables = {
        "w": rng.integers(0, 256, (OUTPUTS, blocks, block // 2)).astype(np.uint8),
        "s": (rng.uniform(0.001, 0.3, OUTPUTS * blocks) * rng.choice([-1, 1], OUTPUTS * blocks)).astype(
            np.float32
        ),
    }
    if with_zeros:
        tables["z"] = rng.integers(0, 256, OUTPUTS * -(-blocks // 2)).astype(np.uint8)
    tables["b"] = rng.standard_normal(OUTPUTS).astype(np.float32)
    reads = ["x", "w", "s", "z" if with_zeros else "", "", "b"]
    given = {"K": DEPTH, "N": OUTPUTS, "bits": 4, "block_size": block}
    node = helper.make_node("MatMulNBits", reads, ["y"], domain="com.microsoft", **given)
    return onnx_file([node], {"x": [3, DEPTH]}, {"y": [3, OUTPUTS]}, tables)


def samples() -> Any:
    return (np.random.default_rng(4).standard_normal((3, DEPTH)) + 9).astype(np.float32)


@pytest.mark.parametrize(("block", "with_zeros"), [(16, False), (32, True), (32, False)])
def test_weights_of_four_bits_stay_packed_and_give_the_same_bits(block, with_zeros, tmp_path, require_tool):
    require_tool("gcc")
    file = tmp_path / "bits.onnx"
    file.write_bytes(network(block, with_zeros))
    packed = deploy.compile(file, "host", optimize="size")
    (layer,) = packed.artifact.facts.layers
    assert layer.kernel == "four-bit-blocks"
    blocks = OUTPUTS * DEPTH // block
    assert packed.constants_bytes == OUTPUTS * DEPTH // 2 + blocks * (5 if with_zeros else 4) + 4 * OUTPUTS
    made: Any = deploy.run(file, {"x": samples()}, "host", optimize="size").outputs["y"]
    floats = deploy.run(file, {"x": samples()}, "host").outputs["y"]
    assert np.array_equal(made, floats)
    wanted: Any = run_graph(parse_model(network(block, with_zeros), "bits.onnx"), {"x": samples()})["y"]
    np.testing.assert_allclose(made, wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max())


def test_floats_are_stored_for_speed_as_far_as_flash_suffices(tmp_path):
    file = tmp_path / "bits.onnx"
    file.write_bytes(network(32, with_zeros=False))
    floats = 4 * (OUTPUTS * DEPTH + OUTPUTS)
    for flash, kernel in (("64K", "fpu-reals"), ("6K", "four-bit-blocks")):
        made = deploy.compile(file, target=f"cortex-m4+fpu,ram=64K,flash={flash}")
        (layer,) = made.artifact.facts.layers
        assert (layer.kernel, made.constants_bytes == floats) == (kernel, kernel == "fpu-reals")


def multiples(steps: Any, low: int, high: int) -> Any:
    numbers = np.random.default_rng(3).integers(low, high + 1, (8, len(steps), 32))
    return (numbers.astype(np.float32) * steps[:, None]).reshape(8, -1)


STEPS = np.array([0.1, 7e-3, -1.3, 3e-9], np.float32)


@pytest.mark.parametrize(
    ("weights", "block"),
    [
        (multiples(STEPS, -8, 7), 32),
        (multiples(STEPS, -15, 0), 32),
        (multiples(STEPS[:1].repeat(4), -1, 1), 128),
        (np.zeros((4, 64), np.float32), 64),
        (multiples(STEPS, -8, 8), None),
        (multiples(STEPS, -8, 7) + np.float32(1e-6), None),
        (np.random.default_rng(1).standard_normal((8, 128)).astype(np.float32), None),
        (np.full((4, 64), np.nan, np.float32), None),
        (multiples(STEPS, -8, 7)[:, :120], None),
        (multiples(STEPS, -8, 7)[:1], None),
    ],
    ids=["int4", "zero points", "ternary", "zeros", "17 values", "shifted", "random", "nan", "odd", "few"],
)
def test_the_longest_blocks_with_a_step_are_found(weights, block):
    found = four_bit_blocks(weights)
    assert (None if found is None else found.block) == block
    if found is not None:
        nibbles: Any = found.nibbles
        codes = np.stack([nibbles & 15, nibbles >> 4 & 15], axis=1).reshape(-1, found.block)
        zeros = np.full(len(codes), 8) if found.zeros is None else found.zeros
        numbers = (codes - zeros[:, None]).astype(np.float32)
        assert np.array_equal((numbers * found.steps[:, None]).reshape(weights.shape), weights)
