"""Schedules of the user's own for layers: taken where they fit, else refused with the reason."""

from pathlib import Path
from typing import Any

import pytest

import deploy
from aot.errors import ExtensionError, InputError
from aot.extensions import SCHEDULES, register, unregister
from deploy import lang

pytestmark = pytest.mark.usefixtures("own_folders")
DIGITS = Path(deploy.__file__).parent / "demo" / "digits.tflite"
PAIRS = '''
from deploy import lang


@lang.layer_schedule("conv2d")
def pairs(s, knobs):
    """Sums of several channels side by side."""
    _, inner = s.split("o", knobs.choose("channels", (2, 4)))
    s.privatize(inner, *(name for name in s.locals if name != "sum"))
    s.reorder("column", inner)
    s.privatize(inner, "sum")
    s.reorder("r", "t", "k", inner)
    s.unroll(inner)
'''


@lang.layer_schedule("dense")
def packed(s: lang.Schedule, knobs: lang.Knobs) -> None:
    """Weights in the order of the inputs."""
    s.pack("w", "r", "t", "k", "o")


@lang.layer_schedule("dense", "conv2d", group=8)
def in_eights(s: lang.Schedule, knobs: lang.Knobs) -> None:
    """Sums of a multiple of eight products."""
    s.pad_reduction("k", 8, "w")
    s.split("k", 8)


