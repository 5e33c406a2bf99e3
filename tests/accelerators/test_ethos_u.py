"""--accelerator ethos-u: regions go through Vela, and the model of the device gives their bits."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from error_facts import require_facts
from op_case import random_values
from tiny_models import TINY

from aot.errors import DeployError, ToolError
from aot.frontend.tflite.read import read_tflite
from aot.interpret import run_graph
from aot.ir.text import parse_graph
from aot.ir.types import Array
from aot.target import Target
from codegen.compile import CompiledModel, compile_job
from codegen.job import ImportedModel, Job
from codegen.options import CompileOptions
from extensions.ethos_u import vela
from extensions.ethos_u.claims import claims, misfit
from extensions.ethos_u.configurations import CONFIGS, NpuConfig
from extensions.ethos_u.program import program_of
from extensions.ethos_u.vela import named
from platforms.poisoned import Poisoned

U55 = CONFIGS["u55-128"]


@pytest.fixture
def needs_vela(require_package):
    require_package("ethosu")


@pytest.fixture
def no_memory_of_runs():
    vela._ran.cache_clear()


def compiled(name: str, word: str = "ethos-u") -> CompiledModel:
    model = ImportedModel(read_tflite(TINY[name](), f"{name}.tflite"), f"{name}.tflite", "00" * 32, name)
    return compile_job(Job(model, Target("host", pointer_bytes=8), CompileOptions(accelerators=(word,))))


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "word"),
    [("classifier", "ethos-u"), ("residual", "ethos-u:config=u55-32"), ("pools", "ethos-u:config=u65-256")],
)
def test_whole_networks_run_there_bit_for_bit(name, word, needs_vela, tmp_path):
    made, rng = compiled(name, word), np.random.default_rng(5)
    graph = read_tflite(TINY[name](), f"{name}.tflite")
    (region,) = [layer for layer in made.layers if layer.device]
    assert len(region.parts) == len(graph.nodes)
    model = Poisoned(made, tmp_path)
    for _ in range(3):
        inputs = {each: random_values(rng, graph.types[each]) for each in graph.inputs}
        found, wanted = model.run(inputs), run_graph(graph, inputs)
        assert all(np.array_equal(found[each], wanted[each]) for each in graph.outputs)


DEPTHWISE = """graph "net"
input "x": i8[1,9,7,{0}] {{0.05, 3}}
constant "w": i8[3,3,{0}] {{0.01, 0}} = external
constant "b": i32[{0}] {{0.0005, 0}} = external
"d" = depthwise_conv2d(padding=[[1, 1], [1, 1]]) "x", "w", "b" -> "y": i8[1,9,7,{0}] {{0.05, -7}}
output "y"
"""


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize("config", ["u55-32", "u55-128", "u55-256"])
def test_depthwise_layers_whose_last_block_of_channels_is_smaller(config, needs_vela, tmp_path):
    """Weights and sums of a block of channels lie together, and the last block has fewer."""
    rng = np.random.default_rng(8)
    for channels in (3, 20, 70, 131):
        values: dict[str, Array] = {
            "w": rng.integers(-127, 128, (3, 3, channels)).astype(np.int8),
            "b": rng.integers(-2000, 2000, channels).astype(np.int32),
        }
        graph = parse_graph(DEPTHWISE.format(channels), values)
        model = ImportedModel(graph, "net.tflite", "00" * 32, "net")
        options = CompileOptions(accelerators=(f"ethos-u:config={config}",))
        made = compile_job(Job(model, Target("host", pointer_bytes=8), options))
        assert any(layer.device for layer in made.layers)
        inputs = {"x": random_values(rng, graph.types["x"])}
        found = Poisoned(made, tmp_path / str(channels)).run(inputs)
        assert np.array_equal(found["y"], run_graph(graph, inputs)["y"]), channels


UNSIGNED = """graph "net"
input "x": i8[1,4,4,3] {0.5, 3}
constant "w": i16[8,1,1,3] {0.015625, 0} = external
constant "b": i32[8] {0.0078125, 0} = [9, -8, 7, -6, 5, -4, 3, -2]
"one" = conv2d() "x", "w", "b" -> "y": i8[1,4,4,8] {0.5, -4}
"two" = reshape(shape=[1, 128]) "y" -> "flat": i8[1,128] {0.5, -4}
output "y"
output "flat"
"""


@pytest.mark.cc
def test_weights_that_were_unsigned_have_nine_bits_there(needs_vela, tmp_path):
    rng = np.random.default_rng(6)
    w = (rng.integers(0, 256, (8, 1, 1, 3)) - 156).astype(np.int16)
    assert np.abs(w).max() > 128
    graph = parse_graph(UNSIGNED, {"w": w})
    model = ImportedModel(graph, "net.tflite", "00" * 32, "net")
    options = CompileOptions(accelerators=("ethos-u",))
    made = compile_job(Job(model, Target("host", pointer_bytes=8), options))
    assert [part.op for layer in made.layers for part in layer.parts] == ["conv2d", "reshape"]
    inputs = {"x": random_values(rng, graph.types["x"])}
    found, wanted = Poisoned(made, tmp_path).run(inputs), run_graph(graph, inputs)
    assert all(np.array_equal(found[name], wanted[name]) for name in graph.outputs)


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "board"),
    [
        ("tiny_ad_fc_int8", "host"),  # of which FULLY_CONNECTED would give other bits
        ("tflm_kw_scrambled_16x8", "host"),  # many regions, of 16 bits
        ("tiny_kws_dscnn_int8", "mps2-an386"),
    ],
)
def test_models_are_verified_layer_by_layer(name, board, shared_dir, needs_vela, run_deploy, require_tool):
    require_tool(*(("gcc",) if board == "host" else ("arm-none-eabi-gcc", "qemu-system-arm")))
    model = shared_dir / "models" / name / "model.tflite"
    done = run_deploy("verify", model, "--board", board, "--layers", "--accelerator", "ethos-u")
    assert done.status == 0, done.err
    assert "equal to the reference in every bit" in done.out


@pytest.mark.slow
def test_inspect_says_where_nodes_run_and_what_vela_estimates(needs_vela, run_deploy, tiny_file):
    path = tiny_file("classifier", "net.tflite")
    done = run_deploy("inspect", path, "--accelerator", "ethos-u:config=u55-64", "--layer", "1")
    assert "kernel     ethos-u: Vela estimates " in done.out
    assert " cycles for u55-64 at 500 MHz" in done.out
    assert "5 of 5 nodes run on accelerators" in run_deploy("inspect", path, "--accelerator", "ethos-u").out


@pytest.mark.slow
def test_offsets_of_inputs_and_results_are_in_the_order_of_the_region(needs_vela):
    graph = parse_graph(
        """graph "net"
