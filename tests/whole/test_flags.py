"""Generated C compiles with the flags of other people's projects, where tiles cannot have all registers."""

import subprocess
from pathlib import Path

import pytest

import deploy
from codegen.compile import compile_job
from codegen.job import read_job
from codegen.options import CompileOptions
from platforms.board_files import load_board

CORES = {
    "mps2-an386": ("-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"),
    "mps3-an547": ("-mcpu=cortex-m55", "-mfloat-abi=hard"),
}
KEEPING = (  # registers: without a frame pointer by itself, or named by a macro, gcc's or ours
    "-O0",
    "-O0 -fpic",
    "-O1 -ffixed-r9 -DFEW_REGISTERS",
    "-O2 -fno-omit-frame-pointer",
    "-O3 -fno-omit-frame-pointer",
    "-Os -fno-omit-frame-pointer",
    "-Og",
    "-Og -fno-omit-frame-pointer",  # keeps inline functions as such
    "-Og -DFEW_REGISTERS",
    "-O3 -fno-omit-frame-pointer -ffixed-r9 -DFEW_REGISTERS",
    "-Ofast -DFEW_REGISTERS",
)
FLAGS = ("-Os", "-Ofast", "-O2 -flto", "-O2 -msingle-pic-base -fpic")
MODELS = {  # dot products, depthwise windows, 3x3 convolutions, sums over time
    "tiny_kws_dscnn_int8": FLAGS,
    "tiny_ic_resnet8_int8": FLAGS,
    "tflm_micro_speech_int8": FLAGS,
    "tflm_kw_scrambled_16x8": FLAGS,
    "mww_okay_nabu_v2_int8": FLAGS,  # windows of a column
    "mww_vad_v2_int8": FLAGS,
    "te_vww_int8": ("-Os", "-O2", "-O3", "-Ofast -funroll-loops"),  # windows of counted rows
}


def made_into(folder: Path, model: Path, board: str) -> Path:
    made = compile_job(read_job(model, load_board(board).target, CompileOptions()))
    for name, text in made.sources.items():
        (folder / Path(name).name).write_text(text)
    return folder / f"{made.name}.c"


def compiled(source: Path, board: str, flags: str) -> subprocess.CompletedProcess[str]:
    """In the source's folder: ccache finds again what was compiled from there, whatever the folder's name."""
    words = ["arm-none-eabi-gcc", "-std=c99", *CORES[board], *flags.split(), "-Werror", "-c", source.name]
    return subprocess.run(words, cwd=source.parent, capture_output=True, text=True, timeout=120)


@pytest.mark.arm
@pytest.mark.slow
@pytest.mark.parametrize("board", CORES)
@pytest.mark.parametrize("model", MODELS)
def test_no_flags_ask_for_registers_that_are_not_there(model, board, shared_dir, tmp_path):
    source = made_into(tmp_path, shared_dir / "models" / model / "model.tflite", board)
    for flags in (*KEEPING, *MODELS[model]):
        done = compiled(source, board, flags)
        assert done.returncode == 0, f"{flags}: {done.stderr}"


@pytest.mark.arm
@pytest.mark.slow
@pytest.mark.parametrize("board", CORES)
def test_what_gcc_says_where_registers_are_kept_from_it_stands_beside_the_way_out(
    board, shared_dir, tmp_path
):
    model = shared_dir / "models" / "tiny_kws_dscnn_int8" / "model.tflite"
    source = made_into(tmp_path, model, board)
    comment = " ".join(source.read_text().partition("/* Some tiles use every general register.")[2].split())
    comment = comment.partition("*/")[0]
    assert comment.endswith("then add -DFEW_REGISTERS (`deploy docs own-project`). ")
    assert "-DFEW_REGISTERS" in deploy.docs("own-project")["text"]
    done = compiled(source, board, "-O2 -ffixed-r8 -ffixed-r9 -ffixed-r10")
    said = {line.partition("error: ")[2] for line in done.stderr.splitlines() if "error: " in line}
    assert said
    assert all(f'"{text}"' in comment for text in said), said
