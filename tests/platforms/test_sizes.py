"""Flash, RAM and stack of firmware: what is said of fitting is what a build takes."""

import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from onnx import helper
from onnx_files import onnx_file

from aot.errors import FitError, ToolError
from aot.target import Optimize
from artifact.artifact import artifact_of
from benchmarks.fits import Compared, counted_boards, stated_and_built
from codegen.compile import compile_job
from codegen.job import import_model, read_job
from codegen.options import CompileOptions
from deploy.compiler.compile_model import compile_for
from deploy.devices.connection_options import LineOptions
from deploy.devices.firmware import build_source
from deploy.devices.session import open_device
from platforms.baremetal import PLATFORM
from platforms.base import BuildChoices
from platforms.board_files import load_board
from platforms.elf import sizes
from platforms.project import App, ProjectSource, project_source
from platforms.stack_depth import LIBRARY_BYTES, StackDepth, run_stack, stack_depth, stack_usage

DIGITS = Path(__file__).parents[2] / "deploy" / "demo" / "digits.tflite"
MOST = 0.02
COMPILERS = ("arm-none-eabi-gcc", "riscv64-unknown-elf-gcc")
BOARDS = {board.name: board for board in counted_boards()}


def require_near(found: Mapping[str, Compared]) -> None:
    assert not {role: str(each) for role, each in found.items() if abs(each.error) > MOST}


def float_classifier() -> bytes:
    weights = np.random.default_rng(1).normal(size=(256, 16))
    nodes = [helper.make_node("MatMul", ["x", "w"], ["z"]), helper.make_node("Softmax", ["z"], ["y"])]
    return onnx_file(nodes, {"x": (1, 256)}, {"y": (1, 16)}, {"w": weights})


@pytest.mark.slow
@pytest.mark.arm
@pytest.mark.parametrize("name", BOARDS)
def test_what_is_stated_of_a_board_is_what_a_build_makes(name, tmp_path, require_tool):
    require_tool(*COMPILERS)
    require_near(stated_and_built(BOARDS[name], DIGITS, tmp_path / "p"))


@pytest.mark.arm
@pytest.mark.parametrize("name", ["nucleo-f446re", "qemu-microbit", "qemu-riscv32-vectors"])
def test_the_c_library_of_a_float_model_takes_what_is_stated(name, tmp_path, require_tool):
    """Without the library's state for files and streams, which functions of floats would bring along."""
    require_tool(*COMPILERS)
    model = tmp_path / "float.onnx"
    model.write_bytes(float_classifier())
    found = stated_and_built(BOARDS[name], model, tmp_path / "p")
    require_near(found)


@pytest.mark.arm
def test_firmware_for_16_kib_is_built_where_it_is_said_to_fit(tmp_path):
    board = BOARDS["qemu-microbit"]
    found = stated_and_built(board, DIGITS, tmp_path / "p")
    assert found["ram"].built <= board.target.ram_bytes
    require_near(found)


def test_memory_is_left_for_the_firmware():
    """The model alone would fit; with the server it does not, and each part is named."""
    board = load_board("qemu-microbit")
    regions = tuple(replace(r, bytes=3800) if r.role == "ram" else r for r in board.regions)
    model = import_model(DIGITS, CompileOptions())
    with pytest.raises(FitError, match="firmware with the model needs about") as caught:
        compile_for(model, replace(board, regions=regions), CompileOptions())
    for part in ("arena", "stack, estimated", "server and C library, as built", "stack of the server"):
        assert part in caught.value.where
    alone = replace(board, name="unmeasured", regions=regions)
    report = compile_for(model, alone, CompileOptions()).report
    assert report.fits
    assert not report.counts_firmware


STACK_BYTES = 40_000


@pytest.mark.cc
def test_more_stack_is_more_ram_and_no_more_flash(tiny, tmp_path, require_package):
    require_package("ziglang")
    board = load_board("mps2-an386")

    def built(name: str, source: ProjectSource) -> Path:
        PLATFORM.generate(source, tmp_path / name, board, App.STANDALONE)
        return PLATFORM.build(tmp_path / name, board, BuildChoices(toolchain="zig")).elf

    script = tmp_path / "more" / "board.ld"
    few = sizes(built("few", tiny))
    PLATFORM.generate(tiny, script.parent, board, App.STANDALONE)
    text = script.read_text(encoding="utf-8")
    more_stack = text.replace("board_stack_low = .;", f"board_stack_low = .;\n        . += {STACK_BYTES};")
    assert more_stack != text
    script.write_text(more_stack, encoding="utf-8")
    more = sizes(PLATFORM.build(script.parent, board, BuildChoices(toolchain="zig")).elf)
    assert (more.flash, more.ram) == (few.flash, few.ram + STACK_BYTES)


