"""Generated C compiles with the flags of other people's projects, where tiles cannot have all registers."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from codegen.compile import compile_job
from codegen.job import read_job
from codegen.options import CompileOptions
from platforms.board_files import load_board

CORES = {
    "mps2-an386": ("-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"),
    "mps3-an547": ("-mcpu=cortex-m55", "-mfloat-abi=hard"),
}
FLAGS = (
    "-O0",
    "-O0 -fpic",
    "-Os",
    "-Ofast",
    "-O2 -flto",
    "-O2 -msingle-pic-base -fpic",
    "-Og -DFEW_REGISTERS",
    "-O1 -ffixed-r9 -DFEW_REGISTERS",
    "-O2 -fno-omit-frame-pointer -DFEW_REGISTERS",
)
MODELS = (  # dot products, depthwise windows, 3x3 convolutions, sums over time
    "tiny_kws_dscnn_int8",
    "tiny_ic_resnet8_int8",
    "tflm_micro_speech_int8",
    "tflm_kw_scrambled_16x8",
)


@pytest.mark.arm
@pytest.mark.slow
@pytest.mark.parametrize("board", CORES)
@pytest.mark.parametrize("model", MODELS)
def test_no_flags_ask_for_registers_that_are_not_there(
    model: str, board: str, shared_dir: Path, require_tool: Callable[..., None], tmp_path: Path
) -> None:
    require_tool("arm-none-eabi-gcc")
    path = shared_dir / "models" / model / "model.tflite"
    made = compile_job(read_job(path, load_board(board).target, CompileOptions()))
    for name, text in made.sources.items():
        (tmp_path / Path(name).name).write_text(text)
    source = tmp_path / f"{made.name}.c"
    for flags in FLAGS:
        words = ["arm-none-eabi-gcc", "-std=c99", *CORES[board], *flags.split(), "-Werror", "-c", str(source)]
        done = subprocess.run(
            [*words, "-o", str(tmp_path / "o.o")], capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, f"{flags}: {done.stderr}"
