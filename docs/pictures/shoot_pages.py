"""Takes pictures of pages as a browser shows them: a report in light and dark, an exploration, a notebook.

    python docs/pictures/shoot_pages.py

They are of the bundled model, and need the extra `test`, a Chromium and a compiler for Cortex-M.
"""

from __future__ import annotations

import html
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright

import deploy

PLACE = Path(__file__).parent
_DEMO = Path(deploy.__file__).parent / "demo"
_BOARDS = ("nano-33-ble", "nucleo-l073rz")
_WIDE, _HIGH = 1040, 1400
_WHOLE = ("notebook",)  # of others the beginning is enough
# Each picture: the page that it is of, the browser's colours.
_PICTURES: Mapping[str, tuple[str, str]] = {
    "report-light": ("report", "light"),
    "report-dark": ("report", "dark"),
    "explored": ("explored", "light"),
    "notebook": ("notebook", "light"),
}
_STYLE = """
body { font: 14px sans-serif; margin: 24px }
pre { font: 12px/1.4 monospace; margin: 6px 0 }
pre.in { background: #f3f4f6; border-left: 3px solid #7a8699; padding: 8px 10px; margin-top: 14px }
svg { max-width: 100%; height: auto }
"""
_CHROMIUM = ("--no-sandbox", "--disable-gpu")
_CELLS = (
    "import deploy, numpy as np\nfrom pathlib import Path\n"
    'digits = Path(deploy.__file__).parent / "demo" / "digits.tflite"',
    'deploy.inspect(digits, board="nano-33-ble")',
    'images = np.load(digits.with_name("digits_test.npz"))["image"]\n'
    'with deploy.connect(digits, board="mps2-an386", profile=True) as device:\n'
    "    ran = device.run(images[:3])\n"
    "    layers = device.profile(images[0])\n"
    "ran",
    "layers",
)


def pages(folder: Path) -> dict[str, Path]:
    """Writes each page into the folder."""
    with np.load(_DEMO / "digits_test.npz") as inputs:
        data = {**inputs, "labels": np.load(_DEMO / "digits_labels.npy")}
    model = _DEMO / "digits.tflite"
    found = {name: folder / f"{name}.html" for name in ("report", "explored", "notebook")}
    deploy.report(model, board=list(_BOARDS), data=data, measure=True).save(found["report"])
    explored = deploy.explore(
        [model], board=[*_BOARDS, "rpi-pico2"], vary={"optimize": ["speed", "ram", "size"]}, measure=True
    )
    explored.save(found["explored"])
    found["notebook"].write_text(_notebook(folder), encoding="utf-8")
    return found


def _notebook(folder: Path) -> str:
    """The cells and what they show, executed by a kernel."""
    import nbformat
    from nbclient import NotebookClient

    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(each) for each in _CELLS])
    NotebookClient(book, timeout=300, kernel_name="python3").execute(cwd=str(folder))
    parts = [f"<style>{_STYLE}</style>"]
    for cell in book.cells:
        parts.append(f'<pre class="in">{html.escape(cell.source)}</pre>')
        parts += [f"<div>{each.data['text/html']}</div>" for each in cell.outputs if "data" in each]
    return "\n".join(parts)


def shoot(browser: Any, page: Path, scheme: str, place: Path) -> None:
    tab = browser.new_page(color_scheme=scheme, viewport={"width": _WIDE, "height": _HIGH})
    tab.goto(page.as_uri())
    tab.screenshot(path=place, full_page=place.stem in _WHOLE)
    tab.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=_CHROMIUM)
        made = pages(Path(folder))
        for name, (page, scheme) in _PICTURES.items():
            shoot(browser, made[page], scheme, PLACE / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
