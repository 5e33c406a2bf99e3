"""A target may be named without a board, in our words or a compiler's; what is not known is refused."""

import pytest

import deploy
from aot.errors import BoardError, FitError, InputError
from aot.target import Feature, MemoryRegion
from boards.cores import core_names, load_core
from boards.target_text import read_target

# What is written, and the name of what is meant.
SPELLINGS = {
    "cortex-m4": "cortex-m4",
    "cortex-m4+dsp": "cortex-m4",
    "Cortex-M4F,ram=256K,flash=1M": "cortex-m4+fpu,ram=256K,flash=1M",
    "cortex_m4,flash=1000": "cortex-m4,flash=1000",
    "cortex-m0+": "cortex-m0plus",
    "cortex-m0+,ram=32KB": "cortex-m0plus,ram=32K",
    "cortex-m0": "cortex-m0",
    "cortex-m33+dsp ram=1MB": "cortex-m33+dsp,ram=1M",
    "-mcpu=cortex-m33": "cortex-m33",
    "-mcpu=cortex-m33+nodsp -mattr=+fp16": "cortex-m33+fpu",
    "-mcpu=cortex-m33 -mattr=+dsp,-fp-armv8d16sp": "cortex-m33+dsp",
    "-mcpu=cortex-m55 -mattr=+mve.fp": "cortex-m55+fpu+mve",
    "-mcpu=cortex-m7 -mthumb -mfpu=fpv5-d16 -mfloat-abi=hard": "cortex-m7+fpu",
    "-mcpu=cortex-m7 -mfloat-abi=soft": "cortex-m7",
    "-march=rv32imac": "rv32imac",
    "c -mcpu=cortex-m4": "cortex-m4",
    "c -keys=cpu -mcpu=cortex-m4": "cortex-m4",
    "c -keys=arm_cpu,cpu -mcpu=cortex-m7 -model=stm32f746xx -march=armv7e-m": "cortex-m7",
    "c -device=arm_cpu -mcpu=cortex-m33 --system-lib": "cortex-m33",
    "rv32imc": "esp32-c3",
    "esp32": "xtensa-lx6",
    "esp32-s3,ram=320K": "xtensa-lx7,ram=320K",
}
FORM = "CORE[+FEATURE...][,ram=SIZE][,flash=SIZE]"
# What is written, what is said of it, and the way out.
WRONG = {
    "cortex-m4+dps": (
        'a cortex-m4 has no "dps" - did you mean "dsp"?',
        "it has: dsp, unaligned; it can have: fpu",
    ),
    "cortex-m0plus+fpu": ('a cortex-m0plus has no "fpu"', "it has: none; it can have: none"),
    "cortex-m4+nodsp": ("every cortex-m4 has dsp", FORM),
    "cortex-m9": (
        'core "cortex-m9" is not known - did you mean "cortex-m7"?',
        f"known: {', '.join(core_names())}",
    ),
    "cortex-m5": (  # as near to cortex-m85
        'core "cortex-m5" is not known - did you mean "cortex-m55"?',
        f"known: {', '.join(core_names())}",
    ),
    "cmsis-nn,c": (
        '"c" is not part of a target',
        f"{FORM}\nfor a library: --target CORE --accelerator cmsis-nn:path=FOLDER",
    ),
    "cortex-m4,rom=1M": ('"rom=1M" is not part of a target - did you mean "ram"?', FORM),
    "cortex-m4,ram=lots": ('ram: "lots" is not a size such as 65536, 64KB or 1MB', FORM),
    "ram=64K": ("the target has no core", f"{FORM}\ncores: {', '.join(core_names())}"),
    "cortex-m4 cortex-m7": ('the target names two cores, "cortex-m4" and "cortex-m7"', FORM),
    "-mcup=cortex-m4": (
        '"-mcup=cortex-m4" is not part of a target - did you mean "-mcpu="?',
        "known: -mcpu=, -march=, -mattr=, -mfpu=, -mfloat-abi=, -mthumb",
    ),
    "-mcpu=cortex-m4 -mfloat-abi=hot": ('"hot" is not a floating-point ABI', "known: hard, softfp, soft"),
}  # fmt: skip


@pytest.mark.parametrize("text", SPELLINGS)
def test_a_target_is_understood_as_people_write_it(text):
    assert read_target(text).name == SPELLINGS[text]


