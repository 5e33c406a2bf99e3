"""The crate of a model: Debian's cargo builds, tests and packages it offline; its C links on a bare board."""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sliding_nets import spotter
from tiny_models import TINY, running_sum

import deploy
from platforms.base import AS_FOUND, platform_of
from platforms.board_files import load_board
from platforms.project import App, project_source

DIGITS = Path(deploy.__file__).parent / "demo" / "digits.tflite"
BOARD = "mps2-an386"
MODELS: dict[str, Callable[[], bytes]] = {
    "digits": DIGITS.read_bytes,
    "residual": TINY["residual"],
    "running_sum": running_sum,
    "box": running_sum,  # a word of Rust
    "spotter": spotter,
}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "rows": ("digits", {"stream": True}),
    "caller": ("residual", {"io": "caller"}),
    "states": ("running_sum", {}),
    "keyword": ("box", {}),
    "hops": ("spotter", {"slide": 2}),
    "rows of hops": ("spotter", {"slide": 2, "stream": True}),
}
DEBIAN = "/usr/bin"  # before newer tools of a user


def exported(name: str, folder: Path, board: str = "host", **options: Any) -> Path:
    model = folder / f"{name}.tflite"
    model.write_bytes(MODELS[name]())
    deploy.export(model, "rust", folder / name, board=board, author="Ada Byron", **options)
    return folder / name


@pytest.fixture
def run(tmp_path):
    def run(*argv: object, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
        known = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("CARGO", "RUST"))},
            "PATH": f"{DEBIAN}{os.pathsep}{os.environ['PATH']}",
            "CARGO_HOME": str(tmp_path / "cargo"),
            **environment,
        }
        words = list(map(str, argv))
        return subprocess.run(words, cwd=folder, env=known, capture_output=True, text=True, check=False)

    return run


Runs = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.cc
@pytest.mark.slow
def test_cargo_tests_and_packages_the_crate(tmp_path, run, require_tool):
    """The package is built from its archive, and warnings are errors."""
    require_tool("cargo", "rustc")
    crate, strict = exported("digits", tmp_path), {"RUSTFLAGS": "-D warnings"}
    tested = run("cargo", "test", "--offline", folder=crate, **strict)
    assert tested.returncode == 0, tested.stderr
    assert "test outputs_are_the_reference_s ... ok" in tested.stdout
    assert "test src/lib.rs - (line 5) ... ok" in tested.stdout
    packaged = run("cargo", "package", "--offline", "--allow-dirty", folder=crate, **strict)
    assert packaged.returncode == 0, packaged.stderr
    assert (crate / "target/package/digits-1.0.0.crate").is_file()
    example = run("cargo", "run", "-q", "--offline", "--example", "once", folder=crate, **strict)
    assert example.stdout.startswith("digit: [")


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_reference_s_outputs_come_from_every_kind_of_model(case, tmp_path, run, require_tool):
    require_tool("cargo", "rustc")
    name, options = CASES[case]
    tested = run("cargo", "test", "--offline", folder=exported(name, tmp_path, **options))
    assert tested.returncode == 0, tested.stderr + tested.stdout


USER = {
    "Cargo.toml": """\
[package]
name = "user"
version = "1.0.0"
edition = "2021"

[lib]
crate-type = ["staticlib"]

[dependencies]
digits = { path = "DIGITS" }
running_sum = { path = "SUM" }

[profile.release]
panic = "abort"
lto = true
""",
    "src/lib.rs": """\
#![no_std]

#[panic_handler]
fn stop(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

static mut DIGITS: digits::Digits = digits::Digits::new();

#[no_mangle]
pub extern "C" fn first_score() -> i32 {
    let model = unsafe { &mut DIGITS };
    model.inputs().image.fill(digits::tensors::image::quantize(0.0));
    model.run_in_place().digit[0] as i32
}

#[no_mangle]
pub extern "C" fn sums() -> i32 {
    let mut sum = running_sum::RunningSum::new();
    let mut y = [0.0; 3];
    let mut found = 0;
    for round in 0..4 {
        if round == 2 {
            sum.reset();
        }
        sum.run(running_sum::Inputs { x: &[1.0, 2.0, 3.0] }, running_sum::Outputs { y: &mut y });
        sum = moved(sum);
        found = found * 10 + y[2] as i32;
    }
    found
}

#[inline(never)]
fn moved(model: running_sum::RunningSum) -> running_sum::RunningSum {
    model
}

#[no_mangle]
pub extern "C" fn rounded() -> bool {
    use digits::tensors::digit::{dequantize, quantize};
    quantize(128.5 / 256.0) == 1
        && quantize(-1.0) == -128
        && quantize(f32::INFINITY) == 127
        && quantize(f32::NAN) == -128
        && dequantize(-64) == 0.25
}
""",
    "main.c": """\
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

int32_t first_score(void);
int32_t sums(void);
bool rounded(void);

int main(void)
{
    printf("%d %d %d\\n", (int)first_score(), (int)sums(), rounded());
    return 0;
}
""",
}


