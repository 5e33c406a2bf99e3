"""Core files: each says what compilers confirm, and a mistake in one is told."""

import itertools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from aot.errors import BoardError
from aot.target import Feature
from boards.cores import Core, core_names, load_core

CORES = tuple(load_core(name) for name in core_names())
# What an Arm compiler defines when it compiles for a core with that feature.
MACROS = {
    Feature.DSP: "__ARM_FEATURE_DSP",
    Feature.FPU: "__ARM_FP",
    Feature.MVE: "__ARM_FEATURE_MVE",
    Feature.UNALIGNED: "__ARM_FEATURE_UNALIGNED",
}
COMPILERS = {"gcc": ("arm-none-eabi-gcc",), "zig": (sys.executable, "-m", "ziglang", "cc")}
CORE = """\
machine = "arm"
has = ["unaligned"]
can_have = ["dsp", "fpu"]
pointer_bytes = 4

[options]
gcc = ["-mcpu=x{no dsp:+nodsp}", "{dsp,fpu:both}"]
"""


def chips() -> Iterator[tuple[Core, frozenset[Feature]]]:
    """Every Arm core with every choice of its optional features."""
    for core in CORES:
        if core.machine == "arm":
            for count in range(len(core.can_have) + 1):
                for chosen in itertools.combinations(sorted(core.can_have, key=str), count):
                    yield core, frozenset(chosen)


@pytest.mark.arm
@pytest.mark.parametrize("family", COMPILERS)
@pytest.mark.parametrize(
    ("core", "chosen"),
    tuple(chips()),
    ids=lambda value: value.name if isinstance(value, Core) else len(value),
)
def test_a_compiler_compiles_for_exactly_the_features_of_a_chip(
    core, chosen, family, require_tool, require_package
):
    require_package("ziglang") if family == "zig" else require_tool("arm-none-eabi-gcc")
    features = core.target(chosen).features
    options = core.compiler_options(family, features)
    defines = subprocess.run(
        (*COMPILERS[family], *options, "-dM", "-E", "-x", "c", "-"),
        input="",
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    defined = {feature for feature, macro in MACROS.items() if re.search(rf"define {macro}\b", defines)}
    assert defined == features


@pytest.mark.parametrize("core", CORES, ids=lambda core: core.name)
def test_a_core_of_a_machine_whose_compilers_are_called_has_options_for_both_families(core):
    both = {"gcc", "zig"} if core.machine in ("arm", "riscv", "host") else set()
    without_header = {"gcc"} if Feature.VECTORS in core.has else set()  # gcc has it since version 14
    assert set(core.options) == both - without_header


@pytest.mark.parametrize("name", [core.name for core in CORES if core.unicorn])
def test_unicorn_has_the_model_that_a_core_names(name):
    arm = pytest.importorskip("unicorn.arm_const")
    assert hasattr(arm, f"UC_CPU_{load_core(name).unicorn}")


@pytest.fixture
def core_file(tmp_path, monkeypatch):
    """Where a core of the user's own is found by the name "mine"."""
    monkeypatch.chdir(tmp_path)
    file = Path("boards/core/mine.toml")
    file.parent.mkdir(parents=True)
    file.write_text(CORE, encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("chosen", "options"),
    [
        ((), ("-mcpu=x+nodsp",)),
        ((Feature.FPU,), ("-mcpu=x+nodsp",)),
        ((Feature.DSP,), ("-mcpu=x",)),
        ((Feature.DSP, Feature.FPU), ("-mcpu=x", "both")),
    ],
)
@pytest.mark.usefixtures("core_file")
def test_options_follow_the_features_and_empty_ones_are_left_out(chosen, options):
    assert load_core("mine").compiler_options("gcc", chosen) == options


MISTAKES = (
    (
        "an unknown key",
        ("pointer_bytes = 4", "pointer_bytes = 4\npointer_bits = 32"),
        'error: key "pointer_bits" is not known - did you mean "pointer_bytes"?\n  FILE\n'
        "  hint: known keys: machine, architecture, has, can_have, pointer_bytes, registers, constant_space, "
        "counter, options, gcc_libraries, cpuid_part, unicorn, aliases, stand_in, timing, pipeline",
    ),
    (
        "an unknown machine",
        ('"arm"', '"risc"'),
        'error: machine "risc" is not known - did you mean "riscv"?\n  FILE\n'
        "  hint: known: arm, riscv, avr, xtensa, host",
    ),
    (
        "a feature that is both",
        ('has = ["unaligned"]', 'has = ["unaligned", "dsp"]'),
        "error: a feature that the core always has cannot be optional: dsp\n  FILE",
    ),
    (
        "a condition that no chip decides",
        ("{no dsp:", "{no mve:"),
        'error: "{no mve:+nodsp}" requires "no mve", which is not an option of this core\n'
        "  FILE, in [options]\n  hint: in gcc; known: dsp, fpu, no dsp, no fpu",
    ),
)


@pytest.mark.parametrize(("change", "message"), [m[1:] for m in MISTAKES], ids=[m[0] for m in MISTAKES])
def test_a_mistake_in_a_core_file_is_reported(core_file, change, message):
    assert change[0] in CORE
    core_file.write_text(CORE.replace(*change), encoding="utf-8")
    with pytest.raises(BoardError) as caught:
        load_core("mine")
    assert str(caught.value).replace(str(core_file), "FILE") == message
