"""The generated C is a product: its whole text is reviewed, and no compiler finds fault with it."""

import re
import subprocess
import sys
from collections.abc import Mapping
from functools import cache

import pytest
from graphs import GRAPHS
from model_checks import DSP, OPTIONS, PLAIN, compiled_graph
from tiny_models import TINY

from aot.frontend.tflite.read import read_tflite
from aot.target import Target
from codegen.compile import compile_job
from codegen.job import ImportedModel, Job, import_model
from platforms.templates import template_text

# Golden files: model of tests/models/tiny_models.py -> what it is compiled for.
GOLDEN_MODELS: Mapping[str, Target] = {"classifier": PLAIN, "conv": DSP, "depthwise": DSP, "residual": PLAIN}
WARNINGS = (
    "-std=c99",
    "-Wall",
    "-Wextra",
    "-Wconversion",
    "-Werror",
    "-c",
    "-o",
    "seen.o",
)  # a file: ccache keeps it
COMPILERS: Mapping[str, tuple[str, ...]] = {
    "gcc": ("gcc", "-O2"),
    "clang": ("clang", "-O2", "-fsyntax-only"),  # it warns before it optimises, gcc while it does
    "arm-none-eabi-gcc": ("arm-none-eabi-gcc", "-O2", "-mcpu=cortex-m4", "-mthumb"),
}


@cache
def tiny_sources(name: str, target: Target) -> Mapping[str, str]:
    graph = read_tflite(TINY[name](), f"{name}.tflite", "tflm")
    return compile_job(
        Job(ImportedModel(graph, f"{name}.tflite", "ab" * 32, name), target, OPTIONS["speed"])
    ).sources


@pytest.mark.parametrize(("name", "target"), GOLDEN_MODELS.items(), ids=GOLDEN_MODELS)
def test_generated_files_are_as_reviewed(name, target, golden):
    for file, text in tiny_sources(name, target).items():
        golden(f"{name}/{file}", text)


@pytest.mark.parametrize("name", TINY)
def test_no_line_is_too_long_to_read(name):
    for target in (PLAIN, DSP):
        lines = [line for text in tiny_sources(name, target).values() for line in text.splitlines()]
        assert max(map(len, lines)) <= 140
        assert not [line for line in lines if line != line.rstrip() or "\t" in line]


@pytest.mark.slow
def test_no_accessor_is_there_that_nobody_calls(shared_dir):
    """clang warns of them. The states of this model are copied as a whole."""
    model = shared_dir / "models" / "aeq_toy_transformer_kv_f32" / "model.tflite"
    sources = compile_job(Job(import_model(model, OPTIONS["speed"]), PLAIN, OPTIONS["speed"])).sources
    (text,) = (sources[name] for name in sources if f"{name.removesuffix('.c')}_describe.c" in sources)
    accessors = re.findall(r"^static inline .*\*(row_of_\w+)\(", text, re.MULTILINE)
    assert accessors
    assert not [name for name in accessors if text.count(f"{name}(") < 2]


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize("compiler", COMPILERS)
def test_no_compiler_warns(compiler, require_tool, tmp_path):
    require_tool(compiler)
    target = DSP if "arm" in compiler else PLAIN
    (tmp_path / "solder_model.h").write_text(template_text("common", "solder_model.h"))
    models = {name: tiny_sources(name, target) for name in TINY}
    models |= {name: compiled_graph(name, target, "speed").sources for name in GRAPHS}
    for sources in models.values():
        for file, text in sources.items():
            (tmp_path / file).write_text(text)
    every = sorted(tmp_path.glob("*.c"))
    hooked = [file for file in every if file.stem in models]
    for hook, files in (((), every), (("-DSOLDER_LAYER_HOOK",), hooked)):
        for file in files:
            argv = [*COMPILERS[compiler], *WARNINGS, *hook, file.name]
            done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
            assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.cc
def test_the_header_serves_cplusplus_too(require_tool, tmp_path):
    require_tool("g++")
    (tmp_path / "conv.h").write_text(tiny_sources("conv", PLAIN)["conv.h"])
    (tmp_path / "app.cpp").write_text('#include "conv.h"\nuint8_t arena[CONV_ARENA_BYTES] CONV_ALIGN;\n')
    argv = ["g++", "-Wall", "-Wextra", "-Werror", "-c", "app.cpp", "-o", "app.o"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


PRINT_DIGEST = """
import hashlib, sys
sys.path[:0] = sys.argv[1:]
from test_generated_c import GOLDEN_MODELS, tiny_sources
every = [text for name, target in GOLDEN_MODELS.items() for text in tiny_sources(name, target).values()]
sys.stdout.write(hashlib.sha256("".join(every).encode()).hexdigest())
"""


@pytest.mark.slow
def test_two_runs_write_the_same_bytes(repo_root, tmp_path):
    """In another folder, with another order of sets and dicts."""
    folders = [str(repo_root / "tests" / name) for name in ("codegen", "models", "ops", "programs")]
    digests = set()
    for seed in ("1", "2"):
        (tmp_path / seed).mkdir()
        argv = [sys.executable, "-c", PRINT_DIGEST, *folders]
        environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": str(repo_root)}
        done = subprocess.run(
            argv, cwd=tmp_path / seed, env=environment, capture_output=True, text=True, check=True
        )
        digests.add(done.stdout)
    assert len(digests) == 1
