"""Passes can be seen, asked and left out: --print-after, --explain, --disable, --dump."""

import json

import numpy as np
import pytest
from error_facts import require_facts

import deploy
from aot.errors import InputError
from aot.passes import REQUIRED
from aot.passes.pipeline import pass_names

NAMES = pass_names()
KNOWN = ", ".join(NAMES)
CONVERSION = "convert-depthwise-to-conv2d"  # the one pass that rewrites this model


@pytest.fixture
def model(tiny_file):
    return tiny_file("depth_multiplier")


def test_inspect_explains_what_a_pass_rewrote(model, run_deploy):
    out = run_deploy("inspect", model, "--explain", CONVERSION).out
    assert "\n\nconvert-depthwise-to-conv2d: A depthwise convolution of one channel becomes" in out
    assert (
        "  place      in MEANING, before remove-dead-channels: a convolution can lose single filters\n" in out
    )
    assert "  rewritten  2 lines of the graph into 2 lines\n    - constant" in out


def test_inspect_explains_why_a_pass_left_the_graph_alone(model, run_deploy):
    out = run_deploy("inspect", model, "--explain", "merge-pads").out
    assert out.endswith("  unchanged  there is no separate pad\n")


def test_all_passes_are_explained_in_their_order(model, run_deploy):
    words = ("--accelerator", "strawberry")  # who forms regions
    lines = run_deploy("inspect", model, "--explain", "all", *words).out.splitlines()
    heads = [line.partition(":")[0] for line in lines]
    assert [head for head in heads if head in NAMES] == [*NAMES]


def test_a_pass_that_was_disabled_says_so(model, run_deploy):
    words = ("inspect", model, "--explain", "remove-identity", "--disable", "remove-identity")
    assert run_deploy(*words).out.endswith("  unchanged  it was disabled\n")


def test_the_graph_is_printed_after_a_pass_on_stderr(model, run_deploy):
    outcome = run_deploy("inspect", model, "--json", "--print-after", CONVERSION)
    head, text = outcome.err.split("\n", 1)
    assert head == f"# after {CONVERSION}"
    assert text.startswith('graph "tiny"\n')
    assert " = conv2d(" in text
    assert json.loads(outcome.out)["macs"] > 0


@pytest.mark.parametrize("command", ["inspect", "compile"])
def test_the_graph_of_a_model_that_is_refused_is_printed_too(command, tmp_path, tiny_file, run_deploy):
    path = tiny_file("dense")
    more = ("--board", "host", "-o", tmp_path / "tiny.tar") if command == "compile" else ()
    outcome = run_deploy(command, path, *more, "--stream", "--print-after", "remove-dead-code")
    graph, error = outcome.err.split("error: ")
    assert graph.startswith("# after remove-dead-code: unchanged\n")
    assert error.startswith("the input cannot be streamed")


def test_a_file_that_is_not_a_model_prints_only_the_error(tmp_path, run_deploy):
    (tmp_path / "no.tflite").write_bytes(b"nothing")
    outcome = run_deploy("inspect", tmp_path / "no.tflite", "--print-after", "all")
    assert outcome.status == 1
    assert outcome.err.startswith("error: ")


def test_machines_are_told_the_same(model, run_deploy):
    outcome = run_deploy("inspect", model, "--json", "--explain", "merge-pads", "--explain", CONVERSION)
    pads, conversion = json.loads(outcome.out)["passes"]
    assert (conversion["name"], conversion["table"], conversion["changed"]) == (CONVERSION, "MEANING", True)
    assert " = depthwise_conv2d(" in conversion["removed"][1]
    assert " = conv2d(" in conversion["added"][1]
    assert pads == {
        "name": "merge-pads",
        "table": "MEANING",
        "changed": False,
        "because": "there is no separate pad",
    }


@pytest.mark.parametrize("flag", ["--explain", "--print-after", "--disable"])
def test_an_unknown_pass_is_reported_with_the_nearest(flag, model, run_deploy):
    outcome = run_deploy("inspect", model, flag, "merge-pad")
    what = "is not a known pass" if flag == "--disable" else "is not known"
    known = KNOWN if flag == "--disable" else f"all, {KNOWN}"
    assert outcome.status == 2
    require_facts(outcome.err, f'{flag} "merge-pad" {what} "merge-pads"? mean {known} known')


def test_a_pass_that_correctness_needs_cannot_be_disabled(model, run_deploy):
    outcome = run_deploy("inspect", model, "--disable", "fold-constants")
    assert outcome.status == 2
    require_facts(outcome.err, '--disable "fold-constants" disabled kernels need')


def test_an_archive_has_no_passes(archive, run_deploy):
    outcome = run_deploy("inspect", archive, "--explain", "all")
    require_facts(outcome.err, "archive contain changes tiny.tflite model")


def test_a_dump_has_each_graph_that_differs_and_what_came_of_it(model, tmp_path, run_deploy):
    folder = tmp_path / "stages"
    words = ("compile", model, "--board", "host", "-o", tmp_path / "tiny.tar", "--dump", folder)
    assert run_deploy(*words).status == 0
    graphs = ("00-imported.graph", f"01-{CONVERSION}.graph")
    texts = {"layers.txt", "memory.txt", "passes.txt"}
    assert {path.name for path in folder.iterdir()} == {*graphs, *texts, "layers"}
    assert {path.name for path in (folder / "layers").iterdir()} >= {"001-conv2d.py", "001-conv2d.c"}
    before, after = ((folder / name).read_text() for name in graphs)
    assert " = depthwise_conv2d(" in before
    assert " = depthwise_conv2d(" not in after
    assert f"\n\n{CONVERSION}: " in (folder / "passes.txt").read_text()
    assert (folder / "layers.txt").read_text().split()[0] == "op"
    again = run_deploy(*words)
    assert again.status == 1
    require_facts(again.err, f"folder dump empty {folder} choose")


def test_python_explains_and_disables_too(model):
    found = deploy.inspect(model, disable="remove-identity")
    assert found.explain("remove-identity").endswith("it was disabled")
    with pytest.raises(InputError, match='"merge-pad" is not a known pass - did you mean "merge-pads"'):
        found.explain("merge-pad")


@pytest.mark.cc
def test_without_any_pass_that_can_be_left_out_the_results_are_the_same(model):
    loaded = deploy.load(model)
    ((name, kind),) = loaded.inputs.items()
    x = np.random.default_rng(0).integers(-128, 128, kind.shape).astype(np.int8)
    bare = deploy.in_process(model, disable=[each for each in NAMES if each not in REQUIRED])
    (got,), (wanted,) = bare.run({name: x}).values(), loaded.run({name: x}).values()
    assert np.array_equal(got, wanted)
