"""Most additions are a file or a folder and at most a line elsewhere.

Those that have a page docs/adding-*.md are counted in tests/docs/test_adding_pages.py.
"""

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from source_trees import nodes_of
from tree_copies import copy_folders

from boards.cores import MACHINES, core_names

CORE = """\
# A Cortex-M33 by another name.
machine = "arm"
has = ["unaligned"]
can_have = ["dsp"]
pointer_bytes = 4

[options]
gcc = ["-mthumb", "-mcpu=cortex-m33{no dsp:+nodsp}", "-mfloat-abi=soft"]
zig = ["-target", "thumb-freestanding-eabi", "-mcpu=cortex_m33{dsp:+dsp}"]
"""
BOARD = """\
# A board with the core of the test.
title = "New"
mcu = "N1"
core = "CORE"
features = ["dsp"]
soc = "mps2-cm"
status = "data-only"
reason = "it is made up"
sources = ["this test alone"]

[platforms.baremetal]

[runners.qemu]
machine = "mps2-an505"
"""


@dataclass(frozen=True)
class Change:
    """New files, and lines that existing files get behind a line of theirs."""

    files: Mapping[str, str]
    lines: Mapping[str, tuple[str, str]] = field(
        default_factory=dict
    )  # file -> (the line before, the new one)


@pytest.fixture
def tree(repo_root, package_names, tmp_path):
    """A copy of the packages."""
    copy_folders(repo_root, package_names, tmp_path)
    return tmp_path


def make(change: Change, tree: Path) -> None:
    for name, text in change.files.items():
        assert not (tree / name).exists()
        (tree / name).write_text(text, encoding="utf-8")
    for name, (before, line) in change.lines.items():
        text = (tree / name).read_text(encoding="utf-8")
        assert text.count(f"{before}\n") == 1
        (tree / name).write_text(text.replace(f"{before}\n", f"{before}\n{line}\n"), encoding="utf-8")


