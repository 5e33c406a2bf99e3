"""Regions: several nodes become one layer on a device, with several inputs and results, bit for bit."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sums_device
from sums_device import SUMS

from aot.errors import InputError
from aot.extensions import ACCELERATORS, register, unregister
from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ir.region import DeviceRegion
from aot.ir.text import external_constants, parse_graph, print_graph
from aot.passes.partition.claims import Claims
from aot.target import Target
from codegen.compile import CompiledModel, compile_job
from codegen.job import ImportedModel, Job
from codegen.kernels.kernel import MemoryDemand
from codegen.options import CompileOptions, read_options
from platforms.poisoned import Poisoned

GRAPH = parse_graph(
    """graph "net"
input "x": f32[1,4,4,2]
input "z": f32[1,4,4,2]
"first" = add() "x", "z" -> "s": f32[1,4,4,2] # ADD #0
"second" = mul() "s", "z" -> "p": f32[1,4,4,2] # MUL #1
"third" = mul() "p", "p" -> "pp": f32[1,4,4,2] # MUL #2
"curve" = tanh() "s" -> "q": f32[1,4,4,2] # TANH #3
"last" = add() "pp", "q" -> "y": f32[1,4,4,2] # ADD #4
output "y"
output "s"
"""
)


@pytest.fixture(autouse=True)
def devices():
    """Two devices as packages would declare them."""
    register(ACCELERATORS, "sums", SUMS)
    register(ACCELERATORS, "others", sums_device.made(MemoryDemand(16), _only_the_last))
    yield
    unregister(ACCELERATORS, "sums")
    unregister(ACCELERATORS, "others")


def _only_the_last(owner: str, graph: Graph) -> Claims:
    found = sums_device.claims(owner, graph)
    return replace(found, regions=tuple(region for region in found.regions if region == ("last",)))


def compiled(*words: str, **options: Any) -> CompiledModel:
    model = ImportedModel(GRAPH, "net.tflite", "00" * 32, "net")
    chosen = read_options({"accelerator": list(words), **options})
    return compile_job(Job(model, Target("host", pointer_bytes=8), chosen))


def test_neighbours_are_one_layer_and_no_region_waits_for_itself():
    made = compiled("sums")
    assert [(layer.name, layer.device, layer.kernel) for layer in made.layers if layer.op != "relayout"] == [
        ("first..third", "sums", "sums"),
        ("curve", "", "plain"),
        ("last", "sums", "sums"),
    ]
    region = made.layers[0]
    assert [part.name for part in region.parts] == ["first", "second", "third"]
    assert [result.value for result in region.results] == ["s", "pp"]
    assert region.origin == "ADD #0 to MUL #2"
    curve = next(layer for layer in made.layers if layer.op == "tanh")
    assert curve.stays == ("sums: it does not support tanh",)


@pytest.mark.cc
@pytest.mark.parametrize(
    "words", [["sums"], ["sums:align=16"], ["others", "sums"]], ids=["one", "with an option", "two devices"]
)
def test_a_model_of_cpu_and_devices_keeps_every_bit(words, tmp_path):
    rng = np.random.default_rng(3)
    inputs = {name: rng.normal(size=(1, 4, 4, 2)).astype(np.float32) for name in ("x", "z")}
    made = compiled(*words)
    outputs, wanted = Poisoned(made, tmp_path).run(inputs), run_graph(GRAPH, inputs)
    assert np.array_equal(outputs["s"], wanted["s"])
    assert np.allclose(outputs["y"], wanted["y"], rtol=1e-6)
    assert {layer.device for layer in made.layers} - {""} == {word.partition(":")[0] for word in words}


def test_the_option_reaches_the_plan():
    request = compiled("sums:align=16").planned.request
    assert {stage.align for stage in request.stages if stage.scratch_bytes} == {16}


def test_the_first_device_that_is_named_chooses_first():
    made = compiled("others", "sums")
    assert [layer.device for layer in made.layers if layer.parts] == ["sums", "others"]


@pytest.mark.parametrize("optimize", ["speed", "ram", "size"])
def test_a_region_is_verified_by_every_goal(optimize):
    assert compiled("sums", optimize=optimize, check=True).layers


def test_a_region_that_no_strategy_fits_stays_on_the_cpu():
    graph = parse_graph(
        """graph "wide"
input "a": f32[1,4]
input "b": f32[1,4]
input "c": f32[1,4]
input "d": f32[1,4]
"one" = add() "a", "b" -> "ab": f32[1,4]
"two" = add() "ab", "c" -> "abc": f32[1,4]
"three" = add() "abc", "d" -> "y": f32[1,4]
output "y"
"""
    )
    model = ImportedModel(graph, "net.tflite", "00" * 32, "net")
    made = compile_job(Job(model, Target("host"), CompileOptions(accelerators=("sums",))))
    why = "sums: only for regions with 3 inputs and 2 results at most"
    assert [(layer.device, layer.stays) for layer in made.layers] == [("", (why,))] * 3


def test_a_graph_with_regions_is_text_and_back():
    graph = compiled("sums").graph
    text = print_graph(graph, 2)
    assert '\n  "second" = mul() "s", "z" -> "p"' in text
    again = parse_graph(text, external_constants(graph, 2))
    assert print_graph(again, 2) == text
    assert [type(node.op) for node in again.nodes] == [type(node.op) for node in graph.nodes]
    assert any(isinstance(node.op, DeviceRegion) for node in again.nodes)


@pytest.mark.parametrize(
    ("word", "text"),
    [
        (
            "sums:alin=8",
            'accelerator "sums:alin=8": sums has no option "alin" - did you mean "align"?\n'
            "  hint: it has align={4,8,16}",
        ),
        (
            "sums:align=7",
            'accelerator "sums:align=7": align "7" is not known\n  hint: known: 4, 8, 16',
        ),
        (
            "sums:align",
            'accelerator "sums:align": "align" has no value\n  hint: it has align={4,8,16}',
        ),
        ("sums:align=8,align=8", 'accelerator "sums:align=8,align=8": "align" is given twice'),
        (
            "vanilla:align=8",
            'accelerator "vanilla:align=8": vanilla has no option "align"\n  hint: it has none',
        ),
        (["sums", "sums:align=8"], 'accelerator "sums" is named twice, with other options'),
        ({"sums": 3}, "accelerator 3 is not a mapping from the options of sums to values"),
    ],
)
def test_options_are_checked_by_the_accelerator(word, text):
    with pytest.raises(InputError) as caught:
        read_options({"accelerator": word})
    assert str(caught.value) == f"error: {text}"


def test_options_are_given_in_python_as_a_mapping():
    assert read_options({"accelerator": {"sums": {"align": 8}}}).accelerators == ("sums:align=8",)


def test_options_are_listed(run_deploy):
    facts = {each["name"]: each for each in json.loads(run_deploy("accelerators", "--json").out)}
    assert facts["sums"]["options"] == [{"name": "align", "default": 4, "help": "where its tensors begin"}]
    assert (facts["sums"]["regions"], facts["vanilla"]["regions"]) == (True, False)
    words = run_deploy("accelerators").out.split()
    assert "sums:align={4,8,16} where its tensors begin; 4 without it" in " ".join(words)
