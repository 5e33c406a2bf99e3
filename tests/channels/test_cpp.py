"""The C++ class of a model: compilers accept it and reject wrong buffers; outputs equal those of C."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sliding_nets import spotter
from tiny_models import TINY, running_sum

import deploy
from platforms.cpp_header import class_name

DIGITS = Path(deploy.__file__).parent / "demo" / "digits.tflite"
LIMITED = ("-fno-exceptions", "-fno-rtti", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")
SANITIZED = ("-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
COMPILERS = {"g++": "gcc", "clang++": "clang"}
MODELS: dict[str, Callable[[], bytes]] = {
    "digits": DIGITS.read_bytes,
    "residual": TINY["residual"],
    "running_sum": running_sum,
    "spotter": spotter,
}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("digits", {}),
    "rows": ("digits", {"stream": True}),
    "caller": ("residual", {"io": "caller"}),
    "states": ("running_sum", {}),
    "rows of hops": ("spotter", {"slide": 2, "stream": True}),
}


def exported(name: str, folder: Path, board: str = "host", **options: Any) -> Path:
    model = folder / f"{name}.tflite"
    model.write_bytes(MODELS[name]())
    deploy.export(model, "cpp", folder / name, board=board, **options)
    return folder / name


def called(*argv: object, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(list(map(str, argv)), cwd=folder, capture_output=True, text=True, check=False)


def built(program: Path, *packages: Path, compiler: str = "g++", standard: str = "c++17") -> Path:
    """The program with the packages' models, by compilers that allow nothing and with sanitizers."""
    sources = [source for package in packages for source in sorted((package / "src").glob("*.c"))]
    include = [f"-I{package / folder}" for package in packages for folder in ("include", "src")]
    cc = called(COMPILERS[compiler], "-std=c99", *SANITIZED, *include, "-c", *sources, folder=program.parent)
    assert cc.returncode == 0, cc.stderr
    objects = [f"{source.stem}.o" for source in sources]
    options = (f"-std={standard}", *LIMITED, *SANITIZED, *include)
    made = called(compiler, *options, program, *objects, "-lm", "-o", "program", folder=program.parent)
    assert made.returncode == 0, made.stderr
    return program.parent / "program"


@pytest.mark.cc
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("case", CASES)
def test_the_test_program_has_the_reference_s_outputs(case, compiler, tmp_path, require_tool):
    require_tool(compiler, COMPILERS[compiler])
    name, options = CASES[case]
    package = exported(name, tmp_path, **options)
    program = built(package / "test" / f"test_{name}.cpp", package, compiler=compiler)
    assert called(program, folder=tmp_path).stdout == f"{name}: right\n"


@pytest.mark.cc
@pytest.mark.parametrize("standard", ["c++11", "c++20"])
def test_older_and_newer_standards_take_it(standard, tmp_path, require_tool):
    """Arduino's core for AVR compiles sketches as C++11."""
    require_tool("g++")
    package = exported("digits", tmp_path)
    program = built(package / "test/test_digits.cpp", package, standard=standard)
    assert called(program, folder=tmp_path).stdout == "digits: right\n"