def deploy(tree: Path, *words: str) -> str:
    """What the copy's own `deploy` prints."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "XDG_CONFIG_HOME": str(tree / "config")}
    argv = (sys.executable, "-m", "deploy", *words)
    done = subprocess.run(argv, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


ISA = '''\
"""Cores that make a dot product by magic."""

from aot.ir.types import DType
from aot.target import Feature
from codegen.isa.isa import Isa
from codegen.kernels.strategy import BYTES
from codegen.kernels.dense import dense_strategy, fitted_dense_tail
from codegen.kernels.dot_product import DotProblem, ScheduledDot, in_stored_rows, nest
from codegen.kernels.kernel import Site
from codegen.loops.affine import variable
from codegen.loops.ir import Accumulate, Binary, Buffer, For, Instruction, Role, at, load
from codegen.loops.tensorize import tensorize

MAGIC = Feature("magic", "the magic that multiplies", "__MAGIC__")


def magic(length: int) -> Instruction:
    total, x = Buffer("total", DType.I32, 1, Role.LOCAL), Buffer("x", DType.I8, 0, Role.INPUT)
    w, k = Buffer("w", DType.I8, 0, Role.CONSTANT), variable("k")
    product = Accumulate(at(total), Binary("*", load(x, k), load(w, k)))
    text = f"static inline void magic_{length}(int32_t *total, const int8_t *x, const int8_t *w);"
    return Instruction(
        f"magic_{length}",
        (total, x, w),
        (For("k", length, (product,)),),
        f"magic_{length}(&{{total[0]}}, {{x}}, {{w}});",
        text,
        needs=frozenset({MAGIC}),
    )


def magic_dot(site: Site, p: DotProblem) -> ScheduledDot:
    return ScheduledDot("magic", "by magic", tensorize(nest(p, p.w_dtype), "k", [magic(p.length)]))


DENSE = dense_strategy("magic", in_stored_rows(magic_dot, fitted_dense_tail), frozenset({MAGIC}), (BYTES,))
ISA = Isa("magic", frozenset({MAGIC}), {"dense": (DENSE,)})
'''
COMPILE = """
from pathlib import Path
from aot.target import Feature, Target
from codegen.compile import compile_job
from codegen.job import read_job
from codegen.options import CompileOptions
target = Target("cortex-m3", frozenset({Feature("magic")}))
job = read_job(Path("deploy/demo/digits.tflite"), target, CompileOptions())
print(*compile_job(job).sources.values())
"""


@pytest.mark.slow
def test_an_instruction_set_is_one_folder_and_one_line(tree):
    (tree / "codegen/isa/magic").mkdir()
    line = '        "helium": "before dsp: a core with Helium also has the DSP extension",'
    table = {"codegen/isa/__init__.py": (line, '        "magic": "anywhere",')}
    make(Change({"codegen/isa/magic/__init__.py": "", "codegen/isa/magic/isa.py": ISA}, table), tree)
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    argv = (sys.executable, "-c", COMPILE)
    done = subprocess.run(argv, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "    magic_" in done.stdout
    assert "#ifndef __MAGIC__" in done.stdout


@pytest.mark.slow
def test_an_accelerator_is_one_folder_and_one_line(tree):
    folder, table = tree / "extensions", tree / "extensions/__init__.py"
    shutil.copytree(folder / "vanilla", folder / "other")
    names = '("vanilla", "strawberry", "chocolate", "ethos-u", "cmsis-nn", "gemm-npu")'
    line = f"ACCELERATORS: tuple[str, ...] = {names}"
    text = table.read_text(encoding="utf-8")
    assert text.count(line) == 1
    table.write_text(text.replace(line, line.replace('")', '", "other")')), encoding="utf-8")
    assert "other        conv2d" in deploy(tree, "accelerators")
    words = ("inspect", "deploy/demo/digits.tflite", "--json", "--accelerator", "other")
    layers = json.loads(deploy(tree, *words))["layers"]
    assert [layer["op"] for layer in layers if layer["kernel"] == "vanilla"] == ["conv2d", "conv2d"]


STRATEGY = '''\
"""max_pool2d on cores with the DSP extension: as plain C has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from codegen.formats import RowFormat
from codegen.isa.dsp.needs import NEEDS
from codegen.kernels.kernel import Kernel, Site
from codegen.kernels.max_pool2d import KERNEL
from codegen.kernels.strategy import Strategy

*_, _PLAIN = KERNEL.strategies


def _lower(site: Site, inputs: Sequence[RowFormat], output: RowFormat) -> Kernel:
    return replace(_PLAIN.lower(site, inputs, output), strategy="new", why="it is new")


STRATEGY = Strategy("new", _PLAIN.requests, _lower, NEEDS)
'''


@pytest.mark.slow
def test_a_strategy_is_one_file_and_one_line(tree):
    table = {
        "codegen/isa/dsp/strategies/__init__.py": (
            '        "dot_product.DENSE": ("dense",),',
            '        "max_pool2d": ("max_pool2d",),',
        )
    }
    make(Change({"codegen/isa/dsp/strategies/max_pool2d.py": STRATEGY}, table), tree)
    board = ("inspect", "deploy/demo/digits.tflite", "--json", "--board")
    kernels = {
        name: [layer["kernel"] for layer in json.loads(deploy(tree, *board, name))["layers"]]
        for name in ("mps2-an386", "mps2-an385")
    }
    assert "new" in kernels["mps2-an386"]
    assert "new" not in kernels["mps2-an385"], "the core has no such instructions"


@pytest.mark.arm
def test_a_core_is_one_file_and_a_board_another(tree):
    files = {"boards/core/new-core.toml": CORE, "boards/new.toml": BOARD.replace("CORE", "new-core")}
    make(Change(files), tree)
    deploy(tree, "compile", "deploy/demo/digits.tflite", "--board", "new", "-o", "model.tar")
    deploy(tree, "new", "model.tar", "project", "--board", "new")
    deploy(tree, "build", "project", "--toolchain", "arm-none-eabi-gcc")
    assert (tree / "project/flags/gcc/cpu").read_text().split()[1] == "-mcpu=cortex-m33"
    (object_file,) = (tree / "project/build/model").glob("digits.o")
    attributes = subprocess.run(
        ("arm-none-eabi-readelf", "-A", str(object_file)), capture_output=True, text=True, check=True
    ).stdout
    assert "v8-M.mainline" in attributes
    assert "Tag_DSP_extension: Allowed" in attributes


RUNNER = '''\
"""Writes nothing anywhere."""

