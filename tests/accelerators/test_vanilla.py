"""--accelerator: convolutions become calls of vanilla's function, all else stays, and no bit changes."""

import json
from pathlib import Path

import numpy as np
import pytest
from conv2d_cases import CASES
from op_case import OpCase, random_values

from aot.errors import DeployError, ExtensionError
from aot.extensions import ACCELERATORS, register, unregister
from aot.interpret import run_graph
from aot.ir.types import DType
from aot.target import Target
from codegen.accelerators.accelerator import Accelerator
from codegen.accelerators.asked import AcceleratorList
from codegen.accelerators.names import ACCELERATORS as ACCELERATORS_OF_THE_TREE
from codegen.accelerators.table import accelerators
from codegen.compile import CompiledModel, compile_job
from codegen.job import ImportedModel, Job
from codegen.option_kinds import WrongValueError
from codegen.options import CompileOptions
from platforms.poisoned import Poisoned

DIGITS = Path("deploy/demo/digits.tflite")


def made_of(case: OpCase) -> CompiledModel:
    model = ImportedModel(case.graph, "net.tflite", "00" * 32, "net")
    return compile_job(Job(model, Target("host", pointer_bytes=8), CompileOptions(accelerators=("vanilla",))))


def taken(model: CompiledModel) -> bool:
    return any(layer.kernel == "vanilla" for layer in model.layers)


@pytest.mark.cc
@pytest.mark.slow
def test_convolutions_of_all_shapes_keep_their_bits(tmp_path):
    rng, names = np.random.default_rng(2), []
    for case in CASES:
        made = made_of(case)
        if not taken(made):
            continue
        names.append(case.name)
        inputs = {name: random_values(rng, case.graph.types[name]) for name in case.graph.inputs}
        outputs = Poisoned(made, tmp_path / case.name).run(inputs)
        assert np.array_equal(outputs["y"], run_graph(case.graph, inputs)["y"]), case.name
    assert len(names) >= 8


def test_what_the_function_cannot_do_stays_on_the_cpu():
    others = [case for case in CASES if case.graph.types["x0"].dtype is not DType.I8]
    assert others
    for case in others:
        made = made_of(case)
        assert not taken(made)
        reasons = [reason for layer in made.layers if layer.op == "conv2d" for reason in layer.passed_over]
        assert "vanilla: only for pixels and weights of bytes" in reasons


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "board"),
    [
        ("tiny_ic_resnet8_int8", "host"),
        ("tiny_vww_mbv1_int8", "host"),
        ("tiny_kws_dscnn_int8", "mps2-an386"),
    ],
)
def test_models_are_verified_on_the_host_and_on_a_cortex_m4(
    name, board, shared_dir, run_deploy, require_tool
):
    require_tool("arm-none-eabi-gcc", "qemu-system-arm")
    model = shared_dir / "models" / name / "model.tflite"
    done = run_deploy("verify", model, "--board", board, "--accelerator", "vanilla")
    assert "outputs equal to the reference in every bit" in done.out, done.err


def test_inspect_says_where_each_layer_runs_and_why(run_deploy, repo_root):
    words = ("inspect", repo_root / DIGITS, "--board", "mps2-an386", "--accelerator", "vanilla")
    layers = json.loads(run_deploy(*words, "--json").out)["layers"]
    assert [layer["op"] for layer in layers if layer["kernel"] == "vanilla"] == ["conv2d", "conv2d"]
    text = run_deploy(*words, "--layers").out
    assert "  vanilla: it does not support depthwise_conv2d (2)\n" in text


def test_the_head_of_the_c_repeats_the_option(run_deploy, repo_root, tmp_path):
    words = (
        "compile",
        repo_root / DIGITS,
        "--accelerator",
        "vanilla",
        "--board",
        "host",
        "-o",
        tmp_path / "digits",
    )
    assert run_deploy(*words).status == 0
    head = (tmp_path / "digits" / "digits.c").read_text(encoding="utf-8")
    assert "--accelerator vanilla" in head
    assert (tmp_path / "digits" / "vanilla_conv2d.c").exists()


def test_accelerators_are_listed(run_deploy):
    lines = [line.split() for line in run_deploy("accelerators").out.splitlines()[:4]]  # and those behind
    said = "int8 convolutions as calls of one C function: an example to copy"
    assert lines[:2] == [["accelerator", "computes"], ["vanilla", "conv2d", *said.split()]]
    assert [words[:3] for words in lines[2:]] == [
        ["strawberry", "regions", "convolutions"],
        ["chocolate", "conv2d,", "dense"],
    ]
    facts, *_ = json.loads(run_deploy("accelerators", "--json").out)
    assert (facts["name"], facts["ops"]) == ("vanilla", ["conv2d"])


def test_an_unknown_one_is_refused_with_the_names_there_are(run_deploy, repo_root):
    done = run_deploy("inspect", repo_root / DIGITS, "--accelerator", "vanila")
    assert done.status == 2
    assert 'error: --accelerator "vanila" is not an accelerator - did you mean "vanilla"?' in done.err


@pytest.mark.parametrize("given", [5, b"vanilla", ["vanilla", 5]])
def test_what_is_not_a_name_is_refused(given):
    with pytest.raises(WrongValueError) as caught:
        AcceleratorList().read(given)
    said = given[1] if isinstance(given, list) else given
    assert str(caught.value).startswith(f"{said!r} is not an accelerator")


@pytest.fixture
def add():
    """Adds accelerators as a package would, for the time of a test."""
    names: list[str] = []

    def register_one(name: str, value: object) -> None:
        names.append(name)
        register(ACCELERATORS, name, value)

    yield register_one
    for name in names:
        unregister(ACCELERATORS, name)


def test_those_of_others_come_behind_ours(add):
    add("theirs", Accelerator("theirs", {}))
    assert list(accelerators()) == [*ACCELERATORS_OF_THE_TREE, "theirs"]


def test_the_first_that_is_named_comes_first(add):
    add("copy", Accelerator("as vanilla", accelerators()["vanilla"].strategies))
    model = ImportedModel(CASES[0].graph, "net.tflite", "00" * 32, "net")
    options = CompileOptions(accelerators=("copy", "vanilla"))
    assert taken(compile_job(Job(model, Target("host"), options)))


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        (
            "vanilla",
            Accelerator("another", {}),
            'error: the extension "vanilla" has the same name as an accelerator of Solder',
        ),
        (
            "number",
            3,
            'error: the extension "number" is not an Accelerator of codegen.accelerators.accelerator\n'
            "  hint: deploy docs adding-an-accelerator",
        ),
    ],
)
def test_what_is_none_is_refused_by_name(name, value, text, add):
    add(name, value)
    with pytest.raises(ExtensionError) as caught:
        accelerators()
    assert str(caught.value) == text
    assert issubclass(ExtensionError, DeployError)
