"""The documentation as a site: it builds without a warning, pages are found, search and filter work."""

import functools
import http.server
import os
import re
import shlex
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from axe_checks import hindrances

from deploy.cli.command import command_parser, load_command
from deploy.demo.__main__ import main as run_demo

_SPAN = re.compile(r"`(deploy [^`]+)`")
_SHELL = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = ("from-x-cube-ai", "from-tflm", "from-edge-impulse")


@pytest.fixture(scope="module")
def site(repo_root, tmp_path_factory, require_package):
    """The site, built as `make docs` builds it: a link that leads nowhere ends the build."""
    require_package("mkdocs", "material")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=repo_root,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def address(site):
    """The site behind a server of this process: search needs one."""
    handler = functools.partial(_Silent, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class _Silent(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_arguments: object) -> None:
        """Says nothing of requests."""


@pytest.fixture
def page(browser):
    page = browser.new_page()
    yield page
    page.close()


@pytest.mark.slow
def test_every_page_of_the_docs_is_in_the_site_and_its_navigation(site, repo_root):
    docs = repo_root / "docs"
    pages = {path.relative_to(docs).with_suffix(".html") for path in docs.rglob("*.md")}
    pages = {path for path in pages if path.parts[0] != "changes"}
    pages |= {Path(f"{name}.html") for name in ("architecture", "contributing", "changes", "security")}
    pages |= {Path("reference/run.html"), Path("python/run.html")}
    home = (site / "index.html").read_text(encoding="utf-8")
    assert len(pages) > 40
    assert [path for path in sorted(pages) if not (site / path).is_file()] == []
    assert [path for path in sorted(pages) if f'href="{path.as_posix()}"' not in home] == []


@pytest.mark.slow
def test_nothing_is_loaded_from_elsewhere(site):
    text = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.html"))
    assert re.findall(r'<(?:script|img|link rel="stylesheet")[^>]*(?:src|href)="https?://[^"]*"', text) == []


# What people type into the search, and the pages of which one must be among the first three results.
SEARCHED = {
    "accelerator": "ethos-u cmsis-nn adding-an-accelerator gemm-npu accelerators",
    "arduino": "arduino",
    "arena": "memory glossary",
    "board": "boards adding-a-board reference/boards python/boards",
    "camera": "apps front-ends own-project",
    "CMake": "packages own-project",
    "CMSIS-NN": "cmsis-nn",
    "cycles": "cycles",
    "dialout": "troubleshooting errors",
    "Ethos-U": "ethos-u",
    "E301": "errors",
    "ESP-IDF": "packages own-project arduino",
    "flash": "memory troubleshooting reference/flash python/flash",
    "Keras": "exporting tutorials/from-python",
    "LSTM": "ops exporting troubleshooting approximate",
    "MFCC": "front-ends",
    "microphone": "apps front-ends memory",
    "ONNX": "exporting ops",
    "OTA": "cartridges",
    "profiling": "cycles tuning levels troubleshooting reference/bench",
    "PyTorch": "exporting tutorials/from-python",
    "quantize": "exporting reference/quantize",
    "RAM": "memory",
    "RTOS": "zephyr",
    "Safety": "evidence requirements",
    "serial port": "line troubleshooting windows",
    "STM32": "from-x-cube-ai boards own-project adding-a-board",
    "streaming": "memory front-ends apps",
    "tuning": "tuning",
    "TVM": "from-tvm",
    "Windows": "windows",
    "Zephyr": "zephyr",
}


@pytest.mark.slow
def test_search_finds_the_right_pages(address, page):
    missed = {}
    page.goto(f"{address}/index.html?q=model")  # as a link to a search; typed letters may be lost early
    page.locator(".md-search-result__link").first.wait_for(state="visible", timeout=10_000)
    field = page.locator("input.md-search__input")
    for words, right in SEARCHED.items():
        page.evaluate("document.querySelector('.md-search-result__list').replaceChildren()")
        field.fill(words)
        field.press("End")  # it searches when a key is released
        links = page.locator(".md-search-result__item > .md-search-result__link")
        try:
            links.first.wait_for(state="visible", timeout=10_000)
        except Exception:  # nothing is found
            missed[words] = {"nothing"}
            continue
        found = [links.nth(number).get_attribute("href") for number in range(min(links.count(), 3))]
        names = {href.partition("?")[0].split(f"{address}/")[-1].partition(".html")[0] for href in found}
        if not names & set(right.split()):
            missed[words] = names
    assert missed == {}


@pytest.mark.slow
def test_the_table_of_boards_is_filtered_by_words(address, page):
    page.goto(f"{address}/boards.html")
    rows = page.locator(".md-typeset table").last.locator("tbody tr:visible")
    everything = rows.count()
    page.get_by_label("Filter the table below").fill("xiao M33")
    few = rows.all_inner_texts()
    assert everything > 80
    assert 0 < len(few) < 5
    assert all("xiao" in text and "cortex-m33" in text for text in few)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_hinders_keyboards_and_screen_readers(address, browser, scheme, require_package):
    require_package("axe_playwright_python")
    page = browser.new_page(color_scheme=scheme)
    for name in ("index", "boards", "cli", "tutorials/first-hour"):
        page.goto(f"{address}/{name}.html")
        assert hindrances(page) == [], name
    page.close()


@pytest.mark.parametrize("name", PAGES)
def test_commands_for_those_who_come_from_elsewhere_are_understood(name, repo_root):
    text = (repo_root / "docs" / f"{name}.md").read_text(encoding="utf-8")
    rows = [line.rsplit(" | ", 1)[1] for line in text.splitlines() if line.startswith("| ") and " | " in line]
    commands = [span for row in rows for span in _SPAN.findall(row)]
    assert len(commands) > 5
    for line in commands:
        _, command, *words = shlex.split(line)
        command_parser(command, load_command(command)).parse_args(words)


@pytest.mark.cc
@pytest.mark.qemu
@pytest.mark.slow
def test_the_first_hour_s_commands_run(repo_root, tmp_path, monkeypatch, run_deploy, require_tool):
    require_tool("arm-none-eabi-gcc")
    text = (repo_root / "docs/tutorials/first-hour.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert run_demo(["--copy"]) == 0
    lines = [line for block in _SHELL.findall(text) for line in block.splitlines()]
    assert len(lines) >= 4
    for line in lines:
        _, *words = shlex.split(line.replace("out.npz", str(tmp_path / "out.npz")))
        said = run_deploy(*words)
        assert said.status == 0, said.err
