"""The commands of a build, compilers' complaints, and folders with spaces, umlauts and long paths."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from aot.errors import FitError, ToolError
from platforms.build import build_commands, build_project
from platforms.toolchains import Toolchain

GCC = Toolchain("gcc", "gcc", ("gcc",), "1.0")
ZIG = Toolchain("zig", "zig", ("python", "-m", "ziglang", "cc"), "1.0")


@pytest.fixture
def project(tmp_path):
    for name in ("src/main.c", "src/model/tiny.c", "src/runtime/solder.c", "src/notes.txt", "flags/model"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    return tmp_path


def script(text: str) -> Toolchain:
    """A compiler that is a piece of Python; the words of its command line are in `words`."""
    head = "import sys, pathlib; words = sys.argv[1:]; out = pathlib.Path(words[-1])\n"
    return Toolchain("script", "gcc", (sys.executable, "-c", head + text), "1.0")


WORKS = "out.write_text('built')"


def test_every_source_is_compiled_with_the_options_of_its_purpose(project):
    commands = build_commands(project, GCC, "firmware", profile=False)
    assert [" ".join(argv) for argv in commands.compile] == [
        "gcc @flags/gcc/cpu @flags/compile @flags/rest -c src/main.c -o build/main.o",
        "gcc @flags/gcc/cpu @flags/compile @flags/model -c src/model/tiny.c -o build/model/tiny.o",
        "gcc @flags/gcc/cpu @flags/compile @flags/rest -c src/runtime/solder.c -o build/runtime/solder.o",
    ]
    assert " ".join(*commands.finish) == (
        "gcc @flags/gcc/cpu build/main.o build/model/tiny.o build/runtime/solder.o "
        "@flags/gcc/link -o build/firmware"
    )


def test_a_profile_build_has_the_hook_and_a_folder_of_its_own(project):
    commands = build_commands(project, ZIG, "firmware", profile=True)
    assert " ".join(commands.compile[0]) == (
        "python -m ziglang cc @flags/zig/cpu @flags/compile -DSOLDER_LAYER_HOOK @flags/rest "
        "-c src/main.c -o build/profile/main.o"
    )
    assert commands.finish[0][-1] == "build/profile/firmware"


def test_nothing_is_built_twice_until_something_changes(project):
    shown: list[Sequence[str]] = []

    def build() -> int:
        shown.clear()
        build_project(project, script(WORKS), "firmware", profile=False, on_command=shown.append)
        return len(shown)

    assert [build(), build()] == [4, 0]
    (project / "flags/model").write_text("-O3\n")
    assert [build(), build()] == [4, 0]


def test_an_interrupted_build_is_done_again(project):
    chain = script("sys.exit(0 if '-c' in words else 1)")
    with pytest.raises(ToolError):
        build_project(project, chain, "firmware", profile=False)
    assert build_project(project, script(WORKS), "firmware", profile=False).read_text() == "built"


def test_a_compilers_complaint_is_shown_with_its_command(project):
    with pytest.raises(ToolError) as caught:
        build_project(project, script("sys.exit('src/main.c:1: no such thing')"), "firmware", profile=False)
    what, command, *rest = str(caught.value).splitlines()
    assert what == "error: the compiler failed with exit status 1"
    assert command.startswith(f"  {sys.executable} -c ")
    assert rest[-2:] == [f"  in {project}", "  src/main.c:1: no such thing"]


LINKERS = (
    "ld: region `RAM' overflowed by 1234 bytes",
    "ld.lld: error: section '.bss' will not fit in region 'RAM': overflowed by 1234 bytes",
)


@pytest.mark.parametrize("complaint", LINKERS)
def test_a_linker_out_of_memory_says_by_how_much_in_our_words(project, complaint):
    chain = script(f"out.write_text('') if '-c' in words else sys.exit({complaint!r})")
    with pytest.raises(FitError) as caught:
        build_project(project, chain, "firmware", profile=False)
    assert caught.value.what == "the firmware does not fit: region RAM is 1,234 bytes too small"
    assert caught.value.where.splitlines()[0] == str(project)
    assert caught.value.hint.startswith("deploy boards list --fits MODEL")


LEAST_LETTERS = 260  # what Windows takes unless it is told otherwise


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "Über uns & Größe 100 % (neu)"
    while len(str(place)) < LEAST_LETTERS:
        place /= "ein Ordner mit vielen Buchstaben"
    place.mkdir(parents=True)
    return place


@pytest.fixture
def model(folder, repo_root):
    return Path(shutil.copy(repo_root / "deploy/demo/digits.tflite", folder / "Ziffern öäü.tflite"))


@pytest.mark.parametrize(
    ("words", "made"),
    [
        (("compile", "MODEL", "--board", "host", "-o", "FOLDER/a b.tar"), "a b.tar"),
        (("report", "MODEL", "--board", "host", "-o", "FOLDER/Bericht ö.html"), "Bericht ö.html"),
        (("export", "MODEL", "--board", "host", "--as", "cmake", "-o", "FOLDER/p k"), "p k/CMakeLists.txt"),
    ],
    ids=lambda words: words[0] if isinstance(words, tuple) else "",
)
@pytest.mark.slow
def test_files_are_read_and_written_there(words, made, folder, model, run_deploy):
    places = (word.replace("MODEL", str(model)).replace("FOLDER", str(folder)) for word in words)
    said = run_deploy(*places)
    assert said.status == 0, said.err
    assert (folder / made).is_file()


@pytest.mark.cc
@pytest.mark.slow
def test_a_project_is_built_there_by_us_and_by_make_and_runs(folder, model, run_deploy, require_tool):
    require_tool("make")
    archive, project = folder / "a b.tar", folder / "mein Projekt ß"
    for words in (
        ("compile", model, "--board", "host", "-o", archive),
        ("new", archive, project, "--board", "host"),
        ("build", project),
        ("run", project, "--fill", "random"),
    ):
        said = run_deploy(*words)
        assert said.status == 0, said.err
    shutil.rmtree(project / "build")
    done = subprocess.run(["make"], cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.arm
@pytest.mark.slow
def test_firmware_for_an_emulated_board_is_built_and_runs_there(folder, model, run_deploy, require_package):
    require_package("unicorn")
    project = folder / "Firmware ü"
    for words in (
        ("compile", model, "--board", "mps2-an386", "-o", folder / "m.tar"),
        ("new", folder / "m.tar", project, "--board", "mps2-an386"),
        ("build", project),
        ("run", project, "--runner", "unicorn", "--fill", "random"),
    ):
        said = run_deploy(*words)
        assert said.status == 0, said.err
