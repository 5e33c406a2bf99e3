"""deploy quantize --weight-type: weights of four bits, of all layers or of those that lose least."""

import json
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from error_facts import require_facts
from onnx import helper, numpy_helper
from onnx_files import onnx_file

import deploy
from aot.frontend.onnx.float_layers import in_four_bits, layer_weights, narrowed
from deploy.quantization.weight_widths import LayerWeights, bytes_with, narrow_within


def small_net(path: Path) -> Path:
    """A convolution, a pool over the image, a classifier of three."""
    rng = np.random.default_rng(3)
    constants = {
        "w": rng.normal(size=(6, 2, 3, 3)),
        "dense": rng.normal(size=(6, 3)),
        "bias": rng.normal(size=3),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["conv"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["conv"], ["relu"]),
        helper.make_node("GlobalAveragePool", ["relu"], ["pool"]),
        helper.make_node("Flatten", ["pool"], ["flat"]),
        helper.make_node("Gemm", ["flat", "dense", "bias"], ["y"]),
    ]
    path.write_bytes(onnx_file(nodes, {"x": (1, 2, 8, 8)}, {"y": (1, 3)}, constants, 13, 7))
    return path


@pytest.fixture
def quantize(tmp_path, run_deploy, require_package):
    """Quantises the small net, with samples that it is given, and options."""
    require_package("onnxruntime")
    model, data = small_net(tmp_path / "small.onnx"), tmp_path / "calib.npz"
    np.savez(data, x=np.random.default_rng(4).normal(size=(16, 2, 8, 8)).astype(np.float32))

    def run(*options: str, suffix: str = ".onnx") -> Any:
        return run_deploy("quantize", model, "--data", data, *options, "-o", tmp_path / f"int8{suffix}")

    return run


def layer(name: str, elements: int, noise: float) -> LayerWeights:
    return LayerWeights(name, name, "Conv", elements, noise)


def least_noise(layers: list[LayerWeights], limit: int) -> float:
    """The least sum of losses within the bound, of all choices."""
    choices = chain.from_iterable(combinations(layers, n) for n in range(len(layers) + 1))
    return min(
        sum(each.noise for each in choice)
        for choice in choices
        if bytes_with(layers, frozenset(each.name for each in choice)) <= limit
    )


def test_layers_that_lose_least_for_each_byte_are_taken_first():
    layers = [layer("a", 1000, 0.01), layer("b", 1000, 0.002), layer("c", 100, 0.002)]
    assert narrow_within(layers, 2100) == frozenset()
    assert narrow_within(layers, 2000) == {"b"}
    assert narrow_within(layers, 1600) == {"b"}
    assert narrow_within(layers, 1599) == {"b", "c"}
    assert narrow_within(layers, 1050) == {"a", "b", "c"}
    assert narrow_within(layers, 10) == {"a", "b", "c"}  # the least there is


def test_layers_are_given_back_what_a_large_one_leaves():
    """The last layer taken makes room for one that was taken before it."""
    layers = [layer("small", 200, 0.001), layer("large", 1000, 0.02)]
    assert narrow_within(layers, 1100) == {"small"}
    assert narrow_within(layers, 700) == {"large"}


def test_a_layer_takes_the_place_of_one_that_loses_more():
    """For each byte it would lose more, but fewer are needed."""
    layers = [layer("a", 1000, 0.01), layer("c", 100, 0.002)]
    assert narrow_within(layers, 1050) == {"c"}
    assert narrow_within(layers, 1049) == {"a"}


def test_the_choice_is_that_of_all_choices_in_nine_of_ten_and_near_it_else():
    rng = np.random.default_rng(5)
    ratios = []
    for _ in range(200):
        sizes, noises = rng.integers(50, 20_000, 7), 10 ** rng.uniform(-5, -1, 7)
        layers = [layer(str(n), int(sizes[n]), float(noises[n])) for n in range(7)]
        whole = bytes_with(layers, frozenset())
        limit = int(whole * rng.uniform(0.55, 1))
        narrow = narrow_within(layers, limit)
        assert bytes_with(layers, narrow) <= limit
        found, best = sum(each.noise for each in layers if each.name in narrow), least_noise(layers, limit)
        ratios.append(found / best if best else 1.0)
    assert np.mean(np.isclose(ratios, 1)) >= 0.9
    assert np.mean(ratios) < 1.05


