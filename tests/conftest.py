"""Fixtures every test may ask for: shared models, tools and packages by name, golden files, a browser."""

import gc
import os
import re
import shutil
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import hypothesis
import pytest
from needs import require_packages, require_programs, skip_or_fail

# A slow machine is not a failure, and CI finds the same cases each time.
hypothesis.settings.register_profile("solder", deadline=None, derandomize=os.environ.get("CI") == "true")
hypothesis.settings.load_profile("solder")

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
ERROR_CODE = re.compile(r"^error\[(E\d{3})\]: ", re.MULTILINE)
GOLDEN = Path(__file__).resolve().parent / "golden"
TOOLS = {"cc": ("cc", "gcc"), "arm": ("arm-none-eabi-gcc",), "qemu": ("qemu-system-arm",)}  # of markers


_COLLECTED_AFTER = 2_000_000  # new objects: plans are many objects and no cycles


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite the files that tests compare with")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """--update-golden runs only the tests that compare with a file."""
    if config.getoption("--update-golden"):
        items[:] = [item for item in items if "generated" in getattr(item, "fixturenames", ())]


def pytest_collection_finish() -> None:
    """Some ten thousand tests and all modules stay to the end: none of them is a cycle to be freed."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECTED_AFTER)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A marker is all that a test says of the tools that it stands for."""
    for mark, tools in TOOLS.items():
        if item.get_closest_marker(mark):
            require_programs(*tools)


@pytest.fixture(scope="session")
def repo_root():
    return ROOT


@pytest.fixture(scope="session")
def shared_dir():
    """Third-party models beside the repository. They are not part of it, so CI may lack them too."""
    if not (SHARED / "models").is_dir():
        pytest.skip("needs ../shared/models, which is not beside this repository")
    return SHARED


@pytest.fixture(scope="session")
def require_tool():
    """require_tool("clang", "ninja"): programs that must be on PATH, besides those of markers."""
    return require_programs


@pytest.fixture(scope="session")
def require_package():
    """require_package("unicorn"): optional Python packages that must be importable."""
    return require_packages


@pytest.fixture(scope="session")
def pseudo_terminals():
    """A bare root without devpts has none."""
    pty = pytest.importorskip("pty", exc_type=ImportError)  # else no POSIX: nothing is missing
    try:
        for end in pty.openpty():
            os.close(end)
    except OSError as error:
        skip_or_fail(f"needs a pseudo terminal ({error}): mount -t devpts devpts /dev/pts")


@pytest.fixture(scope="session")
def require_capstone_of_helium(require_package):
    """The disassembler in a version that knows Helium."""
    require_package("capstone")
    if int(version("capstone").partition(".")[0]) < 6:
        skip_or_fail("needs capstone 6, which knows Helium")


@pytest.fixture
def generated(request):
    """generated(path, text): a file of the repository must hold exactly what the code gives now."""
    update = request.config.getoption("--update-golden")

    def compare(path: Path, text: str) -> None:
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        place = path.relative_to(ROOT)
        assert path.is_file(), f"{place} does not exist; make golden writes it"
        assert text == path.read_text(encoding="utf-8"), f"{place} differs; make golden rewrites it"

    return compare


@pytest.fixture
def golden(request, generated):
    """golden(name, text): text must equal tests/golden/<test module>/<name>."""
    folder = GOLDEN / request.path.stem.removeprefix("test_")
    return lambda name, text: generated(folder / name, text)


@dataclass(frozen=True)
class Outcome:
    """What a command line gave; an error's code apart from its text."""

    status: int
    out: str
    err: str
    code: str = ""  # "E301" of "error[E301]: ..."


@pytest.fixture(scope="session")
def built_firmware(tmp_path_factory):
    """Where commands keep what they have built: once for all tests."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def own_folders(monkeypatch, tmp_path, built_firmware):
    """Neither the user's boards nor the user's cache, and help as wide as in the golden files."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(built_firmware))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.fixture
def tiny_file(tmp_path):
    """tiny_file("conv"): a model of tests/models/tiny_models.py, in the test's folder or one in it."""
    from tiny_models import TINY

    def write(name: str, place: str = "tiny.tflite") -> Path:
        path: Path = tmp_path / place
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(TINY[name]())
        return path

    return write


@pytest.fixture
def model(tiny_file, own_folders):
    """A tiny classifier as a file."""
    return tiny_file("classifier")


@pytest.fixture
def run_deploy(own_folders, capfd):
    """run_deploy("inspect", path, "--json"): the command line, in this process."""
    from deploy.__main__ import main

    def run(*words: object) -> Outcome:
        try:
            status = main([str(word) for word in words])
        except SystemExit as end:  # of argparse
            status = int(end.code or 0)
        out, err = capfd.readouterr()
        found = ERROR_CODE.search(err)
        return Outcome(status, out, ERROR_CODE.sub("error: ", err), found[1] if found else "")

    return run


@pytest.fixture(scope="module")  # its dozen processes would be asked for their time before each later test
def browser(require_tool, require_package):
    require_package("playwright")
    require_tool("chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=_CHROMIUM.split())
        yield found
        found.close()


_CHROMIUM = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
)