@pytest.fixture
def mine(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(PAIRS, encoding="utf-8")
    return path


def kernels(*own: object, board: str = "host", **options: Any) -> list[str]:
    compiled = deploy.compile(DIGITS, board, schedules=list(own), **options)
    return [layer.kernel for layer in compiled.model.layers]


@pytest.mark.cc
def test_a_file_of_schedules_is_taken_first(mine, run_deploy, tmp_path):
    board = ("--board", "host", "--schedules", mine)
    said = run_deploy("compile", DIGITS, *board, "-o", tmp_path / "digits.tar").out
    assert said.endswith("  own                2 layers: pairs\n")
    assert run_deploy("inspect", DIGITS, *board, "--layers").out.count(" pairs ") == 2
    assert run_deploy("verify", DIGITS, *board).status == 0
    head = run_deploy("inspect", DIGITS, *board, "--layer", "3").out
    assert "for o_o in range(12):" in head


@pytest.mark.cc
@pytest.mark.parametrize("own", [packed, in_eights])
def test_constants_are_stored_as_the_steps_say(own):
    """Also those of a layer that goes row by row, each row with its own part of them."""
    assert own.name in kernels(own)
    assert deploy.verify(DIGITS, "host", schedules=[own]).equal


@pytest.mark.arm
@pytest.mark.qemu
def test_an_instruction_reads_rows_that_were_widened_for_it():
    pair = lang.instruction(
        """
        def pair(acc: local(i32[1]), x: rows(i16[2]), w: constant(i8[2])):
            for i in range(2):
                acc[0] += x[0][i] * w[i]
        """,
        "{acc[0]} = smlad_bytes({x}, {w}, {acc[0]});",
        """
static inline int32_t smlad_bytes(const int16_t *x, const int8_t *w, int32_t sum)
{
    uint32_t pair;
    const uint32_t weights = (uint16_t)w[0] | (uint32_t)w[1] << 16;
    __builtin_memcpy(&pair, x, 4);
    __asm__("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(pair), "r"(weights));
    return sum;
}
""",
        needs=["dsp"],
    )

    @lang.layer_schedule("conv2d", needs=["dsp"], row_bits=16)
    def by_two(s: lang.Schedule, knobs: lang.Knobs) -> None:
        s.tensorize(s.split("k", 2)[1], pair)

    assert kernels(by_two, board="mps2-an386").count("by_two") == 1
    assert deploy.verify(DIGITS, "mps2-an386", schedules=by_two).equal
    of_m3 = deploy.compile(DIGITS, "mps2-an385", schedules=by_two)
    assert "by_two: the core has no dsp" in of_m3.model.layers[1].passed_over


def test_a_schedule_that_fits_nowhere_is_reported_with_its_reason(run_deploy, tmp_path):
    path = tmp_path / "far.py"
    path.write_text(PAIRS.replace('"o", knobs', '"channel", knobs'), encoding="utf-8")
    words = ("compile", DIGITS, "--board", "host", "-o", tmp_path / "digits.tar", "--schedules", path)
    assert "  not used   pairs: conv2d_3x3_1_to_8_by_8 has no loop channel\n" in run_deploy(*words).out
    path.write_text(PAIRS.replace('"conv2d"', '"resize"'), encoding="utf-8")
    assert "  not used   pairs: the model has no layer of resize\n" in run_deploy(*words).out


@pytest.mark.slow
def test_nothing_is_read_past_a_row():
    @lang.layer_schedule("dense")
    def too_far(s: lang.Schedule, knobs: lang.Knobs) -> None:
        s.pad_reduction("k", 100, "w")

    assert "too_far" not in kernels(too_far)
    layer = deploy.compile(DIGITS, "host", schedules=too_far).model.layers[5]
    assert layer.passed_over[0].startswith("too_far: s.pad_reduction('k', 100, 'w'): x has ")


@pytest.mark.slow
@pytest.mark.parametrize(("ops", "sums"), [(("conv2d", "conv2d+add"), 3), (("conv2d",), 0)])
def test_sums_are_made_in_the_store_where_the_schedule_is_for_them(ops, sums, shared_dir):
    @lang.layer_schedule(*ops)
    def plainly(s: lang.Schedule, knobs: lang.Knobs) -> None:
        s.privatize("column", "sum")

    path = shared_dir / "models" / "tiny_ic_resnet8_int8" / "model.tflite"
    layers = deploy.compile(path, "mps2-an386", schedules=plainly).model.layers
    assert [layer.kernel for layer in layers if layer.op == "conv2d+add"] == ["plainly"] * sums
    assert {layer.kernel for layer in layers if layer.op == "conv2d"} == {"plainly"}


def test_knobs_are_a_task_of_tuning(mine):
    layer = deploy.compile(DIGITS, "host", schedules=mine).model.layers[3]
    assert layer.why == ("Sums of several channels side by side; task pairs conv2d_1x1_8_to_24_by_8 i8")


def test_installed_packages_bring_schedules(mine):
    class Module:
        own = packed

    register(SCHEDULES, "mine", Module)
    try:
        assert kernels().count("packed") == 1
        register(SCHEDULES, "empty", object)
        with pytest.raises(ExtensionError, match='the extension "empty" defines no layer schedule'):
            kernels()
    finally:
        unregister(SCHEDULES, "mine")
        unregister(SCHEDULES, "empty")
    assert "packed" not in kernels()


FILES = {
    "empty": ("x = 1\n", "the file defines no layer schedule", ""),
    "end": ("raise SystemExit(3)\n", "the file raised an error: SystemExit: 3", ":1: raise SystemExit(3)"),
    "syntax": ("def f(:\n", "the file is not Python: invalid syntax", ":1: def f(:"),
    "raises": (
        "import os\nos.no_such_name\n",
        "the file raised an error: AttributeError: ",
        ":2: os.no_such_name",
    ),
    "op": (PAIRS.replace("conv2d", "conv3d"), 'there is no op "conv3d"', ":5: @lang.layer_schedule"),
    "no_op": (PAIRS.replace('"conv2d"', ""), "it names no op", ":5: "),
    "feature": (
        PAIRS.replace('"conv2d"', '"conv2d", needs=["sse"]'),
        'no core has a feature "sse"',
        ":5",
    ),
    "bits": (PAIRS.replace('"conv2d"', '"conv2d", row_bits=12'), "rows of 12 bits do not exist", ":5: "),
    "group": (
        PAIRS.replace('"conv2d"', '"conv2d", group=0'),
        "a group must have at least 1 element, not 0",
        ":5: ",
    ),
    "alone": (
        PAIRS.replace("(s, knobs)", "(s)"),
        "pairs has 1 parameter, a template needs two",
        ":5: @lang.layer_schedule",
    ),
    "bug": (
        PAIRS.replace("s.unroll(inner)", "s.rollback()"),
        "the schedule pairs failed on conv2d_0: ",
        ":13: ",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_what_is_wrong_with_a_file_is_reported_with_its_line(name, tmp_path):
    text, what, where = FILES[name]
    path = tmp_path / "mine.py"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        kernels(path)
    assert caught.value.what.startswith(what)
    assert caught.value.where.startswith(f"{path}{where}")


def test_what_is_not_a_schedule_is_reported(tmp_path):
    with pytest.raises(InputError, match="there is no such Python file"):
        kernels(tmp_path / "none.py")
    with pytest.raises(InputError, match=r"schedules 3 is neither a Python file nor a lang\.layer_schedule"):
        kernels(3)
