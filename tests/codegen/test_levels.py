"""The levels -O0 to -O3: what each does to the C, and that none changes a bit of a result."""

import re

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile
from model_checks import DSP
from tiny_models import TINY

import deploy
from aot.errors import InputError
from aot.frontend.tflite.read import read_tflite
from aot.passes import MEANING
from codegen.compile import CompiledModel, compile_job
from codegen.job import ImportedModel, Job
from codegen.levels import DEFAULT, LEVELS
from codegen.options import CompileOptions, read_options

MODELS = ("classifier", "conv", "depthwise", "residual")


def compiled(name: str, level: int, **options: object) -> CompiledModel:
    """A tiny model for a core with SMLAD and an FPU."""
    graph = read_tflite(TINY[name](), f"{name}.tflite", "tflm")
    imported = ImportedModel(graph, f"{name}.tflite", "ab" * 32, name)
    return compile_job(Job(imported, DSP, read_options({"level": level, **options})))


def c_of(model: CompiledModel) -> str:
    return model.sources[f"{model.name}.c"]


def test_code_for_a_debugger_is_as_reviewed(golden):
    golden("residual.c", c_of(compiled("residual", 0)))


@pytest.mark.parametrize("name", MODELS)
def test_plain_levels_need_nothing_of_the_core(name):
    for level in (0, 1):
        text = c_of(compiled(name, level))
        assert "asm" not in text
        assert "#error" not in text
        assert "__ARM_FEATURE" not in text
    assert "asm" in c_of(compiled("conv", DEFAULT))


def test_at_the_lowest_level_each_operator_of_the_file_is_a_layer():
    plain, usual = compiled("residual", 0), compiled("residual", DEFAULT)
    ran = {step.what.name for step in plain.planned.steps if step.after is not step.before}
    assert not ran & (MEANING.keys() - {"fold-constants"})
    assert [node.name for node in plain.graph.nodes] == [
        node.name for node in plain.planned.job.model.graph.nodes
    ]
    assert len(plain.layers) >= len(usual.layers)


def test_at_the_lowest_level_a_layer_is_done_before_the_next_begins():
    body = c_of(compiled("conv", 0)).split("_run(\n")[-1]
    called = re.findall(r"(\w+)\(&run", body)
    assert called == [layer.function for layer in compiled("conv", 0).layers]
    assert len(called) > 1


def test_at_the_lowest_level_a_layer_shares_its_function_with_none():
    for goal in ("speed", "size"):
        model = compiled("residual", 0, optimize=goal)
        kernels = re.findall(r"^static KERNEL void (\w+)\(", c_of(model), re.M)
        assert kernels
        assert all(kernel.startswith(("conv2d_", "add_", "image_")) for kernel in kernels)
        assert len(kernels) == len(model.layers)


def test_the_default_is_the_second_level():
    assert CompileOptions().level == DEFAULT == 2
    assert c_of(compiled("conv", DEFAULT)) == c_of(compiled("conv", CompileOptions().level))


def test_the_highest_level_is_the_default_with_a_solver():
    assert read_options({"level": 3}).has_solver
    assert not read_options({"level": 2}).has_solver
    assert read_options({"exact": True}).has_solver


def test_streamed_rows_remain_at_the_lowest_level():
    model = compiled("conv", 0, stream=True)
    assert model.options.interleaves_rows
    assert "split-sequences-into-rows" not in model.options.left_out_passes
    assert not CompileOptions(level=0).interleaves_rows


def test_a_disabled_pass_is_left_out_at_each_level():
    for level in LEVELS:
        assert (
            "merge-tables" in CompileOptions(level=level, disabled_passes=("merge-tables",)).left_out_passes
        )


@pytest.mark.parametrize("given", [4, True, "fast", "-1"])
def test_a_level_that_is_none_is_refused(given):
    with pytest.raises(InputError, match="0, 1, 2, 3"):
        read_options({"level": given})


def test_the_compiler_is_asked_for_what_a_debugger_needs():
    assert compiled("conv", 0).parts.c_flags == ("-std=c99", "-O0", "-g")
    assert compiled("conv", 1).parts.c_flags == compiled("conv", DEFAULT).parts.c_flags


@pytest.mark.cc
@pytest.mark.parametrize(
    ("given", "flag"), [({"level": 0}, "-O0"), ({}, "-O2"), ({"optimize": "size"}, "-Os")]
)
def test_the_head_says_at_which_level_its_stack_is_taken(given, flag):
    model = compiled("residual", **{"level": DEFAULT, **given})
    head = " ".join(model.sources["residual.h"].split())
    assert f"about {model.planned.stack_bytes:,} bytes of stack at {flag}." in head


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.parametrize("level", [0, 2])
def test_no_run_takes_more_stack_than_estimated(level, tmp_path):
    for name in ("classifier", "depthwise", "dense"):
        path = tmp_path / f"{name}.tflite"
        path.write_bytes(TINY[name]())
        bench = deploy.bench(path, "mps2-an386", level=level)
        made = deploy.compile(path, "mps2-an386", level=level)
        assert bench["stack_bytes"] <= made.artifact.facts.stack_bytes_estimate, name


def test_a_debugger_finds_what_the_page_types(repo_root, tmp_path):
    """Compilers drop what they fold into its callers, unless they are told to optimise nothing."""
    model, archive, project = repo_root / "deploy/demo/digits.tflite", tmp_path / "d.tar", tmp_path / "digits"
    deploy.compile(model, board="host", level=0).save(archive)
    deploy.new(archive, project, board="host", app="standalone")
    deploy.build(project)
    with (project / "build/firmware").open("rb") as file:
        units = ELFFile(file).get_dwarf_info().iter_CUs()
        entries = [entry for unit in units for entry in unit.iter_DIEs()]
    bodies = {
        entry.attributes["DW_AT_name"].value.decode()
        for entry in entries
        if entry.tag == "DW_TAG_subprogram" and {"DW_AT_name", "DW_AT_low_pc"} <= entry.attributes.keys()
    }
    page = (repo_root / "docs/levels.md").read_text("utf-8")
    typed = set(re.findall(r"\(gdb\) (?:tbreak |.*?\b(?=row_of_))(\w+)", page))
    assert len(typed) == 3
    assert typed <= bodies


@pytest.mark.cc
@pytest.mark.parametrize("name", MODELS)
def test_no_level_changes_a_bit(name, tmp_path):
    path = tmp_path / f"{name}.tflite"
    path.write_bytes(TINY[name]())
    model = deploy.load(path)
    kinds = [compiled(name, DEFAULT).graph.types[each] for each in compiled(name, DEFAULT).graph.inputs]
    given = [np.random.default_rng(7).integers(-128, 128, kind.shape, np.int8) for kind in kinds]
    runs = [deploy.in_process(model, level=level).run(given) for level in (0, 1, 2)]
    for run in runs[:2]:
        assert run.keys() == runs[2].keys()
        for value in run:
            np.testing.assert_array_equal(run[value], runs[2][value])