input "a": i8[1,4,4,16] {0.5, 3}
input "b": i8[1,4,4,16] {0.25, -2}
"one" = sub() "a", "b" -> "c": i8[1,4,4,16] {0.5, 0}
"two" = max_pool2d(size=[2, 2], stride=[2, 2]) "b" -> "d": i8[1,2,2,16] {0.25, -2}
output "d"
output "c"
"""
    )
    program = program_of(graph, U55)
    assert len(set(program.inputs)) == len(set(program.outputs)) == 2
    assert all(offset % 16 == 0 for offset in (*program.inputs, *program.outputs))
    assert program.scratch_bytes >= 2 * 256
    assert (program.commands[:4], len(program.constants) % 16) == (b"COP1", 0)


@pytest.mark.slow
def test_the_scratch_lies_in_the_memory_that_the_npu_reaches(needs_vela, run_deploy, tiny_file):
    path = tiny_file("classifier", "net.tflite")
    words = ("inspect", path, "--board", "mps3-an547", "--accelerator")
    assert "arena in SRAM" in run_deploy(*words, "ethos-u:memory=SRAM").out
    answer = run_deploy(*words, "ethos-u:memory=SRM")
    assert "needs memory in SRM, which this board does not have" in answer.err


# ---- What stays -----------------------------------------------------------------------------------------


def pair(dtype: str, scales: tuple[float, float, float]) -> str:
    x, z, y = scales
    return (
        f'input "x": {dtype}[1,4] {{{x}, 0}}\ninput "z": {dtype}[1,4] {{{z}, 0}}\n'
        f'"n" = mul() "x", "z" -> "y": {dtype}[1,4] {{{y}, 0}}'
    )


FLOAT = "the device computes values of 8 and 16 bits, no f32"
CURVE = "the 16-bit curve of the device is not documented"
MEAN = "the device rounds halves of a mean in the other direction"
SINGLE = "Vela computes its multiplier in single precision, and some results would differ"
STAYS = {
    'input "x": f32[1,4]\n"n" = tanh() "x" -> "y": f32[1,4]': FLOAT,
    'input "x": i16[1,4] {0.25, 0}\n"n" = tanh() "x" -> "y": i16[1,4] {0.25, 0}': CURVE,
    'input "x": i8[1,2,3,4] {0.5, 0}\n"n" = mean() "x" -> "y": i8[1,1,1,4] {0.5, 0}': MEAN,
    pair("i16", (0.1, 0.3, 0.7)): SINGLE,
    pair("i16", (0.5, 0.5, 0.5)): "",
    pair("i8", (0.1, 0.3, 0.7)): "",
    'input "x": i8[1] {0.1, 0}\n"n" = reshape() "x" -> "y": i8[] {0.1, 0}': "its result has no dimensions",
}


@pytest.mark.parametrize(("text", "because"), STAYS.items(), ids=[str(n) for n in range(len(STAYS))])
def test_what_has_other_bits_there_stays_on_the_cpu(text, because):
    graph = parse_graph(f'graph "net"\n{text}\noutput "y"\n')
    assert misfit(graph, graph.nodes[0]) == because


@pytest.mark.slow
def test_what_only_moves_elements_is_not_carried_there_and_back(needs_vela):
    graph = parse_graph(
        'graph "net"\ninput "x": i8[1,4] {0.5, 0}\n"n" = reshape(shape=[4, 1]) "x" -> "y": i8[4,1] {0.5, 0}\n'
        'output "y"\n'
    )
    model = ImportedModel(graph, "net.tflite", "00" * 32, "net")
    made = compile_job(Job(model, Target("host"), CompileOptions(accelerators=("ethos-u",))))
    assert not any(layer.device for layer in made.layers)


@pytest.mark.slow
def test_vela_is_asked_about_the_others_and_its_reason_is_reported(needs_vela):
    graph = parse_graph(
        """graph "net"
