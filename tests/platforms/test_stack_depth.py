"""The stack a run can take: counted along the calls, and never less than what is painted over on a board."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from aot.errors import ToolError
from aot.target import Optimize
from artifact.artifact import artifact_of
from codegen.compile import compile_job
from codegen.job import read_job
from codegen.options import CompileOptions
from deploy.devices.connection_options import LineOptions
from deploy.devices.firmware import build_source
from deploy.devices.session import open_device
from platforms.base import BuildChoices
from platforms.board_files import load_board
from platforms.project import project_source
from platforms.stack_depth import LIBRARY_BYTES, StackDepth, run_stack, stack_depth, stack_usage

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
def objects(require_tool: Callable[..., None], tmp_path_factory: pytest.TempPathFactory) -> Path:
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
def test_the_depth_is_that_of_the_deepest_calls(objects: Path) -> None:
    usage = stack_usage(objects)
    found = depth(objects, "entry")
    assert found == StackDepth(usage["entry"] + usage["thick"], ("entry", "thick"), ())
    assert depth(objects, "thin").bytes == usage["thin"] + usage["leaf"]


@pytest.mark.cc
def test_a_function_whose_address_is_taken_counts_as_called(objects: Path) -> None:
    assert depth(objects, "calls_pick").calls == ("calls_pick", "pick", "thick")


@pytest.mark.cc
def test_a_library_function_is_named_and_reckoned(objects: Path) -> None:
    found = depth(objects, "clears")
    assert found.library == ("memset",)
    assert found.bytes == stack_usage(objects)["clears"] + LIBRARY_BYTES


@pytest.mark.cc
def test_functions_that_call_each_other_have_no_bound(objects: Path) -> None:
    with pytest.raises(ToolError, match="parity > even > odd > even is recursive"):
        stack_depth(objects, "parity")


@pytest.mark.cc
def test_functions_of_equal_names_in_two_models_are_told_apart(
    require_tool: Callable[..., None], tmp_path: Path
) -> None:
    """Each model of a firmware has a layer_0; the deeper one is not a concern of the other model."""
    require_tool("gcc")
    for model, room in (("thin", 10), ("thick", 200)):
        text = PROGRAM_OF_TWO.replace("MODEL", model).replace("ROOM", str(room))
        (tmp_path / f"{model}.c").write_text(text)
        subprocess.run(["gcc", *FLAGS, "-c", f"{model}.c", "-o", f"{model}.o"], cwd=tmp_path, check=True)
    thin, thick = (depth(tmp_path, f"{model}_run") for model in ("thin", "thick"))
    assert thin.calls == ("thin_run", "layer_0")
    assert thick.bytes - thin.bytes >= 680


def test_nothing_is_known_of_a_function_that_no_compiler_reported(tmp_path: Path) -> None:
    assert stack_depth(tmp_path, "entry") is None


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
@pytest.mark.parametrize("name", SEVEN)
def test_a_run_on_a_cortex_m4_takes_less_than_a_kilobyte_and_no_more_than_said(
    name: str, shared_dir: Path, require_tool: Callable[..., None]
) -> None:
    require_tool("arm-none-eabi-gcc", "qemu-system-arm")
    board = load_board("mps2-an386")
    path = shared_dir / "models" / name / "model.tflite"
    model = compile_job(read_job(path, board.target, CompileOptions(Optimize.RAM)))
    ready = build_source(project_source(artifact_of(model)), board, BuildChoices("arm-none-eabi-gcc"))
    said = run_stack(ready.built, model.name)
    assert said is not None
    assert said.bytes <= LIMIT_BYTES
    # The paint is laid by solder_time_runs, which calls the model through the function `run` beside it.
    build = ready.built.elf.parent
    around = depth(build / "runtime", "solder_time_runs").bytes + stack_usage(build / "model")["run"]
    with open_device(ready, LineOptions()) as device:
        device.session.time(device.model, 1, 1)
        painted = device.session.stats().stack_used_by_runs
    assert said.bytes / 2 < painted <= said.bytes + around
