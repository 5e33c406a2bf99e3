"""All that commands can, Python can, with the same words; what it answers reads well at a prompt."""

import argparse
import inspect
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deploy
from deploy import lang
from deploy.cli.command import command_parser, load_command
from deploy.cli.command_result import Answer
from deploy.cli.commands import COMMANDS

pytestmark = pytest.mark.usefixtures("own_folders")
Run = Callable[..., Any]
DIGITS = Path(deploy.__file__).parent / "demo" / "digits.tflite"
# They go on until somebody ends them, are for shells or for those who report a fault, or need an open line:
# connect(...).load(cartridge).
NO_FUNCTIONS = {"farm", "monitor", "completion", "bug-report", "load"}
# Command -> what its Python function does otherwise: an argument's name there, or why it has none.
DIFFERENT: dict[str, dict[str, str]] = {
    "bench": {
        "models": "model",
        "markdown": "bench_changes.changes_markdown() is for machines that comment",
        **dict.fromkeys(
            ("kit", "mlperf", "output", "temperature", "supply", "energy", "yes"),
            "a board is measured once, by a person who looks at it",
        ),
    },
    "boards": {
        "board": "name",
        "word": "searching an index of packs is looked at once",
        "part": "a board file is made once",
        "output": "a board file is made once",
        "pack": "a board file is made once",
        "processor": "a board file is made once",
    },
    "compile": {
        "output": "Compiled.save() writes it",
        "print_after": "Compiled.steps has the graphs",
        "dump": "inspect(...).layer(n) and Compiled.steps",
        "cartridge": "Compiled.save_cartridge() writes it",
        "sign": "Compiled.save_cartridge(path, key)",
        "product": "Compiled.save_cartridge(path, product=...)",
        "model_version": "Compiled.save_cartridge(path, model_version=...)",
        "firmware": "Compiled.save_cartridge(path, firmware=...)",
    },
    "evidence": {"output": "Evidence.save() writes it"},
    "explore": {"output": "Exploration.save() writes it"},
    "inspect": {
        "file": "model",
        "layers": "Inspection.page(layers=True)",
        "layer": "Inspection.layer(n)",
        "ir": "LayerView.ir",
        "c": "LayerView.c",
        "asm": "LayerView.asm",
        "meaning": "LayerView.meaning",
        "memory": "Inspection.page(memory=True)",
        "explain": "Inspection.explain(name)",
        "print_after": "Compiled.steps has the graphs",
        "svg": "Inspection.draw(path)",
        "plans": "Inspection.offers()",
    },
    "records": {"out": "merging and drawing write files"},
    "report": {"output": "ModelReport.save() writes it"},
    "run": {
        "source": "model",
        "cartridge": "connect(...).load(cartridge)",
        "output": "Run.outputs are arrays",
        "print_top": "Run.outputs are arrays",
    },
    "tune": {"list": "tuning.begin()", "print_schedules": "records() has the knobs"},
    "verify": {"source": "model"},
}


def arguments_of(command: str) -> Iterator[str]:
    """The names of a command's arguments, those of its inner words too."""
    waiting = [command_parser(command, load_command(command))]
    while waiting:
        for action in waiting.pop()._actions:
            if isinstance(action, argparse._SubParsersAction):
                waiting += action.choices.values()
            elif action.dest not in ("help", "json", "verbose", "quiet"):
                yield action.dest.removeprefix("option_")


@pytest.mark.parametrize("command", sorted(COMMANDS.keys() - NO_FUNCTIONS))
def test_a_command_is_a_function_with_the_same_words(command):
    function = getattr(deploy, command.replace("-", "_"))
    taken = inspect.signature(function).parameters
    different = DIFFERENT.get(command, {})
    assert {name for name in arguments_of(command) if name not in taken} == different.keys()
    assert inspect.getdoc(function)


LISTS: dict[str, tuple[Callable[[], Answer], tuple[str, ...]]] = {
    "ops": (deploy.ops, ("ops",)),
    "accelerators": (deploy.accelerators, ("accelerators",)),
    "boards": (lambda: deploy.boards(core="m55"), ("boards", "list", "--core", "m55")),
    "board": (lambda: deploy.boards("mps2-an386"), ("boards", "show", "mps2-an386")),
    "fits": (
        lambda: deploy.boards(core="m0plus", fits=DIGITS, optimize="size"),
        ("boards", "list", "--core", "m0plus", "--fits", str(DIGITS), "--optimize", "size"),
    ),
    "doctor": (lambda: deploy.doctor("host"), ("doctor", "--board", "host")),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LISTS)