input "x": i8[1,4,4,8] {0.5, 0}
"one" = max_pool2d(size=[2, 2], stride=[2, 2]) "x" -> "p": i8[1,2,2,8] {0.5, 0}
"two" = log_softmax() "p" -> "y": i8[1,2,2,8] {0.0625, 127}
output "y"
"""
    )
    found = claims(U55, "ethos-u", graph)
    assert found.regions == (("one",),)
    assert found.left_alone == {"two": "Vela: Unsupported opType (LOG_SOFTMAX)"}


# ---- Bad input ------------------------------------------------------------------------------------------


CONV = named(read_tflite(TINY["conv"](), "conv.tflite").nodes)


def failing_with(code: str) -> Callable[..., list[str]]:
    return lambda *_: [sys.executable, "-c", code]


def error_of(run: Callable[[], object]) -> str:
    with pytest.raises(DeployError) as caught:
        run()
    assert isinstance(caught.value, ToolError)
    return str(caught.value)


def test_vela_that_is_not_installed_is_said_with_the_way_out(no_memory_of_runs, monkeypatch):
    monkeypatch.setattr(vela, "find_spec", lambda _: None)
    require_facts(
        error_of(lambda: compiled("conv")),
        f"ethos-u Vela {CONV} accelerator needs installed 'solder-mcu[ethosu]' install",
    )


def test_vela_that_crashes_is_named_with_its_last_words(no_memory_of_runs, needs_vela, monkeypatch):
    monkeypatch.setattr(vela, "vela_argv", failing_with("raise MemoryError('no more')"))
    require_facts(
        error_of(lambda: compiled("conv")),
        f"ethos-u Vela {CONV} failed ethos-u55-128 1 status MemoryError ethosu.vela --version 5.2",
    )


def test_vela_that_does_not_end_is_ended(no_memory_of_runs, needs_vela, monkeypatch):
    monkeypatch.setattr(vela, "vela_argv", failing_with("import time; time.sleep(100)"))
    monkeypatch.setattr(vela, "DEADLINE_S", 0.2)
    require_facts(error_of(lambda: compiled("conv")), f"ethos-u Vela 0 {CONV} finish within ethos-u55-128")


@pytest.mark.slow
def test_the_node_on_which_vela_crashes_is_found_among_many(no_memory_of_runs, needs_vela, monkeypatch):
    """A Vela that fails on every file with a softmax."""
    graph = read_tflite(TINY["classifier"](), "classifier.tflite")
    wrong = next(node for node in graph.nodes if node.op.name == "softmax")
    known = vela.vela_argv

    def argv(source: str, made: str, config: NpuConfig) -> list[str]:
        is_wrong = wrong.outputs[0].encode() in Path(source).read_bytes()
        return failing_with("raise MemoryError('no more')")() if is_wrong else known(source, made, config)

    monkeypatch.setattr(vela, "vela_argv", argv)
    said = error_of(lambda: claims(U55, "ethos-u", graph))
    assert said.startswith(f'error: ethos-u: Vela failed on "{wrong.name}"\n')


def test_a_region_that_vela_gives_up_names_it(no_memory_of_runs, needs_vela, monkeypatch):
    graph = read_tflite(TINY["conv"](), "conv.tflite")
    broken = failing_with("raise RuntimeError('Compilation failed: Error: it is too hot')")
    monkeypatch.setattr(vela, "vela_argv", broken)
    said = error_of(lambda: program_of(graph, U55))
    assert said.startswith(f'error: ethos-u: Vela cannot compile "{graph.nodes[0].name}"\n')
    assert "RuntimeError: Compilation failed: Error: it is too hot" in said


@pytest.mark.parametrize(
    ("config", "facts"),
    [("u55-127", 'known mean "u55-128"?'), ("u65-512", "supported cores known")],  # which has two
)
def test_a_configuration_that_is_not_supported_is_refused(config, facts, run_deploy, tiny_file):
    done = run_deploy("inspect", tiny_file("conv"), "--accelerator", f"ethos-u:config={config}")
    assert done.status == 2
    named = f'--accelerator "ethos-u:config={config}" "{config}" config {facts}'
    require_facts(done.err, f"{named} u55-32 u55-64 u55-128 u55-256 u65-256")


def test_a_model_with_nothing_for_the_device_stays_and_says_why(run_deploy, tmp_path):
    from aot.frontend.tflite.write import write_model

    graph = parse_graph('graph "net"\ninput "x": f32[1,4]\n"n" = tanh() "x" -> "y": f32[1,4]\noutput "y"\n')
    path = tmp_path / "net.tflite"
    path.write_bytes(write_model(replace(graph, name="net"), "net.tflite"))
    done = run_deploy("inspect", path, "--accelerator", "ethos-u")
    assert done.status == 0
    assert "0 of 1 nodes run on accelerators" in done.out
    assert "(ethos-u: the device computes values of 8 and 16 bits, no f32)" in done.out
