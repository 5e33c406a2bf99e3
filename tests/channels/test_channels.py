"""deploy export: a package is whole, its channel's own tool takes it, and it builds without Solder."""

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest
from cmsis_pack_manager import Cache
from error_facts import require_facts
from jsonschema import Draft7Validator
from referencing import Registry, Resource
from sliding_nets import spotter

import deploy
from platforms.arduino_tools import builder_commands
from platforms.channels import CHANNELS

DIGITS = Path(deploy.__file__).parent / "demo" / "digits.tflite"
STRICT = ("-Wall", "-Wextra", "-Wconversion", "-Werror")
BOARDS = {
    **dict.fromkeys(CHANNELS, "host"),
    "arduino": "arduino-uno",
    "esp-idf": "feather-s2",
    "cmsis-pack": "mps2-an386",
    "zephyr-module": "mps2-an386",
    "stm32cube": "nucleo-f446re",
}
# Knows which licences there are without asking a server.
PIO = """
import sys
from platformio.package.manifest.schema import ManifestSchema
ManifestSchema.load_spdx_licenses = staticmethod(lambda: {"licenses": [{"licenseId": "Apache-2.0"}]})
from platformio.__main__ import main
sys.exit(main())
"""

# The smallest platform for this computer: PlatformIO's own compilers, and a program of what it finds.
PIO_PLATFORM = {
    "platform.json": '{"name": "native", "version": "1.0.0", "title": "Native"}',
    "platform.py": "from platformio.public import PlatformBase\n\n"
    "class NativePlatform(PlatformBase):\n    pass\n",
    "builder/main.py": "from SCons.Script import Default, DefaultEnvironment\n\n"
    "Default(DefaultEnvironment().BuildProgram())\n",
}


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The digits model as a folder for a channel, made once."""
    made: dict[str, Path] = {}

    def folder(channel: str) -> Path:
        if channel not in made:
            made[channel] = tmp_path_factory.mktemp("exported") / "digits"
            deploy.export(DIGITS, channel, made[channel], board=BOARDS[channel], author="Ada Byron")
        return made[channel]

    return folder


def ran(*argv: object, folder: Path, **environment: str) -> str:
    words = list(map(str, argv))
    done = subprocess.run(
        words, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def beside_python(program: str) -> Path:
    return Path(sys.executable).parent / program


@pytest.mark.slow
@pytest.mark.parametrize("channel", CHANNELS)
def test_a_package_has_example_readme_licence_and_version(channel, exported):
    folder = exported(channel)
    texts = {
        path.relative_to(folder).as_posix(): path.read_text(errors="replace")
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert texts["README.md"].startswith("# digits 1.0.0\n")
    assert "SPDX-License-Identifier: Apache-2.0" in texts["LICENSE"]
    programs = [text for name, text in texts.items() if name.endswith((".c", ".cpp", ".ino", ".rs"))]
    assert any("digits_run(&in, &out" in text or "model.run(" in text for text in programs)
    named = re.findall(r"`((?:examples?|test|samples|App|test_package)[\w/.]*)`", texts["README.md"])
    assert named or "File, Examples" in texts["README.md"]
    assert all(any(path.startswith(name) for path in texts) for name in named)
    assert max(len(line) for line in texts["README.md"].splitlines()) <= 130


def test_the_same_model_gives_the_same_file(tmp_path, run_deploy):
    for name in ("a.zip", "b.zip"):
        said = run_deploy(
            "export",
            DIGITS,
            "--board",
            "host",
            "--as",
            "cmake",
            "-o",
            tmp_path / name,
            "--package-version",
            "2.0.1",
        )
        assert said.status == 0, said.err
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()
    names = zipfile.ZipFile(tmp_path / "a.zip").namelist()
    assert "digits/CMakeLists.txt" in names
    assert all(name.startswith("digits/") for name in names)


def test_an_archive_and_its_model_give_the_same_package(tmp_path, run_deploy):
    run_deploy("compile", DIGITS, "--board", "host", "-o", tmp_path / "digits.tar")
    words = ("--as", "single-file", "--json", "-o")
    facts = json.loads(run_deploy("export", tmp_path / "digits.tar", *words, tmp_path / "a").out)
    assert facts["files"] == ["LICENSE", "README.md", "digits.h", "example.c"]
    run_deploy("export", DIGITS, "--board", "host", *words, tmp_path / "b")
    for name in facts["files"]:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.cc
@pytest.mark.parametrize("more", [{}, {"stream": True}, {"io": "caller"}])
def test_a_single_file_builds_without_warnings(more, tmp_path):
    deploy.export(DIGITS, "single-file", tmp_path / "x", board="host", **more)
    ran("gcc", "-std=c99", "-O2", *STRICT, "example.c", "-lm", "-o", "example", folder=tmp_path / "x")
    assert ran("./example", folder=tmp_path / "x") == "digits: right\n"


@pytest.mark.cc
def test_an_example_of_hops_reads_no_more_rows_than_it_has(tmp_path):
    """The window is full after more rows; the outputs of the first hop are compared."""
    (tmp_path / "spotter.tflite").write_bytes(spotter())
    folder = tmp_path / "x"
    deploy.export(tmp_path / "spotter.tflite", "single-file", folder, board="host", slide=2, stream=True)
    sanitized = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    ran("gcc", "-std=c99", "-O1", *STRICT, *sanitized, "example.c", "-lm", "-o", "example", folder=folder)
    assert ran("./example", folder=folder) == "spotter: right\n"
    assert "_MORE_ROWS until the last" in (folder / "README.md").read_text()


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize(("channel", "suffix"), [("cmake", "c"), ("cpp", "cpp")])
def test_cmake_builds_tests_installs_and_is_found(channel, suffix, exported, tmp_path, require_tool):
    require_tool("cmake", "ctest", "g++")
    build, prefix, user = tmp_path / "build", tmp_path / "installed", tmp_path / "user"
    ran("cmake", "-S", exported(channel), "-B", build, f"-DCMAKE_INSTALL_PREFIX={prefix}", folder=tmp_path)
    ran("cmake", "--build", build, "--target", "install", folder=tmp_path)
    ran("ctest", "--test-dir", build, "--no-tests=error", folder=tmp_path)
    user.mkdir()
    program = exported(channel) / f"test/test_digits.{suffix}"
    (user / f"main.{suffix}").write_text(program.read_text())
    (user / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.14)\nproject(user C CXX)\nfind_package(digits 1.0 REQUIRED)\n"
        f"add_executable(user main.{suffix})\ntarget_link_libraries(user digits::digits)\n"
    )
    ran("cmake", "-B", "build", f"-DCMAKE_PREFIX_PATH={prefix}", folder=user)
    ran("cmake", "--build", "build", folder=user)
    assert ran("build/user", folder=user) == "digits: right\n"


@pytest.mark.slow
def test_platformio_packs_it(exported, tmp_path, require_package):
    require_package("platformio")
    for channel in ("platformio", "arduino"):
        said = ran(
            sys.executable, "-c", PIO, "pkg", "pack", exported(channel), "-o", tmp_path, folder=tmp_path
        )
        assert "Wrote a tarball" in said
    assert (tmp_path / "digits-1.0.0.tar.gz").is_file()


@pytest.fixture
def platformio_home(tmp_path, require_package):
    """PlatformIO's own folder with what it would fetch: SCons, and a platform for this computer."""
    require_package("platformio", "SCons")
    from platformio.dependencies import get_core_dependencies

    home = tmp_path / "home"
    tool = get_core_dependencies()["tool-scons"].lstrip("~")
    described = json.dumps({"name": "tool-scons", "version": tool})
    scons = {"package.json": described, "scons.py": "from SCons.Script import main\n\nmain()\n"}
    _as_installed(home / "packages/tool-scons", "tool", tool, scons)
    _as_installed(home / "platforms/native", "platform", "1.0.0", PIO_PLATFORM)
    return home