def test_steps_make_the_error_least():
    weights = np.array([[0.1, -0.7, 0.35, 0.2], [1.0, 0.02, -0.03, 0.01], [0.0, 0.0, 0.0, 0.0]], np.float32)
    rounded, steps = in_four_bits(weights, 0)
    integers = np.divide(rounded, steps[:, None])
    assert np.allclose(integers, np.rint(integers), atol=1e-5)
    assert integers.min() >= -8
    assert integers.max() <= 7.00001
    assert np.all(rounded[2] == 0)
    errors = np.square(np.subtract(rounded, weights)).sum(axis=1)
    widest = np.abs(weights).max(axis=1) / 7
    of_widest = [
        ((np.rint(w / max(s, 1e-9)) * s - w) ** 2).sum() for w, s in zip(weights, widest, strict=True)
    ]
    assert np.all(errors <= np.array(of_widest) + 1e-9)
    assert np.array_equal(in_four_bits(weights.T, 1)[0], rounded.T)


def test_depthwise_layers_and_weights_that_two_layers_read_stay(tmp_path):
    model = onnx.load(small_net(tmp_path / "small.onnx"))
    data = model.SerializeToString()
    assert [(each.name, each.op, each.axis) for each in layer_weights(data)] == [
        ("w", "Conv", 0),
        ("dense", "Gemm", 1),
    ]
    model.graph.node[0].attribute.append(onnx.helper.make_attribute("group", 2))
    model.graph.node.append(onnx.helper.make_node("MatMul", ["flat", "dense"], ["z"]))
    assert layer_weights(model.SerializeToString()) == ()
    changed = onnx.load_from_string(narrowed(data, {"dense"})[0])
    values = {each.name: numpy_helper.to_array(each) for each in changed.graph.initializer}
    before = {
        each.name: numpy_helper.to_array(each) for each in onnx.load_from_string(data).graph.initializer
    }
    assert [name for name in before if not np.array_equal(before[name], values[name])] == ["dense"]


@pytest.mark.slow
def test_all_weights_have_four_bits_and_a_cortex_m4_takes_them_so(quantize, tmp_path):
    for suffix in (".onnx", ".tflite"):
        said = quantize("--weight-type", "int4", "--io-type", "int8", "--json", suffix=suffix)
        assert said.status == 0, said.err
        facts = json.loads(said.out)["weights"]
        assert [(each["value"], each["op"], each["bits"], each["bytes"]) for each in facts] == [
            ("conv", "Conv", 4, 54),
            ("y", "Gemm", 4, 9),
        ]
        compiled = deploy.compile(tmp_path / f"int8{suffix}", board="mps2-an386", optimize="size")
        whys = [each.why for each in compiled.artifact.facts.layers if each.op == "conv2d"]
        assert [why.endswith(" four bits") for why in whys] == [True]


@pytest.mark.slow
def test_mixed_weights_stay_within_the_bound_with_the_least_loss(quantize):
    """The convolution loses more, but of the dense layer nine bytes are saved and no more."""
    for bound, bits in (
        (126, [8, 8]),
        (117, [8, 4]),
        (116, [4, 8]),
        (72, [4, 8]),
        (71, [4, 4]),
        (63, [4, 4]),
    ):
        facts = json.loads(quantize("--weight-type", "mixed", "--flash", str(bound), "--json").out)["weights"]
        assert [each["bits"] for each in facts] == bits
        assert sum(each["bytes"] for each in facts) <= bound
    assert 15 < facts[0]["signal_to_noise_db"] < facts[1]["signal_to_noise_db"]


def test_the_page_says_the_bits_and_bytes_of_each_layer(quantize):
    page = quantize("--weight-type", "mixed", "--flash", "72").out.splitlines()
    place = page.index("these weights take 72 bytes")
    assert page[place - 3].split()[:2] == ["weights", "of"]
    assert page[place - 2].split()[:4] == ["conv", "Conv", "4", "54"]
    assert page[place - 1].split()[:4] == ["y", "Gemm", "8", "18"]
    assert "weights of" not in quantize().out


def test_weights_of_eight_bits_are_not_looked_at(quantize):
    assert json.loads(quantize("--json").out)["weights"] == []


def test_a_bound_that_four_bits_do_not_meet_is_reported(quantize):
    said = quantize("--weight-type", "mixed", "--flash", "62")
    require_facts(said.err, "four-bit 63 62 weights need bytes model fewer")


@pytest.mark.parametrize(
    "options",
    [
        ("--weight-type", "mixed"),
        ("--flash", "1KB"),
        ("--weight-type", "int4", "--flash", "9"),
        ("--signal-to-noise", "30"),
        ("--weight-type", "mixed", "--flash", "1KB", "--signal-to-noise", "30"),
    ],
)
def test_a_bound_and_mixed_weights_belong_together(options, quantize):
    require_facts(quantize(*options).err, "--weight-type --flash --signal-to-noise mixed needs other 64KB 30")
