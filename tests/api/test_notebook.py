"""Answers in a notebook: a kernel executes cells, and what they show is tables, pages and pictures."""

from collections.abc import Mapping
from pathlib import Path

import pytest

import deploy

DIGITS = Path(deploy.__file__).parent / "demo" / "digits.tflite"
# Each cell ends with what it shows: words of its HTML.
CELLS: Mapping[str, tuple[str, ...]] = {
    'deploy.inspect(DIGITS, board="mps2-an386")': ('monospace">digits', "bytes of RAM", "<svg"),
    'compiled = deploy.compile(DIGITS, board="host")\ncompiled': ('monospace">digits', "bytes of RAM"),
    "with deploy.connect(compiled, profile=True) as device:\n"
    "    ran = device.run(IMAGE)\n"
    "    timed = device.time(2, 1)\n"
    "    layers = device.profile(IMAGE)\n"
    "ran": ("<pre style=", "digit"),
    "timed": ("ms a run, of 2 together",),
    "layers": ('monospace">layer', "conv2d"),
    'deploy.report(DIGITS, "mps2-an386")': ("<iframe srcdoc=", "&lt;svg"),
    'deploy.boards("mps2-an386")': ("<pre style=", "mps2-an386"),
}
_BEGIN = f"""
import numpy as np
import deploy
DIGITS, IMAGE = {str(DIGITS)!r}, np.zeros((1, 8, 8, 1), np.int8)
"""

pytestmark = [
    pytest.mark.cc,
    pytest.mark.slow,
    pytest.mark.usefixtures("own_folders"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*:ResourceWarning"),
]


@pytest.fixture(scope="module")
def shown(tmp_path_factory, require_package):
    """The outputs of each cell, and of one that goes wrong."""
    require_package("nbclient", "ipykernel")
    import nbformat
    from nbclient import NotebookClient

    folder = tmp_path_factory.mktemp("notebook")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("JUPYTER_RUNTIME_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR", "XDG_CACHE_HOME"):
            patch.setenv(name, str(folder / name))
        sources = (_BEGIN, *CELLS, 'deploy.compile("absent.tflite", board="host")')
        make = nbformat.v4
        book = make.new_notebook(cells=[make.new_code_cell(each) for each in sources])
        NotebookClient(book, timeout=120, kernel_name="python3", allow_errors=True).execute(cwd=str(folder))
    _, *cells = book.cells
    return dict(zip((*CELLS, "wrong"), (cell.outputs for cell in cells), strict=True))


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.splitlines()[-1])
def test_a_cell_shows_its_answer_as_a_page(cell, shown):
    (output,) = shown[cell]  # and no word of progress beside it
    assert output.output_type == "execute_result"
    for words in CELLS[cell]:
        assert words in output.data["text/html"]


def test_what_goes_wrong_is_reported_in_the_caller_s_words(shown):
    (output,) = shown["wrong"]
    assert output.output_type == "error"
    assert output.evalue.splitlines()[1] == "  absent.tflite"


def test_a_browser_shows_the_picture_of_the_arena(shown, browser):
    page = browser.new_page()
    page.set_content(shown[next(iter(CELLS))][0].data["text/html"])
    assert "bytes of RAM" in page.inner_text("pre")
    box = page.locator("svg").bounding_box()
    assert box["width"] > 300
    assert box["height"] > 100
    page.close()