def _as_installed(place: Path, kind: str, version: str, files: dict[str, str]) -> None:
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    spec = {"owner": "platformio", "id": None, "name": place.name, "requirements": None, "uri": None}
    facts = {"type": kind, "name": place.name, "version": version, "spec": spec}
    (place / ".piopm").write_text(json.dumps(facts))


@pytest.mark.cc
@pytest.mark.slow
def test_platformio_finds_and_builds_the_library(exported, platformio_home, tmp_path):
    """PlatformIO itself reads library.json, finds the header's library, compiles and links."""
    library, project = exported("platformio"), tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (project / "src/main.c").write_text((library / "examples/once/main.c").read_text())
    (project / "platformio.ini").write_text(
        f"[env:native]\nplatform = native\nlib_deps = symlink://{library}\n"
    )
    home = {"PLATFORMIO_CORE_DIR": str(platformio_home), "PLATFORMIO_SETTING_ENABLE_TELEMETRY": "no"}
    said = ran(beside_python("pio"), "run", "-d", project, folder=project, **home)
    assert "|-- digits @ 1.0.0" in said
    assert ran(project / ".pio/build/native/program", folder=project) == "digits: right\n"


@pytest.mark.cc
def test_platformio_s_flags_and_folders_build_it(exported, tmp_path):
    """As its `native` platform does: all of srcDir, then the example with the library's includeDir."""
    folder = exported("platformio")
    library = json.loads((folder / "library.json").read_text())
    build, (example,) = library["build"], library["examples"]
    sources = sorted((folder / build["srcDir"]).glob("*.c"))
    main = folder / example["base"] / example["files"][0]
    include = f"-I{folder / build['includeDir']}"
    flags = [flag for flag in build["flags"] if flag != "-lm"]
    ran("gcc", *flags, include, *sources, main, "-lm", "-o", tmp_path / "once", folder=folder)
    assert ran(tmp_path / "once", folder=tmp_path) == "digits: right\n"
    assert (folder / build["includeDir"] / library["headers"]).is_file()


