"""Third-party models beside the repository: outputs equal the stored ones, before and after the passes."""

import csv
import time
from collections.abc import Iterator, Mapping

import numpy as np
import pytest

from aot.frontend.load import load_model
from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ir.types import Array
from aot.passes.pipeline import run_meaning

INT8 = (
    "tflm_hello_world_int8",
    "tflm_micro_speech_int8",
    "tflm_person_detect_int8",
    "tiny_ad_fc_int8",
    "tiny_ic_resnet8_int8",
    "tiny_kws_dscnn_int8",
    "tiny_vww_mbv1_int8",
)
MORE_INT8 = (
    "cfu_mbv2_160_035_int8",
    "ml_micro_kws_m_int8",
    "sl_fingerprint_int8",
    "sl_kws_alexa_int8",
    "te_vww_int8",
    "tflm_simple_add_int8",
    "tmx_mnist_rect_int8",
    "tmx_mnist_valid_int8",
    "ut_tanh_int8",
)
REAL = tuple(name for name in INT8 if name != "tflm_hello_world_int8")  # real samples exist
FLOAT32 = (
    "aeq_mnist_f32",
    "ml_cifar10_f32",
    "ml_micro_kws_m_f32",
    "sl_autoencoder_conv_f32",
    "tflm_hello_world_f32",
    "tflm_magic_wand_f32",
    "tiny_ad_fc_f32",
    "tiny_ic_resnet8_f32",
    "tiny_kws_dscnn_f32",
    "tmx_mnist_valid_f32",
)
PREFIXES = {"tflm": ("out_",), "litert-ref": ("litert_ref_out_", "out_")}  # the first that is stored counts


def samples(
    graph: Graph, data: Mapping[str, Array], mode: str
) -> Iterator[tuple[dict[str, Array], list[Array]]]:
    """Inputs by name and expected outputs in order, one sample after the other."""
    keys = [expected_key(data, mode, number) for number in range(len(graph.outputs))]
    for sample in range(len(data["in_0"])):
        inputs = {name: data[f"in_{number}"][sample] for number, name in enumerate(graph.inputs)}
        yield inputs, [data[key][sample] for key in keys]


def expected_key(data: Mapping[str, Array], mode: str, number: int) -> str:
    return next(f"{prefix}{number}" for prefix in PREFIXES[mode] if f"{prefix}{number}" in data)


@pytest.mark.slow
@pytest.mark.parametrize("mode", PREFIXES)
@pytest.mark.parametrize(
    ("name", "file_name"),
    [*((n, "golden.npz") for n in (*INT8, *MORE_INT8)), *((n, "real.npz") for n in REAL)],
)
def test_an_int8_model_equals_its_reference(shared_dir, name, file_name, mode):
    folder = shared_dir / "models" / name
    graph = load_model(folder / "model.tflite", mode)
    with np.load(folder / file_name) as data:
        for model in (graph, run_meaning(graph).graph):
            for inputs, expected in samples(graph, data, mode):
                outputs = run_graph(model, inputs)
                assert all(
                    np.array_equal(outputs[n], e) for n, e in zip(graph.outputs, expected, strict=True)
                )


@pytest.mark.slow
@pytest.mark.parametrize("name", FLOAT32)
def test_a_float32_model_is_near_its_reference(shared_dir, name):
    folder = shared_dir / "models" / name
    graph = run_meaning(load_model(folder / "model.tflite")).graph
    with np.load(folder / "golden.npz") as data:
        for inputs, (expected,) in samples(graph, data, "tflm"):
            (got,) = run_graph(graph, inputs).values()
            assert np.abs(got - expected).max() <= 1e-5 * np.abs(expected).max()  # type: ignore[operator]


@pytest.mark.slow
@pytest.mark.parametrize("mode", PREFIXES)
def test_single_layers_equal_their_reference(shared_dir, mode):
    folder = shared_dir / "suites" / "mlperf_layers_int8"
    wrong = []
    with (folder / "index.csv").open(encoding="utf-8") as index:
        names = [row["name"] for row in csv.DictReader(index)]
    for name in names:
        graph = load_model(folder / f"{name}.tflite", mode)
        with np.load(folder / f"{name}.npz") as data:
            for inputs, expected in samples(graph, data, mode):
                got = run_graph(graph, inputs).values()
                wrong += [name for g, e in zip(got, expected, strict=True) if not np.array_equal(g, e)]
    assert len(names) == 36
    assert not wrong


@pytest.mark.slow
def test_accuracy_on_keyword_spotting_is_the_references(shared_dir):
    """449 of 500: what TFLite Micro's own kernels answer, sample by sample the same."""
    graph = run_meaning(load_model(shared_dir / "models" / "tiny_kws_dscnn_int8" / "model.tflite")).graph
    with np.load(shared_dir / "datasets" / "kws_500.npz") as data:
        features, labels = data["x_int8"][:, np.newaxis], data["y"]
        answers = [run_graph(graph, {graph.inputs[0]: x})[graph.outputs[0]].argmax() for x in features]
    assert np.equal(answers, labels).sum() == 449


def cost_of(graph: Graph) -> tuple[int, int]:
    macs = sum(n.op.cost(graph.input_types(n), graph.output_types(n)).macs for n in graph.nodes)
    return macs, sum(array.nbytes for array in graph.constants.values())


def test_visual_wake_words_loses_its_dead_channels(shared_dir):
    graph = load_model(shared_dir / "models" / "tiny_vww_mbv1_int8" / "model.tflite")
    assert cost_of(graph)[0] == 7_489_664
    assert cost_of(run_meaning(graph).graph) == (3_727_313, 33_122)


def test_visual_wake_words_runs_in_half_a_second(shared_dir):
    graph = load_model(shared_dir / "models" / "tiny_vww_mbv1_int8" / "model.tflite")
    inputs = {name: np.zeros(graph.types[name].shape, np.int8) for name in graph.inputs}
    start = time.thread_time()
    run_graph(graph, inputs)
    assert time.thread_time() - start < 0.5
