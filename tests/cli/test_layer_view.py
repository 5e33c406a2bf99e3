"""`deploy inspect --layer` shows a layer as node, loops, C and assembly."""

import json

import pytest
from tiny_models import TINY

import deploy
from aot.errors import InputError
from codegen.loops.parse import parse_proc
from codegen.loops.text import named_in


@pytest.fixture
def model(tiny_file):
    return tiny_file("conv")


def test_a_layer_is_shown_as_node_loops_and_c(model, run_deploy):
    out = run_deploy("inspect", model, "--board", "mps2-an386", "--layer", "1").out
    head, rest = out.split("\n\nnode\n\n")
    node, rest = rest.split("\n\nloops\n\n")
    loops, c = rest.split("\n\nC\n\n")
    assert head.startswith("layer 1: conv2d ")
    assert "\n  kernel     smlad: " in head
    assert "\n  not taken  helium: the core has no mve\n" in head
    assert " = conv2d(" in node
    assert loops.startswith("def conv2d_")
    assert "\n@instruction(" in loops
    assert "\nstatic KERNEL void conv2d_" in c
    assert "\nstatic LAYER void conv2d_0(" in c


def test_the_ways_of_a_layer_are_shown_with_their_costs_and_why_they_lost(shared_dir, run_deploy):
    path = next((shared_dir / "models" / "tiny_ic_resnet8_int8").glob("*.tflite"))
    words = ("inspect", path, "--board", "mps2-an386", "--layer", "3", "--ir")
    fast = run_deploy(*words).out.split("\n\nnode\n")[0].split("\n\n")[-1].splitlines()
    small = run_deploy(*words, "--optimize", "ram").out.split("\n\nnode\n")[0].split("\n\n")[-1].splitlines()
    assert fast[0].split() == ["cycles", "scratch", "more", "flash", "input", "rows", "kernel"]
    assert "taken" in fast[1], "the one with the fewest cycles"
    assert "winograd" in fast[1]
    assert all("% slower" in line for line in fast[2:])
    (taken,) = (line for line in small if "taken" in line)
    assert " 0 " in taken, "no scratch"
    assert "needs more scratch, flash, bytes for rows" in small[1]
    facts = json.loads(run_deploy(*words, "--json").out)["ways"]
    assert [way["is_taken"] for way in facts].count(True) == 1
    cycles = [way["cycles"] for way in facts]
    assert cycles == sorted(cycles)


def test_what_is_chosen_is_shown_and_no_more(model, run_deploy):
    found = json.loads(run_deploy("inspect", model, "--layer", "1", "--ir", "--json").out)
    assert set(found) == {"index", "name", "op", "kernel", "node", "ways", "ir"}
    view = deploy.inspect(model).layer(1)
    assert found["ir"] == view.ir
    assert parse_proc(view.ir.partition("\n@")[0], named_in(view.code.procs[0])) == view.code.procs[0]


def test_an_op_is_shown_as_what_it_means(model, run_deploy):
    meaning = run_deploy("inspect", model, "--board", "mps2-an386", "--layer", "1", "--meaning").out
    loops = meaning.split("\n\nmeaning\n\n")[1]
    assert "@instruction" not in loops
    assert "unrolled(" not in loops
    assert "for o in range(" in loops
    assert "sum[0] += x[" in loops or "acc[0] += x[" in loops
    copied = deploy.inspect(model, board="mps2-an386").layer(0)
    assert copied.info.op == "relayout"
    assert copied.meaning == "# this layer copies rows and has no op\n"


@pytest.mark.slow
@pytest.mark.parametrize("name", TINY)
def test_every_layer_means_loops_that_are_read_back(name, tiny_file):
    found = deploy.inspect(tiny_file(name))
    assert found.compiled is not None
    for number in range(len(found.compiled.layers)):
        view = found.layer(number)
        assert "def " in view.meaning or view.info.op == "relayout"


def test_a_layer_may_be_named(model, run_deploy):
    name = deploy.inspect(model).layer(1).info.name
    assert (
        run_deploy("inspect", model, "--layer", name).out == run_deploy("inspect", model, "--layer", "1").out
    )


def test_the_c_is_that_of_the_model(model):
    found = deploy.inspect(model, board="mps2-an386")
    assert found.compiled is not None
    source = found.compiled.sources[f"{found.compiled.name}.c"]
    for layer in found.compiled.layers:
        code = found.layer(layer.index).code
        assert all(text in source for text in (*code.helpers, *code.kernels, code.layer))


@pytest.mark.cc
@pytest.mark.parametrize("board", ["host", "mps2-an386", "mps3-an547", "qemu-riscv32"])
def test_the_assembly_is_that_of_its_functions(model, board):
    view = deploy.inspect(model, board=board).layer(1)
    labels = [line.split(".")[0].rstrip(":") for line in view.asm.splitlines() if line[:1].isalpha()]
    assert labels
    assert set(labels) <= set(view.code.functions)
    assert view.code.functions[-1] in labels
    assert ".cfi" not in view.asm
    assert ".size" not in view.asm


def test_a_layer_that_is_not_there_is_refused(model):
    found = deploy.inspect(model)
    with pytest.raises(InputError, match=r"there is no layer 99: tiny\.tflite has \d, from 0 to \d"):
        found.layer(99)
    with pytest.raises(InputError, match='no layer is called "convv"'):
        found.layer("convv")


def test_a_text_needs_a_layer(model, run_deploy):
    outcome = run_deploy("inspect", model, "--asm")
    assert outcome.status == 1
    assert outcome.err == "error: --asm needs a layer\n  hint: add --layer N\n"


def test_an_archive_has_no_loops(model, tmp_path):
    archive = tmp_path / "tiny.tar"
    deploy.compile(model, board="host").save(archive)
    with pytest.raises(InputError, match="an archive does not contain the loops of its layers"):
        deploy.inspect(archive).layer(1)