@pytest.mark.slow
def test_espressif_s_tool_packs_the_component(exported, tmp_path, require_package):
    require_package("idf_component_manager")
    words = ("component", "pack", "--name", "digits", "--project-dir", exported("esp-idf"))
    ran(beside_python("compote"), *words, "--dest-dir", tmp_path, folder=tmp_path)
    assert {path.name for path in tmp_path.glob("*.tgz")} >= {"digits_1.0.0.tgz"}


@pytest.mark.cc
@pytest.mark.slow
def test_esp_idf_builds_the_example_for_this_computer(tmp_path, require_tool):
    """IDF's target `linux` takes the component by its manifest, compiles it and runs the example."""
    idf = os.environ.get("IDF_PATH")
    if not idf:
        pytest.skip("needs Espressif's IDF: IDF_PATH is not set")
    require_tool("cmake", "ninja")
    deploy.export(DIGITS, "esp-idf", tmp_path / "digits", board="host")
    python = Path(os.environ.get("IDF_PYTHON_ENV_PATH", sys.prefix)) / "bin" / "python"
    example, build = tmp_path / "digits/examples/once", tmp_path / "build"
    own = (f"-DPYTHON={python}", "-DPYTHON_DEPS_CHECKED=1", "-DIDF_TARGET=linux", "-DCOMPONENTS=main")
    ran("cmake", "-S", example, "-B", build, "-G", "Ninja", *own, folder=tmp_path, IDF_COMPONENT_MANAGER="1")
    ran("ninja", "-C", build, folder=tmp_path)
    with subprocess.Popen(build / "digits_once.elf", stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        said = next((line for line in running.stdout if "digits: " in line), "")
        running.kill()  # the scheduler goes on when app_main has returned
    assert "digits: right" in said


@pytest.mark.cc
@pytest.mark.slow
def test_conan_creates_and_tests_the_package(exported, tmp_path, require_package, require_tool):
    require_package("conan")
    require_tool("cmake")
    home, conan = {"CONAN_HOME": str(tmp_path)}, beside_python("conan")
    ran(conan, "profile", "detect", folder=tmp_path, **home)
    said = ran(conan, "create", exported("conan"), "--build-test=missing", folder=tmp_path, **home)
    assert "digits: right" in said


def test_a_pack_names_every_file_that_it_holds(tmp_path):
    pack = tmp_path / "Ada.digits.1.0.0.pack"
    deploy.export(DIGITS, "cmsis-pack", pack, board="mps2-an386", author="Ada")
    with zipfile.ZipFile(pack) as archive:
        names = set(archive.namelist())
        root = ElementTree.fromstring(archive.read("Ada.digits.pdsc"))
        archive.extractall(tmp_path / "unpacked")
    named = {str(file.get("name")) for file in root.iter("file")} | {str(root.findtext("license"))}
    assert names == named | {"Ada.digits.pdsc"}
    (component,) = root.iter("component")
    assert component.get("condition") in {each.get("id") for each in root.iter("condition")}
    (tmp_path / "data").mkdir()
    cache = Cache(True, False, json_path=str(tmp_path / "data"), data_path=str(tmp_path / "data"))
    cache.add_pack_from_path(str(tmp_path / "unpacked" / "Ada.digits.pdsc"))  # raises what it cannot read


def test_a_pack_keeps_to_the_schema_of_packs(exported, require_tool):
    schema = os.environ.get("PACK_XSD")
    if not schema:
        pytest.skip("needs the schema of CMSIS-Packs: PACK_XSD is not set")
    require_tool("xmllint")
    ran("xmllint", "--noout", "--schema", schema, "AdaByron.digits.pdsc", folder=exported("cmsis-pack"))


def test_an_arduino_library_keeps_the_rules_of_arduino_lint(exported):
    folder = exported("arduino")
    properties = dict(line.split("=", 1) for line in (folder / "library.properties").read_text().splitlines())
    assert re.fullmatch(r"[a-zA-Z][\w.-]{0,31}", properties["name"])
    assert re.fullmatch(r"\d+\.\d+\.\d+", properties["version"])
    assert re.fullmatch(r"https?://\S+", properties["url"])
    assert all(properties[key] for key in ("author", "maintainer", "sentence", "paragraph", "includes"))
    assert properties["category"] == "Data Processing"
    assert properties["architectures"] == "avr"
    assert {path.name for path in folder.iterdir()} == {
        *("README.md", "LICENSE", "library.properties", "src", "examples"),
    }


def test_an_arduino_library_keeps_the_schemas_of_arduino_lint(exported):
    folder = os.environ.get("ARDUINO_LINT_SCHEMAS")
    if not folder:
        pytest.skip("needs arduino-lint's etc/schemas: ARDUINO_LINT_SCHEMAS is not set")
    schemas = [json.loads(path.read_text()) for path in Path(folder).glob("*.json")]
    known = Registry().with_resources((each["$id"], Resource.from_contents(each)) for each in schemas)
    (strict,) = (each for each in schemas if each["$id"].endswith("library-properties-strict-schema.json"))
    lines = (exported("arduino") / "library.properties").read_text().splitlines()
    properties = dict(line.split("=", 1) for line in lines)
    found = Draft7Validator(strict, registry=known).iter_errors(properties)
    assert [error.message for error in found] == []


@pytest.mark.slow
def test_arduino_s_tools_build_the_sketch_for_an_avr(exported, tmp_path, require_tool):
    require_tool("arduino-builder", "avr-gcc")
    library = tmp_path / "digits"
    library.symlink_to(exported("arduino"))
    build = tmp_path / "build"
    commands = builder_commands("digits", "arduino:avr:uno", "examples/once", str(build), False).all
    *_, argv = commands
    build.mkdir()
    ran(*[str(tmp_path) if word == "build/sketchbook" else word for word in argv], folder=library)
    assert (build / "once.ino.elf").is_file()


@pytest.mark.arm
def test_cube_s_options_build_the_middleware_without_warnings(exported, tmp_path):
    place = exported("stm32cube")
    middleware = place / "Middlewares/Third_Party/digits"
    sources = [*sorted((middleware / "Src").glob("*.c")), place / "App/app_digits.c"]
    core = ("-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard")
    includes = (f"-I{middleware / 'Inc'}", f"-I{place / 'App'}")
    ran("arm-none-eabi-gcc", *core, "-std=gnu11", "-Os", *STRICT, *includes, "-c", *sources, folder=tmp_path)
    assert (tmp_path / "app_digits.o").is_file()


def test_a_zephyr_module_has_what_its_files_name(exported):
    folder = exported("zephyr-module")
    listed = re.findall(r"^    (src/\w+\.c)$", (folder / "CMakeLists.txt").read_text(), re.MULTILINE)
    assert listed
    assert all((folder / name).is_file() for name in listed)
    assert "kconfig: Kconfig" in (folder / "zephyr/module.yml").read_text()
    assert "CONFIG_MODEL_DIGITS=y" in (folder / "samples/digits/prj.conf").read_text()
    assert "config MODEL_DIGITS" in (folder / "Kconfig").read_text()
    assert "digits: right" in (folder / "samples/digits/sample.yaml").read_text()
    assert 'printf("digits: right\\n")' in (folder / "samples/digits/src/main.c").read_text()


def test_a_pack_for_another_kind_of_processor_is_refused(tmp_path, run_deploy):
    said = run_deploy("export", DIGITS, "--board", "host", "--as", "cmsis-pack", "-o", tmp_path / "x")
    assert said.status == 1
    assert "CMSIS-Packs are for Arm's cores, digits is compiled for host\n  digits\n" in said.err
    assert not (tmp_path / "x").exists()


def test_a_name_of_another_kind_of_file_is_refused(tmp_path, run_deploy):
    said = run_deploy("export", DIGITS, "--board", "host", "--as", "conan", "-o", tmp_path / "x.tgz")
    require_facts(said.err, f"channel writes folder {tmp_path}/x.tgz {tmp_path}/x.zip {tmp_path}/x")


def test_a_folder_with_something_in_it_is_left_alone(tmp_path, run_deploy):
    (tmp_path / "mine.txt").write_text("mine")
    said = run_deploy("export", DIGITS, "--board", "host", "--as", "cmake", "-o", tmp_path)
    assert said.status == 1
    assert "the folder is not empty" in said.err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_board_for_what_is_compiled_is_refused(tmp_path, run_deploy):
    run_deploy("compile", DIGITS, "--board", "host", "-o", tmp_path / "digits.tar")
    said = run_deploy(
        "export", tmp_path / "digits.tar", "--board", "host", "--as", "cmake", "-o", tmp_path / "x"
    )
    require_facts(said.err, "--board effect model already digits.tflite")


@pytest.mark.parametrize(
    ("option", "word", "sentence"),
    [
        ("--package-version", "1.0", '"1.0" is not a version such as 1.2.0'),
        ("--license", "GPL 2", '"GPL 2" is not an SPDX identifier such as MIT'),
        ("--url", "kws", '"kws" is not a URL such as https://example.com/kws'),
    ],
)
def test_what_a_package_says_of_itself_is_checked(option, word, sentence, tmp_path, run_deploy):
    said = run_deploy(
        "export", DIGITS, "--board", "host", "--as", "cmake", "-o", tmp_path / "x", option, word
    )
    assert said.status == 2
    assert sentence in said.err


@pytest.mark.qemu
@pytest.mark.slow
def test_zephyr_builds_the_sample_and_it_is_right(tmp_path, run_deploy, require_tool):
    """For the board of Zephyr's tests that QEMU emulates; the schema of its samples is twister's."""
    tree = os.environ.get("ZEPHYR_BASE")
    if not tree:
        pytest.skip("needs Zephyr's tree: ZEPHYR_BASE is not set")
    require_tool("west", "ninja")
    archive, module = tmp_path / "digits.tar", tmp_path / "module"
    assert run_deploy("compile", DIGITS, "--board", "mps2-an385", "-o", archive).status == 0
    assert run_deploy("export", archive, "--as", "zephyr-module", "-o", module).status == 0
    build = tmp_path / "build"
    words = ("-b", "mps2/an385", "-d", str(build), str(module / "samples/digits"))
    ran("west", "build", *words, "--", f"-DZEPHYR_EXTRA_MODULES={module}", folder=tmp_path)
    emulator = ("qemu-system-arm", "-M", "mps2-an385", "-nographic", "-monitor", "none")
    with subprocess.Popen(
        [*emulator, "-kernel", str(build / "zephyr/zephyr.elf")], stdout=subprocess.PIPE, text=True
    ) as board:
        assert board.stdout is not None
        said = next(line for line in board.stdout if line.startswith("digits: "))
        board.kill()
    assert said.strip() == "digits: right"