TWO_MODELS = """\
#include <array>
#include <stdio.h>

#include <digits.hpp>
#include <running_sum.hpp>

using solder::Digits;
using solder::RunningSum;
using solder::Status;

static_assert(Digits::Tensor::Digit::quantize(128.5f / 256) == 1, "129 - 128, away from zero");
static_assert(Digits::Tensor::Image::quantize(-1.0f) == -128, "saturates");
static_assert(Digits::Tensor::Image::quantize(1e30f) == 127, "saturates");
static_assert(Digits::Tensor::Digit::dequantize(-64) == 0.25f, "64 / 256");
static_assert(solder::nearest(0.49999997f, -9, 9) == 0, "no sum of two floats is rounded");
static_assert(solder::nearest(-1.5f, -9, 9) == -2, "away from zero");

static uint8_t given[Digits::arena_bytes + Digits::arena_align];

int main()
{
    solder::WithArena<RunningSum> sum;
    const std::array<float, 3> x = {1.0f, 2.0f, 3.0f};
    std::array<float, 3> y = {};

    for (int i = 0; i < 4; i++) {
        if (i == 2 && sum.reset() != Status::ok) {
            return 1;
        }
        if (sum.run({x}, {y}) != Status::ok) {
            return 2;
        }
        printf("%g ", static_cast<double>(y[2]));
    }

    static Digits::Arena memory;
    Digits digits(memory);

    for (auto &pixel : digits.inputs().image) {
        pixel = Digits::Tensor::Image::quantize(0.0f);
    }
    if (digits.run() != Status::ok) {
        return 3;
    }
    printf("%d ", digits.outputs().digit[0]);

    const size_t odd = reinterpret_cast<size_t>(&given[0]) % Digits::arena_align == 0 ? 1 : 0;
    Digits misplaced(solder::Span<uint8_t, Digits::arena_bytes>::at(&given[odd]));

    printf("%d\\n", misplaced.run() == Status::misaligned);
    return 0;
}
"""


@pytest.mark.cc
def test_two_models_with_given_and_own_memory(tmp_path, require_tool):
    """A state adds up until reset; an arena at a wrong address is an error."""
    require_tool("g++")
    (tmp_path / "two.cpp").write_text(TWO_MODELS)
    program = built(tmp_path / "two.cpp", exported("digits", tmp_path), exported("running_sum", tmp_path))
    *sums, zero, misaligned = called(program, folder=tmp_path).stdout.split()
    assert sums == ["3", "6", "3", "6"]
    image = np.full((1, 8, 8, 1), -128, np.int8)
    expected = deploy.in_process(DIGITS).run({"image": image})
    assert int(zero) == expected["digit"].reshape(-1)[0]
    assert misaligned == "1"


HOPS = """\
#include <stdio.h>

#include <spotter.hpp>

int main()
{
    static solder::WithArena<solder::Spotter> model;
    int hops = 0;

    for (int stream = 0; stream < 2; stream++) {
        do {
            hops++;
        } while (model.push_rows({model.inputs().rows}, model.outputs()) == solder::Status::more_rows);
        if (model.reset() != solder::Status::ok) {
            return 1;
        }
    }
    printf("%d\\n", hops);
    return 0;
}
"""


@pytest.mark.cc
def test_a_window_is_full_after_its_hops_and_again_after_a_reset(tmp_path, require_tool):
    require_tool("g++")
    (tmp_path / "hops.cpp").write_text(HOPS)
    program = built(tmp_path / "hops.cpp", exported("spotter", tmp_path, slide=2))
    assert called(program, folder=tmp_path).stdout == "50\n", "25 hops of 2 rows, twice"


USE = """\
#include <digits.hpp>

solder::Status use(solder::Digits &model);
solder::Status use(solder::Digits &model)
{
    static int8_t image[64];
    static int8_t digit[10];

    return model.run({image}, {digit});
}
"""
WRONG = {  # a mistake: what is written, and instead of what
    "a short buffer": ("image[63]", "image[64]"),
    "another element type": ("uint8_t image", "int8_t image"),
    "a constant output": ("static const int8_t digit[10] = {}", "static int8_t digit[10]"),
    "a pointer": ("{&image[0]}", "{image}"),
    "an ignored status": ("model.run({image}, {digit}); return {}", "return model.run({image}, {digit})"),
    "a second object in the same memory": ("solder::Digits(model).run(", "model.run("),
}  # fmt: skip


@pytest.mark.cc
@pytest.mark.parametrize("mistake", [None, *WRONG])
def test_mistakes_are_errors_of_the_compiler(mistake, digits, tmp_path, require_tool):
    require_tool("g++")
    written, instead = WRONG[mistake] if mistake else ("", "")
    assert instead in USE
    (tmp_path / "use.cpp").write_text(USE.replace(instead, written) if mistake else USE)
    options = ("-std=c++17", *LIMITED, f"-I{digits / 'include'}", "-fsyntax-only")
    said = called("g++", *options, "use.cpp", folder=tmp_path)
    assert (said.returncode == 0) == (mistake is None), said.stderr


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    return exported("digits", tmp_path_factory.mktemp("cpp"))


