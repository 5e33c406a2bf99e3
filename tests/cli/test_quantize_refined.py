"""deploy quantize --refine: balanced ranges, corrected biases, the best kept; four bits for a stated loss."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx_files import onnx_file
from uneven_nets import CHANNELS, samples, uneven_net

from aot.frontend.onnx.float_layers import (
    layers_of,
    pairs_of,
    with_corrected_biases,
    with_differences,
    with_like_ranges,
    with_values_between,
)
from aot.ir.types import Array
from deploy.quantization.refined_weights import ways
from deploy.quantization.weight_widths import LayerWeights, narrow_above
from deploy.verification.oracles import onnx_session


def outputs(data: bytes, names: Sequence[str]) -> list[dict[str, Array]]:
    session = onnx_session(data)
    return [
        dict(zip(names, session.run(list(names), {"x": sample[None]}), strict=True)) for sample in samples()
    ]


def answers(data: bytes, names: Sequence[str]) -> Iterator[Mapping[str, Array]]:
    yield from outputs(data, names)


@pytest.fixture
def refine(tmp_path, run_deploy, require_package):
    """The facts of a quantised network whose channels are so unlike."""
    require_package("onnxruntime")
    data = tmp_path / "calib.npz"
    np.savez(data, x=samples())

    def run(unlike: float, *options: str) -> dict[str, Any]:
        model = uneven_net(tmp_path / "uneven.onnx", unlike)
        said = run_deploy(
            "quantize", model, "--data", data, *options, "--json", "-o", tmp_path / "int8.tflite"
        )
        assert said.status == 0, said.err
        facts: dict[str, Any] = json.loads(said.out)
        return facts

    return run


def decibels(facts: dict[str, Any]) -> dict[str, float]:
    return {each["name"]: each["signal_to_noise_db"] for each in facts["refinements"]}


def test_pairs_are_layers_of_which_the_second_alone_reads_the_first(tmp_path):
    graph = onnx.load(uneven_net(tmp_path / "a.onnx", 1)).graph
    assert [(p.first.value, p.between, p.second.value) for p in pairs_of(graph)] == [
        ("conv1", "act1", "conv2"),
        ("conv2", "act2", "conv3"),
    ]
    graph.output.append(onnx.helper.make_tensor_value_info("act2", onnx.TensorProto.FLOAT, None))
    assert [p.between for p in pairs_of(graph)] == ["act1"]
    bounded = onnx.load(uneven_net(tmp_path / "b.onnx", 1, "Sigmoid")).graph
    assert list(pairs_of(bounded)) == []
    assert [layer.bias for layer in layers_of(bounded)] == ["b1", "b2", "", "bias"]


def test_the_same_is_computed_by_channels_of_like_ranges(tmp_path, require_package):
    require_package("onnxruntime")
    data = uneven_net(tmp_path / "a.onnx", 3).read_bytes()
    watched, names = with_values_between(data)
    largest: dict[str, Array] = {
        name: np.max([np.abs(each[name]).max(axis=(0, 2, 3)) for each in outputs(watched, names)], axis=0)
        for name in names
    }
    changed = with_like_ranges(data, largest)
    for before, after in zip(outputs(data, ["y"]), outputs(changed, ["y"]), strict=True):
        assert np.allclose(before["y"], after["y"], rtol=1e-4, atol=1e-4)
    seen = [
        np.abs(each["act1"]).max(axis=(0, 2, 3)) for each in outputs(with_values_between(changed)[0], names)
    ]
    alike = np.max(seen, axis=0)
    assert alike.max() / alike.min() < 1.01 < largest["act1"].max() / largest["act1"].min()


def test_corrected_biases_make_the_mean_of_each_channel_what_it_was(tmp_path, require_package):
    """The third layer has weights rounded to whole numbers; it had no bias."""
    require_package("onnxruntime")
    data = uneven_net(tmp_path / "a.onnx", 1).read_bytes()
    watched, layers = with_differences(data, with_whole_numbers(data, "w3"))
    means = {layers[name]: mean for name, mean in means_of(watched, tuple(layers)).items()}
    assert np.abs(means["conv3"]).max() > 1 > 0.1 > np.abs(means["conv2"]).max()
    alone = {value: mean * (value == "conv3") for value, mean in means.items()}
    corrected = with_whole_numbers(with_corrected_biases(data, alone), "w3")
    before, after = (means_of(each, ("conv3",)) for each in (data, corrected))
    assert np.allclose(before["conv3"], after["conv3"], atol=1e-4)
    biases = [layer.bias for layer in layers_of(onnx.load_from_string(corrected).graph)]
    assert biases == ["b1", "b2", "w3/bias", "bias"]


def with_whole_numbers(data: bytes, name: str) -> bytes:
    """The model with these weights rounded."""
    model = onnx.load_from_string(data)
    constant = next(each for each in model.graph.initializer if each.name == name)
    constant.CopyFrom(onnx.numpy_helper.from_array(np.rint(onnx.numpy_helper.to_array(constant)), name))
    return bytes(model.SerializeToString())


def means_of(data: bytes, names: tuple[str, ...]) -> dict[str, Array]:
    """The mean of each channel over all samples, and over the image where there is one."""
    model = onnx.load_from_string(data)
    there = {each.name for each in model.graph.output}
    for name in set(names) - there:
        model.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
    found = outputs(model.SerializeToString(), names)
    return {
        n: np.mean([each[n].mean(axis=(0, *range(2, each[n].ndim))) for each in found], axis=0) for n in names
    }


def test_each_way_is_the_same_model_but_for_its_weights(tmp_path, require_package):
    require_package("onnxruntime")
    data = uneven_net(tmp_path / "a.onnx", 2).read_bytes()
    made = ways(data, frozenset(), answers)
    assert list(made) == ["as it is", "balanced ranges", "corrected biases", "both"]
    assert made["as it is"].model == data
    assert len({way.model for way in made.values()}) == 4
    assert [way.real == data for way in made.values()] == [True, False, True, False]


def test_a_model_without_such_layers_stays_as_it_is():
    """And is not run for nothing."""
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    data = onnx_file([node], {"x": (1, 2)}, {"y": (1, 2)})

    def never(_: bytes, __: Sequence[str]) -> Iterator[Mapping[str, Array]]:
        raise AssertionError("there is nothing to ask for")

    assert {way.model for way in ways(data, frozenset(), never).values()} == {data}


def test_channels_that_are_unlike_lose_much_and_are_made_alike(refine):
    found = decibels(refine(3.5, "--refine"))
    assert found["as it is"] < 30 < 40 < found["balanced ranges"]


def test_biases_take_back_what_four_bits_add(refine):
    found = decibels(refine(0.1, "--refine", "--weight-type", "int4"))
    assert found["corrected biases"] > found["as it is"] + 6


def test_the_best_is_kept_and_written(refine):
    facts = refine(2.0, "--refine")
    best = max(facts["refinements"], key=lambda each: each["signal_to_noise_db"])
    assert [each for each in facts["refinements"] if each["is_kept"]] == [best]
    last = next(layer for layer in facts["layers"] if layer["value"] == "y")
    assert last["signal_to_noise_db"] == pytest.approx(best["signal_to_noise_db"], abs=1.0)
    assert min(layer["signal_to_noise_db"] for layer in facts["layers"]) > 30, "each is compared with its own"
    assert refine(2.0)["refinements"] == []


@pytest.mark.slow
def test_four_bits_are_taken_as_far_as_the_loss_allows(refine):
    for least_db, narrow in (
        (60, []),
        (29, ["conv1"]),
        (22, ["conv1", "conv3"]),
        (5, ["conv1", "conv3", "y"]),
    ):
        facts = refine(0.1, "--weight-type", "mixed", "--signal-to-noise", str(least_db))
        assert [each["value"] for each in facts["weights"] if each["bits"] == 4] == narrow, least_db


def test_layers_whose_losses_together_are_too_much_are_given_back():
    layers = [LayerWeights(name, name, "Conv", 100, noise) for name, noise in (("a", 1e-3), ("b", 2e-3))]
    measured = {frozenset("ab"): 2e-2, frozenset("a"): 1e-3}
    assert narrow_above(layers, 20, measured.__getitem__) == {"a"}
    assert narrow_above(layers, 15, measured.__getitem__) == {"a", "b"}
    assert narrow_above(layers, 40, measured.__getitem__) == frozenset()


def test_depthwise_layers_are_made_alike_at_no_cost(tmp_path):
    data = uneven_net(tmp_path / "a.onnx", 3).read_bytes()
    ranges = {"act1": np.exp(np.linspace(-2, 2, CHANNELS)), "act2": np.ones(CHANNELS)}
    before, after = (onnx.load_from_string(each).graph for each in (data, with_like_ranges(data, ranges)))
    old, new = (
        {each.name: onnx.numpy_helper.to_array(each) for each in graph.initializer}
        for graph in (before, after)
    )
    factors = old["b1"] / new["b1"]
    assert np.allclose(factors / factors.max(), ranges["act1"] / ranges["act1"].max(), rtol=1e-4)
