"""Windows that slide: each hop gives what the original model gives for the whole window."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from onnx import helper
from onnx_files import onnx_file
from sliding_nets import NETS, Net, drawn_rows, hop_model, hops_of, rows_axis, whole_windows

from aot.errors import ModelError
from aot.frontend.load import load_model, parse_model
from aot.fronts.attach import with_front
from aot.interpret import run_series
from aot.ir.graph import Graph, State
from aot.ir.graph_json import from_json, to_json
from aot.ir.text import external_constants, parse_graph, print_graph
from aot.passes.sliding.step import slide

CASES = [(name, hop) for name, net in NETS.items() for hop in net.hops]


def require_same_windows(graph: Graph, hop: int, further_hops: int) -> Graph:
    step = hop_model(graph, hop)
    assert step.window is not None
    axis = rows_axis(graph, step)
    rows = drawn_rows(step, axis, (step.window.hops + further_hops) * hop)
    made = list(run_series(step, hops_of(step, rows, axis)))[step.window.hops - 1 :]
    seen = set()
    for got, wanted in zip(made, whole_windows(graph, step, rows, axis), strict=True):
        for name, array in wanted.items():
            if array.dtype.kind == "f":
                assert np.allclose(got[name], array, rtol=1e-5, atol=1e-6)
            else:
                assert np.array_equal(got[name], array)
            seen.add(got[name].tobytes())
    assert len(seen) > 2  # the results follow the rows
    return step


@pytest.mark.parametrize(("name", "hop"), CASES, ids=[f"{name}-{hop}" for name, hop in CASES])
def test_each_hop_gives_the_results_of_the_whole_window(name, hop):
    require_same_windows(NETS[name].graph(), hop, further_hops=30)


@pytest.mark.parametrize("hop", [2, 4])
def test_keyword_spotting_computes_two_fifths_of_its_products(hop, shared_dir):
    graph = load_model(shared_dir / "models" / "tiny_kws_dscnn_int8" / "model.tflite")
    step = require_same_windows(graph, hop, further_hops=5)
    macs = sum(n.op.cost(step.input_types(n), step.output_types(n)).macs for n in step.nodes)
    assert step.window is not None
    assert (step.window.macs, macs) == (2_656_768, {2: 1_105_408, 4: 1_211_648}[hop])


def test_a_window_that_comes_as_a_vector_gets_its_rows(shared_dir):
    graph = load_model(shared_dir / "models" / "tflm_micro_speech_int8" / "model.tflite")
    step = require_same_windows(graph, 2, further_hops=5)
    assert step.types[step.inputs[0]].shape == (1, 2, 40, 1)


def test_a_vector_of_floats_that_is_quantised_first_gets_its_rows(shared_dir):
    path = shared_dir / "models" / "onnx_q_tiny_kws_qdq" / "model.onnx"
    step = require_same_windows(parse_model(path.read_bytes(), path.name, "onnx"), 2, further_hops=3)
    assert step.types[step.inputs[0]].shape == (1, 2, 10, 1)


def test_channels_of_onnx_may_come_before_the_rows():
    rng = np.random.default_rng(4)

    def weights(*shape: int) -> Any:
        return rng.standard_normal(shape) / 3

    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["a"], pads=[2, 2]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "w2"], ["c"], strides=[2]),
        helper.make_node("GlobalAveragePool", ["c"], ["y"]),
    ]
    constants = {"w1": weights(8, 3, 5), "b1": weights(8), "w2": weights(6, 8, 3)}
    data = onnx_file(nodes, {"x": [1, 3, 64]}, {"y": [1, 6, 1]}, constants)
    step = require_same_windows(parse_model(data, "line.onnx", "tflm"), 4, further_hops=6)
    assert step.types["x"].shape == (1, 3, 4)


def test_features_of_sound_are_computed_once(shared_dir):
    """Frames of one and a half rows of samples: the classes are equal because the features are."""
    graph = load_model(shared_dir / "models" / "tiny_kws_dscnn_int8" / "model.tflite")
    front = (
        "tf.signal.mfcc:sample_rate=16000,samples=16000,frame_length=480,frame_step=320,num_mel_bins=40,"
        "lower_edge_hertz=20,upper_edge_hertz=4000,num_mfccs=10"
    )
    heard = with_front(graph, front)
    step = hop_model(heard, 2)
    assert step.types["samples"].shape == (1, 2, 320, 1)
    rows = np.random.default_rng(3).integers(-90, 120, (1, 58, 320, 1)).astype(np.int16)
    rows[:, ::3] *= 40
    made = list(run_series(step, hops_of(step, rows, 1)))[24:]
    for got, wanted in zip(made, whole_windows(heard, step, rows, 1), strict=True):
        assert np.array_equal(got["Identity"], wanted["Identity"])


def test_text_and_json_keep_the_window():
    step = hop_model(NETS["same"].graph(), 3)
    assert parse_graph(print_graph(step), external_constants(step)).window == step.window
    assert from_json(to_json(step)).window == step.window


@pytest.mark.parametrize(
    ("name", "hop", "facts"),
    [
        ("same", 21, ("cannot slide by 21 rows", "possible: 1 to 20", '"rows" has 21 rows', "--slide 20")),
        ("same", 99, ("cannot slide by 99 rows", "--slide 20")),
        ("strided", 6, ("cannot slide by 6 rows", "multiples of 4 from 4 to 28", "--slide 4 or --slide 8")),
        ("strided", 1, ("cannot slide by 1 row;", "strides together are 4", "nearest: --slide 4")),
        ("strided", 32, ("cannot slide by 32 rows", "nearest: --slide 28")),
    ],
)
def test_impossible_hops_are_refused_with_the_nearest(name, hop, facts):
    with pytest.raises(ModelError) as caught:
        hop_model(NETS[name].graph(), hop)
    for fact in facts:
        assert fact in str(caught.value)


def test_a_model_that_reads_all_rows_at_once_is_refused_with_its_layer():
    graph = parse_model(Net((1, 8, 3, 2)).dense(4).finish(), "net.tflite", "tflm")
    with pytest.raises(ModelError) as caught:
        hop_model(graph, 2)
    assert "--slide 2 saves nothing" in str(caught.value)
    assert 'FULLY_CONNECTED #0 "dense_0": each of its results reads all rows' in str(caught.value)


@pytest.mark.parametrize("hop", [18, 20])
def test_a_hop_that_leaves_no_old_result_is_refused(hop):
    with pytest.raises(ModelError, match=f"--slide {hop} saves nothing"):
        hop_model(NETS["same"].graph(), hop)


def test_states_and_several_inputs_are_refused():
    graph = NETS["same"].graph()
    kind = graph.types["rows"]
    kept = State("kept", "rows", np.zeros(kind.shape, np.int8))
    with pytest.raises(ModelError, match="keeps a state from run to run"):
        slide(replace(graph, types={**graph.types, "kept": kind}, states=(kept,)), 2)
    with pytest.raises(ModelError, match="a model with 2 inputs"):
        slide(replace(graph, inputs=("rows", "other"), types={**graph.types, "other": kind}), 2)