@pytest.mark.arm
@pytest.mark.parametrize("optimize", ["-O2", "-Os"])
def test_the_class_adds_no_function_of_a_library_on_a_board(optimize, tmp_path, require_tool):
    """No heap, no exceptions, no guards of static variables: C's functions are all it calls."""
    require_tool("arm-none-eabi-g++", "arm-none-eabi-nm")
    package = exported("digits", tmp_path, board="mps2-an386")
    (tmp_path / "use.cpp").write_text(
        "#include <digits.hpp>\nstatic solder::WithArena<solder::Digits> model;\n"
        "int32_t use(void);\nint32_t use(void) { return static_cast<int32_t>(model.run()); }\n"
    )
    core = ("-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard")
    argv = ("arm-none-eabi-g++", *core, "-std=c++17", optimize, *LIMITED, f"-I{package / 'include'}")
    made = called(*argv, "-c", "use.cpp", folder=tmp_path)
    assert made.returncode == 0, made.stderr
    assert called("arm-none-eabi-nm", "-u", "use.o", folder=tmp_path).stdout.split() == ["U", "digits_run"]


# The part of Mbed OS's header that the example uses; a program of a test ends after its second run.
MBED = """\
#pragma once
#include <stdio.h>
#include <stdlib.h>
struct Milliseconds { unsigned long long count; };
constexpr Milliseconds operator""s(unsigned long long count) { return {count * 1000}; }
namespace ThisThread {
inline void sleep_for(Milliseconds time)
{
    static int calls;
    if (time.count == 1000 && ++calls == 2) exit(0);
}
}
"""
MBED_FLAGS = ("-std=gnu++14", "-fno-exceptions", "-fno-rtti", "-Wall", "-Wextra", "-Werror", "-isystem", ".")


@pytest.mark.arm
@pytest.mark.cc
@pytest.mark.parametrize("case", CASES)
def test_the_example_for_mbed_compiles_and_runs(case, tmp_path, require_tool):
    require_tool("g++", "arm-none-eabi-g++")
    name, options = CASES[case]
    (tmp_path / "mbed.h").write_text(MBED)
    package = exported(name, tmp_path, board="mps2-an386", **options)
    assert {"examples/*", "test/*"} == {*(package / ".mbedignore").read_text().split()}
    example = package / "examples/mbed/main.cpp"
    include = f"-I{package / 'include'}"
    core = ("-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard")
    made = called("arm-none-eabi-g++", *core, *MBED_FLAGS, include, "-c", example, folder=tmp_path)
    assert made.returncode == 0, made.stderr
    example.rename(tmp_path / "main.cpp")
    package.rename(tmp_path / "of the board")
    sources = sorted((exported(name, tmp_path, **options) / "src").glob("*.c"))
    cc = called("gcc", "-std=c99", include, f"-I{package / 'src'}", "-c", *sources, folder=tmp_path)
    assert cc.returncode == 0, cc.stderr
    objects = [f"{source.stem}.o" for source in sources]
    made = called("g++", *MBED_FLAGS, include, "main.cpp", *objects, "-lm", "-o", "program", folder=tmp_path)
    assert made.returncode == 0, made.stderr
    lines = called("./program", folder=tmp_path).stdout.splitlines()
    assert len(lines) == 2
    assert not any("failed" in line for line in lines)
    if case == "plain":
        expected = deploy.in_process(DIGITS).run({"image": np.zeros((1, 8, 8, 1), np.int8)})["digit"]
        assert lines == [f"digit: {' '.join(map(str, expected.reshape(-1)))}"] * 2


def test_names_of_classes_differ_as_names_of_models_do():
    names = ("kws", "keyword_spotting", "kws_v2_1", "kws_v21", "kws_v2x1", "span", "inputs")
    assert [class_name(name) for name in names] == [
        "Kws", "KeywordSpotting", "KwsV2_1", "KwsV21", "KwsV2x1", "SpanModel", "InputsModel",
    ]  # fmt: skip