def test_an_answer_has_the_command_s_facts_and_page(name, run_deploy):
    ask, words = LISTS[name]
    answer = ask()
    assert f"{answer}\n" == run_deploy(*words).out
    assert json.loads(json.dumps(answer.as_json())) == json.loads(run_deploy(*words, "--json").out)
    assert repr(answer) == answer.page
    assert answer._repr_html_().startswith("<pre")
    assert len(answer) == len(list(answer))


@pytest.mark.cc
def test_a_project_is_made_built_and_flashed_from_python(tmp_path):
    compiled = deploy.compile(DIGITS, "host")
    made = deploy.new(compiled, tmp_path / "project", app="standalone")
    assert list(made["models"]) == ["digits"]
    assert "next: deploy build" in str(made)
    assert deploy.build(tmp_path / "project", dry_run=True)["commands"]
    assert Path(deploy.build(tmp_path / "project")["firmware"]).is_file()
    assert deploy.flash(tmp_path / "project", runner="exec", dry_run=True)["dry_run"] is True
    compiled.save(tmp_path / "digits.tar")
    other = deploy.new(tmp_path / "digits.tar", tmp_path / "other")
    assert other["board"] == "host", "an archive names its board"
    with pytest.raises(deploy.DeployError, match="no board"):
        deploy.new(DIGITS, tmp_path / "third")


@pytest.mark.cc
def test_a_compiled_model_is_measured_and_verified():
    compiled = deploy.compile(DIGITS, "host")
    cost = deploy.bench(compiled, median_of=1, layers=True)
    assert (cost["model"], len(cost["layers"])) == ("digits", len(compiled.model.layers))
    assert "per MAC" in cost.page
    assert str(deploy.verify(compiled)) == repr(deploy.verify(DIGITS, "host"))
    with pytest.raises(deploy.DeployError, match='is compiled for board "host", not for "mps2-an386"'):
        deploy.verify(compiled, "mps2-an386")


@pytest.mark.cc
def test_floats_go_in_and_come_out():
    """By the scales of the model's inputs and outputs, on the board as in the reference."""
    images = np.random.default_rng(3).random((4, 1, 8, 8, 1), np.float32)
    model = deploy.load(DIGITS)
    wanted = model.run(images, quantize=True, dequantize=True)["digit"]
    ran = deploy.run(model, images, board="host", quantize=True, dequantize=True)
    assert np.array_equal(ran.outputs["digit"], wanted)
    assert (str(wanted.dtype), wanted.shape) == ("float32", (4, 1, 10))
    assert np.allclose(wanted.sum(-1), 1, atol=0.02)
    stored = model.run(images, quantize=True)["digit"]
    assert stored.dtype == np.int8
    assert np.array_equal(wanted, (stored.astype(np.float32) + 128) / 256)


@pytest.mark.cc
def test_the_command_writes_floats_too(tmp_path, run_deploy):
    out = tmp_path / "out.npz"
    words = ("run", DIGITS, "--board", "host", "--fill", "zeros", "--output", out)
    assert run_deploy(*words, "--dequantize").status == 0
    floats = np.load(out)["output_0"]
    assert run_deploy(*words).status == 0
    assert np.array_equal(floats, (np.load(out)["output_0"].astype(np.float32) + 128) / 256)


def test_objects_say_what_they_are():
    compiled = deploy.compile(DIGITS, "mps2-an386")
    assert repr(deploy.load(DIGITS)) == "<digits.tflite: image int8[1, 8, 8, 1] -> digit int8[1, 10]>"
    sizes = f"{compiled.arena_bytes:,} bytes of arena, {compiled.constants_bytes:,} of constants"
    assert repr(compiled) == f"<digits for mps2-an386: {sizes}>"
    assert str(compiled).startswith("digits (digits.tflite) for mps2-an386\n")
    assert "bytes of RAM" in compiled._repr_html_()
    inspected = deploy.inspect(compiled)
    assert repr(inspected) == str(inspected)
    shown = inspected._repr_html_()
    assert "<svg" in shown
    assert "max_pool2d" in shown
    assert repr(inspected.layer(3)).startswith("layer 3: conv2d")
    x = lang.placeholder("x", (4,), "i8")
    assert repr(lang.schedule("sums", [x], x + x)).startswith("<Schedule of")


def test_quantising_says_what_it_does_not_know(tmp_path):
    with pytest.raises(deploy.DeployError, match='method "mean" is not known'):
        deploy.quantize("kws.onnx", {}, tmp_path / "kws.onnx", method="mean")
    with pytest.raises(deploy.DeployError, match='io_type "uint8" is not known - did you mean "int8"'):
        deploy.quantize("kws.onnx", {}, tmp_path / "kws.onnx", io_type="uint8")
    with pytest.raises(deploy.DeployError, match='records has no verb "worst"'):
        deploy.records("a.jsonl", verb="worst")
