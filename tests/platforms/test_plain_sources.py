"""deploy compile -o FOLDER: plain sources that build without Solder, with a test program that is right."""

import subprocess
from pathlib import Path

import pytest
from error_facts import require_facts

STRICT = ("-Wall", "-Wextra", "-Wconversion", "-Werror")
SHARED = ("tflm_hello_world_f32", "mww_vad_v2_int8", "ml_text_class_f32", "coral_split_concat_uint8")


def right_there(folder: Path, name: str) -> None:
    """Builds all C files of the folder, as its README says, and runs the test program."""
    files = sorted(path.name for path in folder.glob("*.c"))
    argv = ["gcc", "-std=c99", "-O2", *STRICT, *files, "-lm", "-o", "test"]
    subprocess.run(argv, cwd=folder, check=True)
    said = subprocess.run([folder / "test"], capture_output=True, text=True, check=True).stdout
    assert said == f"{name}: right\n"


@pytest.mark.cc
@pytest.mark.parametrize("more", [(), ("--stream",), ("--io", "caller"), ("--optimize", "ram")])
def test_the_folder_builds_without_solder(more, model, tmp_path, run_deploy):
    outcome = run_deploy("compile", model, "--board", "host", "-o", tmp_path / "mine", *more)
    assert outcome.status == 0, outcome.err
    assert {path.name for path in (tmp_path / "mine").iterdir()} == {
        "tiny.c",
        "tiny.h",
        "tiny_weights.c",
        "tiny_weights.h",
        "test_tiny.c",
        "CMakeLists.txt",
        "README.md",
    }
    right_there(tmp_path / "mine", "tiny")


@pytest.mark.cc
@pytest.mark.parametrize("name", SHARED)
def test_floats_states_and_several_outputs(name, shared_dir, tmp_path, run_deploy):
    path = tmp_path / "m.tflite"
    path.write_bytes((shared_dir / "models" / name / "model.tflite").read_bytes())
    outcome = run_deploy("compile", path, "--board", "host", "-o", tmp_path / "mine")
    assert outcome.status == 0, outcome.err
    right_there(tmp_path / "mine", "m")


@pytest.mark.cc
def test_a_wrong_output_is_noticed(model, tmp_path, run_deploy):
    run_deploy("compile", model, "--board", "host", "-o", tmp_path / "mine")
    test = tmp_path / "mine" / "test_tiny.c"
    test.write_text(test.read_text().replace("made_up() >> 24", "made_up() >> 25"))
    with pytest.raises(subprocess.CalledProcessError):
        right_there(tmp_path / "mine", "tiny")


@pytest.mark.cc
@pytest.mark.slow
def test_cmake_builds_and_tests_it(model, tmp_path, run_deploy, require_tool):
    require_tool("cmake", "ctest")
    run_deploy("compile", model, "--board", "host", "-o", tmp_path / "mine")
    for argv in (
        ("cmake", "-B", "build"),
        ("cmake", "--build", "build"),
        ("ctest", "--test-dir", "build", "--no-tests=error"),
    ):
        subprocess.run(argv, cwd=tmp_path / "mine", check=True, capture_output=True)


@pytest.mark.arm
def test_the_readme_has_the_options_of_the_board(model, tmp_path, run_deploy):
    folder = tmp_path / "mine"
    run_deploy("compile", model, "--board", "mps2-an386", "-o", folder)
    readme = (folder / "README.md").read_text()
    (line,) = [line for line in readme.splitlines() if line.startswith("    arm-none-eabi-gcc ")]
    subprocess.run(line, cwd=folder, shell=True, check=True)
    assert (folder / "tiny.o").is_file()
    assert max(map(len, readme.splitlines())) <= 120


def test_a_folder_is_written_again_but_nothing_of_others_is_lost(model, tmp_path, run_deploy):
    words = ("compile", model, "--board", "host", "-o")
    assert run_deploy(*words, tmp_path / "mine").status == 0
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    assert run_deploy(*words, tmp_path / "mine").status == 0
    assert (tmp_path / "mine" / "notes.txt").read_text() == "mine"
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "main.c").write_text("")
    require_facts(
        run_deploy(*words, tmp_path / "theirs").err, f"deploy folder empty created {tmp_path}/theirs choose"
    )
    assert [path.name for path in (tmp_path / "theirs").iterdir()] == ["main.c"]


def test_a_name_of_something_else_is_refused(model, tmp_path, run_deploy):
    """It would be a tar under the name of a zip."""
    outcome = run_deploy("compile", model, "--board", "host", "-o", tmp_path / "a.zip")
    require_facts(outcome.err, f"compiled model written {tmp_path}/a.zip {tmp_path}/a.tar {tmp_path}/a")