from __future__ import annotations

from pathlib import Path

from boards.board import Board
from boards.board_keys import Section
from boards.schema import Key, at_least
from platforms.runners.runner import Argv, BoardSelector

SECTION = Section({"channel": Key(at_least(1))})


def missing() -> str:
    return ""


def flash_commands(elf: Path, board: Board, _selector: BoardSelector) -> tuple[Argv, ...]:
    return (("nothing", str(board.runners["nothing"]["channel"]), elf.name),)
'''
TABLES = """
[runners.nothing]
channel = 3
"""


@pytest.mark.slow
def test_a_runner_is_one_file_and_one_line(tree):
    files = {
        "platforms/runners/nothing.py": RUNNER,
        "boards/new.toml": BOARD.replace("CORE", "cortex-m33") + TABLES,
    }
    line = ('    "uf2": "platforms.runners.uf2",', '    "nothing": "platforms.runners.nothing",')
    make(Change(files, {"platforms/runners/__init__.py": line}), tree)
    deploy(tree, "compile", "deploy/demo/digits.tflite", "--board", "new", "-o", "model.tar")
    deploy(tree, "new", "model.tar", "project", "--board", "new")
    assert "nothing 3 firmware.elf" in deploy(tree, "flash", "project", "--dry-run", "--runner", "nothing")


def test_no_module_knows_a_core_by_name(package_modules, repo_root):
    """Not even by what its name begins with: an `if` that asks for a family of cores knows them, too."""
    said = {path.relative_to(repo_root).as_posix(): cores_in(path) for path in package_modules}
    assert {path: found for path, found in said.items() if found} == NAMES_OF_CORES, (
        "code must not name a core: add a key to boards/core/*.toml and read that"
    )


# The core that `inspect` takes when no board is named, names as people and CMSIS packs say them, and what
# Arduino calls an architecture.
NAMES_OF_CORES = {
    "deploy/inspection/inspect_model.py": {"cortex-m4"},
    "boards/cores.py": {"cortex-"},
    "boards/pack_index.py": {"cortex-m"},
    "platforms/channels/arduino.py": {"esp32"},
}
_LEAST_LETTERS = 4  # shorter beginnings are of anything


def cores_in(module: Path) -> set[str]:
    """The constants that begin as names of cores do; "host" and "avr" are machines as well."""
    texts = {each for each in constants(module) if isinstance(each, str) and len(each) >= _LEAST_LETTERS}
    cores = set(core_names()) - set(MACHINES)
    return {text for text in texts - set(MACHINES) if any(begins_as(text, core) for core in cores)}


def begins_as(text: str, core: str) -> bool:
    """True of the name, of its beginning, and of one word that goes on behind it."""
    return core.startswith(text) or (text.startswith(core) and " " not in text)


@pytest.mark.parametrize("text", ["cortex-m4", "cortex-m", "cortex-m3x", "rv32"])
def test_a_name_of_cores_is_found(text, tmp_path):
    (tmp_path / "module.py").write_text(f'def f(core: str) -> bool:\n    return core.startswith("{text}")\n')
    assert cores_in(tmp_path / "module.py") == {text}


def constants(module: Path) -> set[object]:
    nodes = nodes_of(module.read_text(encoding="utf-8"))
    return {node.value for node in nodes if isinstance(node, ast.Constant)}
