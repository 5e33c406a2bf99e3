"""Tables as strangers may write them: whatever numbers they hold, a run stays in its memory."""

import re
import struct
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from chain_model import chain
from model_checks import compiled
from op_case import random_values
from shown import IN_PLANES, SHOWN
from tiny_models import TINY

import deploy
from aot.frontend.tflite.read import read_tflite
from aot.interpret import run_graph
from aot.ir.graph import Graph
from aot.ir.types import Array
from aot.target import Optimize
from codegen.c.arenas import arenas_of, line_bytes
from codegen.compile import CompiledModel
from codegen.options import CompileOptions
from deploy.compiler.compile_model import Compiled
from platforms.board_files import load_board

DIGITS = Path(deploy.__file__).parent / "demo" / "digits.tflite"
FUZZ, RUN = (Path(__file__).parent / "table_fuzz" / name for name in ("fuzz_main.c", "run_main.c"))
MODELS: Mapping[str, Callable[[], bytes]] = {**TINY, "chain": lambda: chain(3)}
TABLES = 20_000
_CONSTANTS_AT = 28  # in the head of a table: where its constants begin
PLAIN = ("-O1", "-std=c99", "-Wall", "-Wextra", "-Werror", "-DSOLDER_TABLES")
SANITIZED = (*PLAIN, "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
# Sums and shifts of any constants may overflow: that is arithmetic, and says nothing of where a kernel reads.
ARITHMETIC = "-fno-sanitize=signed-integer-overflow,shift"

pytestmark = pytest.mark.cc


@pytest.fixture(scope="module")
def digits():
    return deploy.compile(DIGITS, board="host", tables=True)


@pytest.fixture(scope="module")
def fuzz(digits, repo_root, tmp_path_factory):
    """fuzz(...) runs that many tables, changed from a seed on, and gives what was counted."""
    folder, runtime = tmp_path_factory.mktemp("fuzz"), repo_root / "project_templates" / "common"
    for name, text in digits.model.sources.items():
        (folder / name).write_text(text, encoding="utf-8")
    flags = (*SANITIZED, f"-I{runtime}", f"-I{folder}")
    subprocess.run(["gcc", *flags, ARITHMETIC, "-c", "digits.c"], cwd=folder, check=True)
    files = ("digits.o", "digits_weights.c", str(FUZZ), str(runtime / "solder_table.c"))
    subprocess.run(["gcc", *flags, *files, "-o", "fuzz"], cwd=folder, check=True)

    def run(table: bytes, tables: int, seed: int) -> str:
        (folder / "table").write_bytes(table)
        structure = struct.unpack_from("<I", table, _CONSTANTS_AT)[0]
        (arena,) = digits.artifact.facts.line_arenas
        numbers = map(str, (structure, arena.bytes, tables, seed))
        done = subprocess.run(
            [str(folder / "fuzz"), str(folder / "table"), *numbers],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, (done.stdout, done.stderr)
        return done.stdout

    return run


def table_of(compiled: Compiled) -> bytes:
    table = compiled.model.table
    assert table is not None
    return table.data


def test_no_number_of_a_table_makes_a_run_leave_its_memory(digits, fuzz):
    counts = re.findall(r"\d+", fuzz(table_of(digits), TABLES, 1))
    ran, lacked, refused, _ = map(int, counts)
    assert ran + lacked + refused == TABLES
    assert min(ran, lacked, refused) > TABLES // 20  # each of them is met often


def test_a_table_is_taken_as_it_was_made_and_refused_with_another_kernel(digits, fuzz):
    table = table_of(digits)
    assert fuzz(table, 1, 1).startswith("1 ran, 0 lacked a kernel, 0 were refused")
    other = bytearray(table)
    other[40] ^= 1  # the first kernel's name, behind the head
    assert fuzz(bytes(other), 1, 1).startswith("0 ran, 1 lacked a kernel, 0 were refused")


def test_what_a_kernel_may_reach_is_held_to_the_byte(digits, fuzz):
    """Each offset into the arena is moved to its very end: the kernels there no longer fit."""
    table, (arena,) = table_of(digits), digits.artifact.facts.line_arenas
    head = struct.unpack_from("<8s9HH3I", table)
    kernels, inputs, outputs, segments, actions, pointers = head[1:7]
    first = 40 + 8 * kernels + 56 * (inputs + outputs) + 8 * segments + 8 * actions
    arenas = [
        at
        for at in range(first, first + 12 * pointers, 12)
        if struct.unpack_from("<I", table, at)[0] >> 28 == 1
    ]
    assert len(arenas) > 10
    for at in arenas:
        moved = bytearray(table)
        struct.pack_into("<I", moved, at, 1 << 28 | arena.bytes)
        assert fuzz(bytes(moved), 1, 1).startswith("0 ran, 0 lacked a kernel, 1 were refused")


@pytest.mark.parametrize("goal", [Optimize.SPEED, Optimize.RAM], ids=["speed", "ram"])
@pytest.mark.parametrize("name", MODELS)
def test_a_table_computes_what_the_reference_does(name, goal, repo_root, tmp_path):
    graph = read_tflite(MODELS[name](), f"{name}.tflite", "tflm")
    _equals_the_reference(graph, goal, repo_root, tmp_path)


@pytest.mark.parametrize("name", ["planes", "planes_of_odd_rows", "shown_twice"])
def test_a_table_fills_planes_and_shows_views(name, repo_root, tmp_path):
    model = _equals_the_reference(SHOWN[name](), Optimize.RAM, repo_root, tmp_path)
    assert any(layer.kernel == "spread" for layer in model.layers) == (name in IN_PLANES)


def _equals_the_reference(graph: Graph, goal: Optimize, repo_root: Path, folder: Path) -> CompiledModel:
    model = compiled(graph, load_board("host").target, CompileOptions(goal, tables=True), "k")
    rng = np.random.default_rng(1)
    inputs = {each.name: random_values(rng, each.type) for each in model.inputs}
    wanted = run_graph(graph, inputs)
    said = run_table(model, inputs, folder, repo_root / "project_templates" / "common")
    assert said == b"".join(wanted[each.name].tobytes() for each in model.outputs).hex()
    return model


def run_table(model: CompiledModel, inputs: dict[str, Array], folder: Path, runtime: Path) -> str:
    """The outputs in hex of a program with the model's kernels that runs its table."""
    for name, text in model.sources.items():
        (folder / name).write_text(text, encoding="utf-8")
    assert model.table is not None
    (folder / "table").write_bytes(model.table.data)
    (folder / "in").write_bytes(b"".join(inputs[each.name].tobytes() for each in model.inputs))
    files = ("k.c", "k_weights.c", str(RUN), str(runtime / "solder_table.c"))
    argv = ["gcc", *PLAIN, f"-I{runtime}", "-I.", *files, "-lm", "-o", "run"]
    subprocess.run(argv, cwd=folder, check=True)
    arenas = line_bytes(arenas_of(model.plan.pool_bytes), (*model.inputs, *model.outputs))
    words = [str(folder / "run"), "table", "in", *map(str, arenas)]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout
