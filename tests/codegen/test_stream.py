"""A streamed input: rows come one by one, the results are those of the whole input."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from error_facts import refused

import deploy.demo
from aot.errors import ModelError
from aot.frontend.load import load_model
from aot.interpret import run_graph
from aot.ir.graph import Graph, Node
from aot.ops.reshape import Reshape
from aot.target import Optimize, Target
from codegen.compile import CompiledModel, compile_job
from codegen.job import ImportedModel, Job, read_job
from codegen.lower.tensors import streamed_input
from codegen.options import CompileOptions
from platforms.board_files import load_board
from platforms.shared_library import build

DIGITS = Path(deploy.demo.__file__).parent / "digits.tflite"
HOST = Target("host", pointer_bytes=8)


def _compile(optimize: Optimize, stream: bool) -> CompiledModel:
    return compile_job(read_job(DIGITS, HOST, CompileOptions(optimize=optimize, stream=stream)))


@pytest.fixture(scope="module")
def digits():
    return load_model(DIGITS)


@pytest.mark.cc
@pytest.mark.parametrize("optimize", Optimize, ids=lambda o: o.value)
def test_pushed_rows_give_the_reference_in_every_bit(digits, optimize, tmp_path):
    compiled = _compile(optimize, stream=True)
    model = build(compiled.sources, tmp_path)
    (name,) = digits.inputs
    images = np.random.default_rng(7).integers(-128, 128, (5, *digits.types[name].shape), np.int8)
    for image in images:  # one after the other: the end of a run is the beginning of the next
        expected = run_graph(digits, {name: image})
        np.testing.assert_array_equal(model.run({name: image})["digit"], expected["digit"])


@pytest.mark.slow
def test_the_input_takes_no_room_in_the_arena():
    whole, streamed = _compile(Optimize.RAM, stream=False), _compile(Optimize.RAM, stream=True)
    assert streamed.plan.arena_bytes < whole.plan.arena_bytes
    assert streamed.inputs[0].arena_offset >= streamed.plan.arena_bytes


def test_the_header_says_how_rows_are_pushed():
    header = _compile(Optimize.SPEED, stream=True).sources["digits.h"]
    assert "#define DIGITS_INPUT_ROWS 8u" in header
    assert "int32_t digits_push_row(" in header
    assert "_push_row" not in _compile(Optimize.SPEED, stream=False).sources["digits.h"]


def test_an_input_that_is_looked_at_whole_is_refused(digits):
    (name,) = digits.inputs
    vector = replace(digits.types[name], shape=(1, 64))
    flat = replace(digits, types={**digits.types, name: vector})
    refused(
        lambda: streamed_input(flat),
        '[1 channels] input streamed must "image" 64] shape --stream',
        ModelError,
    )


def test_several_inputs_are_refused(digits):
    with pytest.raises(ModelError, match="a model with 2 inputs cannot be streamed"):
        streamed_input(replace(digits, inputs=("a", "b")))


def flattened(digits: Graph) -> Graph:
    """The same model with its image as a vector."""
    (name,) = digits.inputs
    image = f"{name}/image"
    seen = [
        replace(node, inputs=tuple(image if v == name else v for v in node.inputs)) for node in digits.nodes
    ]
    kind = digits.types[name]
    view = Node("see", Reshape(kind.shape), (name,), (image,))
    types = {**digits.types, image: kind, name: replace(kind, shape=(1, 64))}
    return replace(digits, nodes=(view, *seen), types=types)


@pytest.mark.cc
def test_an_image_that_comes_as_a_vector_is_streamed_row_by_row(digits, tmp_path):
    options = CompileOptions(stream=True)
    compiled = compile_job(Job(ImportedModel(flattened(digits), "digits", "0" * 64, "digits"), HOST, options))
    assert compiled.inputs[0].type.shape == (1, 8, 8, 1)
    model = build(compiled.sources, tmp_path)
    (name,) = digits.inputs
    image = np.random.default_rng(7).integers(-128, 128, digits.types[name].shape, np.int8)
    np.testing.assert_array_equal(
        model.run({name: image})["digit"], run_graph(digits, {name: image})["digit"]
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "most"),
    [("tiny_vww_mbv1_int8", 18_000), ("tiny_kws_dscnn_int8", 7_200), ("tflm_micro_speech_int8", 2_000)],
)
def test_rows_that_come_as_they_are_made_need_little_memory(name, most, shared_dir):
    target = load_board("mps2-an386").target
    options = CompileOptions(optimize=Optimize.RAM, stream=True)
    model = compile_job(read_job(shared_dir / "models" / name / "model.tflite", target, options))
    assert model.plan.arena_bytes <= most
