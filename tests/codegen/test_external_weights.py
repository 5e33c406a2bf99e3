"""Weights where the program says: others fit the same code, which computes the same as with its own."""

import subprocess
from dataclasses import replace

import numpy as np
import pytest
from c_checks import Check, failures_on_board, failures_on_host
from gather_cases import CASES as GATHERINGS
from model_checks import DSP, PLAIN, check_of, compiled, samples_of
from op_case import OpCase
from resize_cases import CASES as RESIZINGS
from tiny_models import TINY

from aot.errors import InputError
from aot.frontend.tflite.read import read_tflite
from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.passes.pipeline import run_meaning
from aot.target import Optimize, Target
from codegen.compile import CompiledModel, compile_job
from codegen.compile_kinds import ConstantRule
from codegen.job import ImportedModel, Job
from codegen.loops.constant_reads import place_tables
from codegen.lower.lower import lower_graph
from codegen.model import ExternalWeights
from codegen.options import CDialect, CompileOptions
from platforms.board_files import load_board

EXTERNAL = CompileOptions(weights_external=True)
WITH_WEIGHTS = [name for name in TINY if name != "pools"]
TARGETS = {"plain": PLAIN, "dsp": DSP}


def graph_of(name: str) -> Graph:
    return read_tflite(TINY[name](), f"{name}.tflite", "tflm")


def trained_again(graph: Graph, seed: int) -> Graph:
    """The same with other weights, biases and scales of channels, as another training gives them."""
    rng = np.random.default_rng(seed)
    constants, types = dict(graph.constants), dict(graph.types)
    for node in graph.nodes:
        for name in (each for each in node.reads[1:] if each in constants):
            old, quant = constants[name], types[name].quant
            floats = old.astype(np.float64)
            near = floats + rng.normal(0, 0.05 * np.abs(floats).max() + 1, old.shape)
            limit = 127 if old.dtype == np.int8 else 10**6
            constants[name] = np.clip(np.rint(near), -limit, limit).astype(old.dtype)
            if quant is not None and old.dtype == np.int8:
                scales = tuple(float(np.float32(s * rng.uniform(0.8, 1.2))) for s in quant.scales)
                types[name] = replace(types[name], quant=replace(quant, scales=scales))
    return replace(graph, constants=constants, types=types)


def weights_of(graph: Graph, target: Target, options: CompileOptions = EXTERNAL) -> ExternalWeights:
    found = compiled(graph, target, options, "k").weights
    assert found is not None
    return found


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("name", WITH_WEIGHTS)
def test_another_training_has_the_same_structure(name, target):
    graph = graph_of(name)
    first = weights_of(graph, target)
    for seed in range(3):
        other = weights_of(trained_again(graph, seed), target)
        assert other.structure == first.structure
        assert len(other.data) == len(first.data)
        assert other.data != first.data


def test_names_are_not_of_the_structure():
    graph = graph_of("depthwise")
    renamed = replace(
        graph,
        nodes=tuple(
            replace(node, name=f"other{n}", origin="elsewhere") for n, node in enumerate(graph.nodes)
        ),
    )
    first = weights_of(graph, DSP)
    job = Job(ImportedModel(renamed, "other.tflite", "11" * 32, "row"), DSP, EXTERNAL)
    assert compile_job(job).weights == first


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_scales_inside_a_classifier_are_not_of_the_structure(target):
    """Behind a ReLU, and before the softmax with the zero point: they are in multipliers and in tables."""
    graph = graph_of("classifier")
    types = dict(graph.types)
    inside = [name for node in graph.nodes for name in node.outputs if name not in graph.outputs]
    for name in inside:
        quant = types[name].quant
        assert quant is not None
        zero = quant.zero_points[0] + (9 if quant.zero_points == (0,) else 0)
        changed = replace(quant, scales=(quant.scales[0] * 1.125,), zero_points=(zero,))
        types[name] = replace(types[name], quant=changed)
    other = weights_of(replace(graph, types=types), target)
    assert other.structure == weights_of(graph, target).structure
    assert other.data != weights_of(graph, target).data


def test_what_else_differs_is_of_the_structure():
    graph = graph_of("depthwise")
    (x,) = graph.inputs
    quant = graph.types[x].quant
    assert quant is not None
    moved = replace(graph.types[x], quant=replace(quant, zero_points=(quant.zero_points[0] + 1,)))
    structures = {
        weights_of(graph, DSP).structure,
        weights_of(graph, PLAIN).structure,
        weights_of(graph, DSP, replace(EXTERNAL, optimize=Optimize.SIZE)).structure,
        weights_of(replace(graph, types={**graph.types, x: moved}), DSP).structure,
        weights_of(graph_of("conv"), DSP).structure,
    }
    assert len(structures) == 5


def test_equal_constants_are_there_twice_and_no_channel_is_left_out():
    graph = graph_of("depthwise")
    still = {name: np.zeros_like(array) for name, array in graph.constants.items()}
    zeros = weights_of(replace(graph, constants=still), DSP)
    assert zeros.structure == weights_of(graph, DSP).structure
    assert len(zeros.data) == len(weights_of(graph, DSP).data)