@pytest.mark.cc
@pytest.mark.slow
def test_two_crates_in_a_static_library_without_std_link_into_a_c_program(tmp_path, run, require_tool):
    require_tool("cargo", "rustc")
    places = {"DIGITS": exported("digits", tmp_path), "SUM": exported("running_sum", tmp_path)}
    user = tmp_path / "user"
    write(user, USER)
    manifest = (user / "Cargo.toml").read_text()
    for word, place in places.items():
        manifest = manifest.replace(word, str(place))
    (user / "Cargo.toml").write_text(manifest)
    built = run("cargo", "build", "--release", "--offline", folder=user)
    assert built.returncode == 0, built.stderr
    linked = run("gcc", "main.c", "target/release/libuser.a", "-lm", "-o", "main", folder=user)
    assert linked.returncode == 0, linked.stderr
    score, sums, rounded = run(user / "main", folder=user).stdout.split()
    zeros = np.full((1, 8, 8, 1), -128, np.int8)
    assert int(score) == deploy.in_process(DIGITS).run({"image": zeros})["digit"].reshape(-1)[0]
    assert (sums, rounded) == ("3636", "1")


def write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


WRONG = {  # a mistake of a user, and the compiler's error
    "model.run(Inputs { image: &[0; 63] }, outputs);": "E0308",
    "let places = model.inputs(); model.run_in_place(); places.image.fill(0);": "E0499",
    "let found = model.run_in_place(); model.run_in_place(); let _ = found.digit[0];": "E0499",
    "model.run(Inputs { image: &[0; 64] }, outputs);": "",
}


@pytest.mark.cc
@pytest.mark.slow
def test_mistakes_are_errors_of_the_compiler(tmp_path, run, require_tool):
    """A short buffer, an input that is written after its run, an output that a second run overwrites."""
    require_tool("rustc")
    crate = exported("digits", tmp_path)
    compile_it = ("rustc", "--edition", "2021", "--crate-type", "rlib", "--emit", "metadata")
    assert run(*compile_it, "--crate-name", "digits", "src/lib.rs", folder=crate).returncode == 0
    for line, error in WRONG.items():
        (crate / "use.rs").write_text(
            "use digits::*;\n#[allow(unused_variables)]\n"
            f"pub fn go(model: &mut Digits, outputs: Outputs<'_>) {{ {line} }}\n"
        )
        said = run(*compile_it, "use.rs", "--extern", "digits=libdigits.rmeta", folder=crate)
        assert (said.returncode == 0) == (error == ""), said.stderr
        assert error in said.stderr


def built_by_script(crate: Path, run: Runs, **environment: str) -> subprocess.CompletedProcess[str]:
    """What the build script prints. It needs no core library for the target."""
    made = run("rustc", "--edition", "2021", "build.rs", "-o", "build-script", folder=crate)
    assert made.returncode == 0, made.stderr
    (crate / "out").mkdir()
    known = {"HOST": "x86_64-unknown-linux-gnu", "OUT_DIR": str(crate / "out"), **environment}
    return run("./build-script", folder=crate, **known)