@pytest.mark.parametrize("text", SPELLINGS)
def test_its_name_names_it_again(text):
    made = read_target(text)
    assert read_target(made.name) == made


@pytest.mark.parametrize("core", core_names())
def test_every_core_is_a_target_with_the_features_that_it_always_has(core):
    target = read_target(core).target
    assert (target.core, target.features, target.regions) == (core, load_core(core).has, ())


def test_features_and_memories_are_those_of_the_text():
    target = read_target("cortex-m4+fpu,ram=64K,flash=1M").target
    assert target.features == {Feature.DSP, Feature.FPU, Feature.UNALIGNED}
    assert target.regions == (
        MemoryRegion("RAM", 0x20000000, 64 * 1024, "ram"),
        MemoryRegion("FLASH", 0, 1024 * 1024, "flash"),
    )


@pytest.mark.parametrize("text", WRONG)
def test_what_is_not_known_is_refused(text):
    with pytest.raises(BoardError) as caught:
        read_target(text)
    assert (caught.value.what, caught.value.hint) == WRONG[text]
    assert caught.value.where == f"in the target {text}"


@pytest.fixture
def model(tiny_file):
    return tiny_file("conv")


def test_a_target_gets_the_code_of_a_board_with_the_same_core(model):
    of_board = deploy.compile(model, board="mps2-an386").model.sources
    of_target = deploy.compile(model, target="cortex-m4+fpu").model.sources
    differing = [
        (a, b)
        for name in of_board
        for a, b in zip(of_board[name].splitlines(), of_target[name].splitlines(), strict=True)
        if a != b
    ]
    assert all("mps2-an386" in board and "cortex-m4+fpu" in target for board, target in differing)


def test_a_memory_that_is_too_small_is_reported(model, run_deploy):
    outcome = run_deploy("inspect", model, "--target", "cortex-m4,flash=256")
    assert outcome.status == 1
    assert " of 256 bytes of FLASH (" in outcome.out
    with pytest.raises(FitError) as caught:
        deploy.compile(model, target="cortex-m4,flash=256")
    assert "deploy inspect tiny.tflite --target cortex-m4,flash=256 --memory" in caught.value.hint


def test_plain_sources_and_archives_are_made_for_a_target(model, tmp_path, run_deploy):
    words = ("compile", model, "--target", "cortex-m4+fpu,ram=64K", "-o")
    assert run_deploy(*words, tmp_path / "tiny").status == 0
    assert (tmp_path / "tiny" / "tiny.c").is_file()
    assert run_deploy(*words, tmp_path / "tiny.tar").status == 0
    assert run_deploy("new", tmp_path / "tiny.tar", tmp_path / "project", "--board", "mps2-an386").status == 0
    other = run_deploy("new", tmp_path / "tiny.tar", tmp_path / "other", "--board", "rpi-pico")
    assert "was compiled for cortex-m4 (dsp, fpu, unaligned), rpi-pico has cortex-m0plus" in other.err


def test_one_of_the_two_is_given(model, run_deploy):
    both = run_deploy("compile", model, "--board", "host", "--target", "host", "-o", "x.tar")
    assert both.err.startswith("error: --target and --board exclude each other\n")
    none = run_deploy("compile", model, "-o", "x.tar")
    assert none.err.startswith("error: missing options: --board or --target\n")
    with pytest.raises(InputError, match='a board, "host", and a target, "cortex-m3", exclude each other'):
        deploy.compile(model, "host", target="cortex-m3")
    with pytest.raises(InputError, match="a board or a target is needed"):
        deploy.compile(model)


@pytest.mark.parametrize(
    ("target", "hint"),
    [
        ("nucleo-f446re", "a board is given by --board nucleo-f446re\nknown: "),
        ("stm32f446,ram=64K", "a board is given by --board nucleo-f446re\nknown: "),
        ("cortex-m9", "known: "),
    ],
)
def test_a_board_or_chip_given_as_the_target_is_answered_with_the_board(target, hint, model):
    with pytest.raises(BoardError) as caught:
        deploy.inspect(model, target=target)
    assert caught.value.hint.startswith(hint)


def test_a_core_given_as_the_board_is_answered_with_the_target(model):
    with pytest.raises(BoardError) as caught:
        deploy.inspect(model, board="cortex-m4")
    assert caught.value.hint.startswith("a core without a board: --target cortex-m4\nlist them with: ")
