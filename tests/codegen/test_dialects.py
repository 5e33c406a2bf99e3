"""One small model for each way in which C is made: its text is reviewed, its own compiler finds no fault."""

import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from avr_checks import AVR, failure_on_avr
from c_checks import failures_on_board, failures_on_host
from conv2d_cases import CASES
from graphs import GRAPHS
from model_checks import DSP, MVE, OPTIONS, VECTORS, Sample, check_of
from tiny_models import TINY

import project_templates
from aot.frontend.tflite.read import read_tflite
from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.plan.model import Pool
from aot.target import MemoryRegion, Target
from boards.cores import load_core
from codegen.compile import CompiledModel, compile_job
from codegen.job import ImportedModel, Job
from codegen.options import CDialect, CompileOptions
from platforms.templates import template_text

FAST, SLOW = (
    MemoryRegion("DTCM", 0, 64 * 1024, "ram"),
    MemoryRegion("SRAM", 1 << 20, 256 * 1024, "ram", speed=1),
)
HOST = Target("host", regions=(SLOW, FAST), pointer_bytes=8)
RISCV = load_core("rv32imac").target()
STREAMED = CompileOptions(stream=True)
IN_STANDARD_C = CompileOptions(dialect=CDialect.STRICT)
IN_TWO = CompileOptions(pools=(Pool("DTCM", 120), Pool("SRAM")))
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Werror", "-c", "-o", "/dev/null")
GCC = ("gcc", "-std=c99", "-O2")
ARM = ("arm-none-eabi-gcc", "-std=c99", "-O2", "-mthumb", "-mfloat-abi=hard")
M4 = (*ARM, "-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16")
M55 = (*ARM, "-mcpu=cortex-m55")
ON_RISCV = (
    "riscv64-unknown-elf-gcc",
    "-std=c99",
    "-O2",
    "-march=rv32imac",
    "-mabi=ilp32",
    "--specs=picolibc.specs",
)
WITH_VECTORS = (
    *(sys.executable, "-m", "ziglang", "cc", "-std=c99", "-O2"),
    *load_core(VECTORS.core).options["zig"],
    *("-I", str(Path(project_templates.__file__).with_name("baremetal"))),  # zig brings no C library
)
STRICT_M4 = (*M4, "-pedantic-errors")
ON_AVR = ("avr-gcc", "-std=gnu99", "-Os", "-mmcu=atmega2560")

HERE = "here"
ELSEWHERE = "elsewhere"  # rows are pushed in test_stream.py; firmware for RISC-V runs in tests/platforms


def tiny(name: str) -> Graph:
    return read_tflite(TINY[name](), f"{name}.tflite", "tflm")


def real_convolution() -> Graph:
    """With weights that are whole numbers, so that its sums are exact in any order."""
    graph = next(case.graph for case in CASES if case.name == "conv2d_float32")
    whole = {name: np.rint(np.asarray(data, np.float32) * 8) for name, data in graph.constants.items()}
    return replace(graph, constants=whole)


@dataclass(frozen=True)
class Dialect:
    graph: Callable[[], Graph]
    target: Target
    options: CompileOptions
    compiler: tuple[str, ...]
    runs_on: str  # a board, or HERE; ELSEWHERE where another test runs it

    def compile(self, name: str) -> CompiledModel:
        model = ImportedModel(self.graph(), f"{name}.tflite", "cd" * 32, name)
        return compile_job(Job(model, self.target, self.options))


DIALECTS: Mapping[str, Dialect] = {
    "arenas": Dialect(lambda: tiny("residual"), HOST, IN_TWO, GCC, HERE),
    "avr": Dialect(lambda: tiny("conv"), AVR, OPTIONS["speed"], ON_AVR, "avr"),
    "helium": Dialect(lambda: tiny("depthwise"), MVE, OPTIONS["speed"], M55, "mps3-an547"),
    "ram": Dialect(lambda: tiny("depthwise"), DSP, OPTIONS["ram"], M4, "mps2-an386"),
    "reals": Dialect(real_convolution, DSP, OPTIONS["speed"], M4, "mps2-an386"),
    "riscv": Dialect(lambda: tiny("classifier"), RISCV, OPTIONS["speed"], ON_RISCV, ELSEWHERE),
    "size": Dialect(GRAPHS["layers_alike"], DSP, OPTIONS["size"], M4, "mps2-an386"),
    "strict": Dialect(lambda: tiny("classifier"), DSP, IN_STANDARD_C, STRICT_M4, "mps2-an386"),
    "stream": Dialect(lambda: tiny("conv"), HOST, STREAMED, GCC, ELSEWHERE),
    "vectors": Dialect(
        lambda: tiny("depthwise"), VECTORS, OPTIONS["speed"], WITH_VECTORS, "qemu-riscv32-vectors"
    ),
}


@pytest.mark.parametrize("name", DIALECTS)
def test_generated_files_are_as_reviewed(name, golden):
    for file, text in DIALECTS[name].compile(name).sources.items():
        golden(f"{name}/{file}", text)


@pytest.mark.cc
@pytest.mark.parametrize("name", DIALECTS)
def test_its_compiler_does_not_warn(name, require_tool, tmp_path):
    compiler = DIALECTS[name].compiler
    require_tool(compiler[0])
    sources = DIALECTS[name].compile(name).sources
    for file, text in {**sources, "solder_model.h": template_text("common", "solder_model.h")}.items():
        (tmp_path / file).write_text(text)
    for file in (file for file in sources if file.endswith(".c")):
        argv = [*compiler, *WARNINGS, file]
        done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def samples_of(graph: Graph) -> list[Sample]:
    """Three samples of whole numbers."""
    rng = np.random.default_rng(11)
    types = {name: graph.types[name] for name in graph.inputs}
    return [
        {name: rng.integers(-128, 128, t.shape).astype(t.dtype.numpy) for name, t in types.items()}
        for _ in range(3)
    ]


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize("board", sorted({d.runs_on for d in DIALECTS.values()} - {ELSEWHERE}))
def test_it_computes_what_the_reference_does(board, require_tool, tmp_path):
    checks = []
    for name, dialect in DIALECTS.items():
        if dialect.runs_on == board:
            require_tool(dialect.compiler[0])
            graph = dialect.graph()
            samples = samples_of(graph)
            wanted = [run_graph(graph, sample) for sample in samples]
            checks.append(check_of(name, dialect.compile(name), samples, wanted))
    if board == HERE:
        assert failures_on_host(checks, tmp_path / "checks") == {}
    elif board == "avr":
        require_tool("simavr")
        assert [failure_on_avr(c, tmp_path / c.name, tmp_path / "machine") for c in checks] == [""]
    else:
        require_tool("qemu-system-arm")
        assert failures_on_board(checks, tmp_path / "checks", board) == {}