CORTEX_M4 = {"TARGET": "thumbv7em-none-eabihf", "CARGO_CFG_TARGET_ARCH": "arm"}


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_the_library_for_a_cortex_m_runs_in_a_bare_program(tmp_path, run, require_tool):
    """In place of the model's sources, the program links what the build script makes: it prints the same."""
    require_tool("rustc", "arm-none-eabi-ar")
    crate, board = exported("digits", tmp_path, board=BOARD), load_board(BOARD)
    done = built_by_script(crate, run, **CORTEX_M4)
    assert done.returncode == 0, done.stderr
    assert f"cargo:rustc-link-search=native={crate}/out\ncargo:rustc-link-lib=static=digits" in done.stdout
    platform, source = platform_of(board), project_source(deploy.compile(DIGITS, BOARD).artifact)
    lines = []
    for folder in ("sources", "library"):
        project = tmp_path / folder
        platform.generate(source, project, board, App.STANDALONE)
        if folder == "library":
            for place in (project / "src/model").glob("*.c"):
                place.unlink()
            shutil.copy(crate / "out/libdigits.a", project)
            link = project / "flags/gcc/link"
            link.write_text(f"{link.read_text()}libdigits.a\n")
        line = platform.open_line(platform.build(project, board, AS_FOUND), board, "qemu")
        out = b""
        while out.count(b"\n") < 1 and (part := line.read(256, 20.0)):
            out += part
        line.close()
        lines.append(out.splitlines()[0])
    assert lines[0].startswith(b"digit: ")
    assert lines[0] == lines[1]


@pytest.mark.arm
@pytest.mark.slow
def test_the_build_script_names_what_is_wrong(tmp_path, run, require_tool):
    require_tool("rustc")
    crate = exported("digits", tmp_path, board=BOARD)
    here = {"TARGET": "x86_64-unknown-linux-gnu", "CARGO_CFG_TARGET_ARCH": "x86_64"}
    said = built_by_script(crate, run, **here)
    assert said.returncode == 1
    assert said.stderr == (
        "error: digits was compiled for cortex-m4, not for x86_64-unknown-linux-gnu; "
        "cargo build --target thumbv7em-none-eabihf\n"
    )
    absent = {"OUT_DIR": str(crate / "out"), "HOST": here["TARGET"], **CORTEX_M4, "CC": "no-such-gcc"}
    said = run("./build-script", folder=crate, **absent)
    assert said.returncode == 1
    assert 'error: "no-such-gcc" did not start' in said.stderr
    soft = {**absent, "CC": "", "TARGET": "thumbv7em-none-eabi"}
    assert run("./build-script", folder=crate, **soft).returncode == 0
    attributes = run("arm-none-eabi-readelf", "-A", "out/digits.o", folder=crate).stdout
    assert "Tag_ABI_VFP_args" not in attributes, "floats are passed in integer registers"


@pytest.mark.parametrize(
    ("board", "options", "problem"),
    [
        ("arduino-uno", {}, "is compiled for avr, for which Rust has no stable target"),
        ("host", {"observe": True}, "counts in variables that threads would share"),
        ("mps3-an547", {"pool": ("RAM=300", "SRAM")}, "works in several memories, and a crate has one"),
    ],
)
def test_models_that_a_crate_cannot_hold_are_unsupported(board, options, problem, tmp_path):
    with pytest.raises(deploy.DeployError, match=problem):
        deploy.export(DIGITS, "rust", tmp_path / "digits", board=board, **options)
    assert not (tmp_path / "digits").exists()


@pytest.mark.parametrize(
    ("board", "target"),
    [
        ("mps2-an386", "thumbv7em-none-eabihf"),
        ("mps3-an547", "thumbv8m.main-none-eabihf"),
        ("nucleo-l073rz", "thumbv6m-none-eabi"),
        ("qemu-riscv32", "riscv32imac-unknown-none-elf"),
    ],
)
def test_a_crate_names_the_target_of_its_core(board, target, tmp_path):
    deploy.export(DIGITS, "rust", tmp_path / "digits", board=board)
    assert f"cargo build --target {target}" in (tmp_path / "digits/build.rs").read_text()