LIMIT_BYTES = 1024
SEVEN = (
    "cfu_mbv2_160_035_int8",
    "tflm_micro_speech_int8",
    "tflm_person_detect_int8",
    "tiny_ad_fc_int8",
    "tiny_ic_resnet8_int8",
    "tiny_kws_dscnn_int8",
    "tiny_vww_mbv1_int8",
)
PROGRAM = """
#include <string.h>
#define APART __attribute__((noinline))
int table[4];
static APART int leaf(int n) { volatile int room[100]; room[n] = n; return room[n] + table[n]; }
static APART int thin(int n) { return leaf(n) + 1; }
static APART int thick(int n) { volatile int room[300]; room[n] = n; return room[n]; }
int entry(int n) { return thin(n) + thick(n) + 1; }
APART int (*pick(int n))(int) { return n ? thick : leaf; }
int calls_pick(int n) { return pick(n)(n) + 1; }
APART void clears(char *at, int n) { volatile char kept = *at; memset(at, n, (unsigned)n); *at = kept; }
static APART int odd(int n);
static APART int even(int n) { volatile int k = n; return k ? odd(n - 1) + k : 1; }
static APART int odd(int n) { volatile int k = n; return k ? even(n - 1) + k : 0; }
int parity(int n) { return even(n) + 1; }
"""
PROGRAM_OF_TWO = """
static __attribute__((noinline)) int layer_0(int n) { volatile int r[ROOM]; r[n] = n; return r[n]; }
int MODEL_run(int n) { return layer_0(n) + 1; }
"""
FLAGS = ("-O1", "-ffunction-sections", "-fdata-sections", "-fstack-usage", "-fno-ipa-sra")


@pytest.fixture(scope="module")
def objects(require_tool, tmp_path_factory):
    require_tool("gcc")
    folder = tmp_path_factory.mktemp("objects")
    (folder / "p.c").write_text(PROGRAM)
    subprocess.run(["gcc", *FLAGS, "-c", "p.c", "-o", "p.o"], cwd=folder, check=True)
    return folder


def depth(objects: Path, entry: str) -> StackDepth:
    found = stack_depth(objects, entry)
    assert found is not None
    return found


@pytest.mark.cc
def test_the_depth_is_that_of_the_deepest_calls(objects):
    usage = stack_usage(objects)
    found = depth(objects, "entry")
    assert found == StackDepth(usage["entry"] + usage["thick"], ("entry", "thick"), ())
    assert depth(objects, "thin").bytes == usage["thin"] + usage["leaf"]


@pytest.mark.cc
def test_a_function_whose_address_is_taken_counts_as_called(objects):
    assert depth(objects, "calls_pick").calls == ("calls_pick", "pick", "thick")


@pytest.mark.cc
def test_a_library_function_is_named_and_reckoned(objects):
    found = depth(objects, "clears")
    assert found.library == ("memset",)
    assert found.bytes == stack_usage(objects)["clears"] + LIBRARY_BYTES


@pytest.mark.cc
def test_functions_that_call_each_other_have_no_bound(objects):
    with pytest.raises(ToolError, match="parity > even > odd > even is recursive"):
        stack_depth(objects, "parity")


@pytest.mark.cc
def test_functions_of_equal_names_in_two_models_are_told_apart(tmp_path):
    """Each model of a firmware has a layer_0; the deeper one is not a concern of the other model."""
    for model, room in (("thin", 10), ("thick", 200)):
        text = PROGRAM_OF_TWO.replace("MODEL", model).replace("ROOM", str(room))
        (tmp_path / f"{model}.c").write_text(text)
        subprocess.run(["gcc", *FLAGS, "-c", f"{model}.c", "-o", f"{model}.o"], cwd=tmp_path, check=True)
    thin, thick = (depth(tmp_path, f"{model}_run") for model in ("thin", "thick"))
    assert thin.calls == ("thin_run", "layer_0")
    assert thick.bytes - thin.bytes >= 680


def test_nothing_is_known_of_a_function_that_no_compiler_reported(tmp_path):
    assert stack_depth(tmp_path, "entry") is None


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("name", SEVEN)
def test_a_run_for_ram_gives_its_golden_outputs_on_less_than_a_kilobyte_of_stack(name, shared_dir):
    """And on no more than is said."""
    board = load_board("mps2-an386")
    path = shared_dir / "models" / name / "model.tflite"
    golden = dict(np.load(path.with_name("golden.npz")))
    model = compile_job(read_job(path, board.target, CompileOptions(Optimize.RAM)))
    ready = build_source(project_source(artifact_of(model)), board, BuildChoices("arm-none-eabi-gcc"))
    said = run_stack(ready.built, model.name)
    assert said is not None
    assert said.bytes <= LIMIT_BYTES
    # The paint is laid by solder_time_runs, which calls the model through the function `run` beside it.
    build = ready.built.elf.parent
    around = depth(build / "runtime", "solder_time_runs").bytes + stack_usage(build / "model")["run"]
    with open_device(ready, LineOptions()) as device:
        for sample, wanted in zip(golden["in_0"][:2], golden["out_0"][:2], strict=True):
            device.session.write_input(device.model, 0, sample.tobytes())
            device.session.run(device.model)
            assert device.session.read_output(device.model, 0) == wanted.tobytes()
        device.session.time(device.model, 1, 1)
        painted = device.session.stats().stack_used_by_runs
    assert said.bytes / 2 < painted <= said.bytes + around