def test_what_says_where_is_read_stays_with_the_code():
    """Whatever the weights, a kernel reads where it did: its tables of places are none of them."""
    places, shares = {"indices", "columns", "left", "right", "above", "below"}, {"down", "across"}
    found: set[str] = set()
    for case in (*GATHERINGS, *RESIZINGS):
        for stage in lower_graph(run_meaning(case.graph).graph, PLAIN, EXTERNAL).stages:
            there = set(stage.kernel.constants)
            assert place_tables(stage.kernel.procs) == there & places == there - shares, case.name
            found |= there
    assert found == places | shares
    larger = compiled(RESIZINGS[0].graph, PLAIN, EXTERNAL, "k")
    assert "static CONSTANT const int32_t k_y_left[" in larger.sources["k.c"]
    assert "int32_t y_down[" in larger.sources["k_weights.h"]
    with pytest.raises(InputError, match="the model has no weights that could be external"):
        compiled(GATHERINGS[0].graph, PLAIN, EXTERNAL, "k")


def checks(target: Target, options: CompileOptions) -> list[Check]:
    found = []
    cases = [*(OpCase(name, graph_of(name)) for name in WITH_WEIGHTS), *RESIZINGS[:1]]
    for number, case in enumerate(cases):
        samples = samples_of(case)
        wanted = [run_graph(case.graph, sample) for sample in samples]
        found.append(
            check_of(case.name, compiled(case.graph, target, options, f"k{number}"), samples, wanted)
        )
    return found


@pytest.mark.cc
@pytest.mark.parametrize("optimize", [Optimize.SPEED, Optimize.RAM])
def test_the_bits_are_the_same(optimize, tmp_path):
    """Without padding in rows there are constants that are not weights: they stay with the code."""
    made = checks(PLAIN, replace(EXTERNAL, optimize=optimize))
    assert failures_on_host(made, tmp_path / "checks") == {}


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_the_bits_are_the_same_in_dsp_instructions(tmp_path):
    made = checks(DSP, EXTERNAL)
    assert failures_on_board(made, tmp_path / "checks") == {}


_DUMP = """
#include <stdio.h>
#include <string.h>
#include "k.h"
#include "k_weights.h"

int main(void)
{
    static uint8_t memory[64 + K_WEIGHTS_BYTES];
    static uint8_t arena[K_ARENA_BYTES + 64] K_ALIGN;
    static int8_t x[K_IMAGE_ELEMENTS], y[4096];
    const struct k_inputs in = {x};
    struct k_outputs out;
    uint8_t *place = memory + (64 - (uintptr_t)memory % 64);
    int32_t found[3];
    memcpy(&out, &(void *){y}, sizeof out);
    fwrite(&k_weights, 1, sizeof k_weights, stdout);
    k_weights_in_use = NULL;
    found[0] = k_run(&in, &out, arena);
    k_weights_in_use = (const void *)(place + 1);
    found[1] = k_run(&in, &out, arena);
    memcpy(place, &k_weights, sizeof k_weights);
    k_weights_in_use = (const void *)place;
    found[2] = k_run(&in, &out, arena);
    return found[0] * 100 + found[1] * 10 + found[2];
}
"""


@pytest.mark.cc
def test_c_has_the_bytes_of_the_cartridge_and_refuses_no_place(tmp_path):
    model = compiled(graph_of("conv"), PLAIN, EXTERNAL, "k")
    files = {**model.sources, "dump.c": _DUMP}
    del files["k_describe.c"]
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    warnings = ("-Wall", "-Wextra", "-Wconversion", "-Werror", "-fsanitize=address,undefined")
    sources = [name for name in files if name.endswith(".c")]
    subprocess.run(["gcc", "-std=c99", *warnings, *sources, "-o", "dump"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "dump"], capture_output=True, check=False)
    assert model.weights is not None
    assert done.stdout == model.weights.data
    assert done.returncode == 120  # K_ERROR_NULL, K_ERROR_ALIGN, K_OK


def test_what_has_no_weights_elsewhere_says_why():
    graph = graph_of("conv")

    def refused(target: Target = PLAIN, graph: Graph = graph, **other: object) -> str:
        options = replace(EXTERNAL, **other)  # type: ignore[arg-type]
        with pytest.raises(InputError) as caught:
            compiled(graph, target, options, "k")
        return str(caught.value)

    why = "--weights external is not possible: "
    assert f"{why}standard C cannot align them" in refused(dialect=CDialect.STRICT)
    assert f"{why}--constants already" in refused(constants=(ConstantRule("*", "FLASH"),))
    assert f"{why}accelerators use their own weight formats" in refused(accelerators=("vanilla",))
    avr = load_board("arduino-uno").target
    assert f"{why}constants of this core must be in __flash" in refused(avr)
    assert "the model has no weights that could be external" in refused(graph=graph_of("pools"))


def test_the_code_names_no_array_of_weights():
    model: CompiledModel = compiled(graph_of("classifier"), DSP, EXTERNAL, "k")
    assert "run->weights->conv2d_0_w" in model.sources["k.c"]
    assert "k_conv2d_0_w" not in model.sources["k.c"]
    assert "k_weights_in_use" in model.sources["k.c"].split("#include")[0]  # the head names it
