"""An exploration in Chromium: figures are chosen, results filtered, points and rows picked together."""

from pathlib import Path

import pytest
from axe_checks import hindrances

import deploy

pytestmark = pytest.mark.slow
DIGITS = Path(deploy.__file__).parent / "demo" / "digits.tflite"
BOARDS = ("nano-33-ble", "arduino-uno", "host")


@pytest.fixture(scope="module")
def explored():
    return deploy.explore(DIGITS, board=BOARDS, jobs=1, vary={"optimize": ["speed", "ram"]})


@pytest.fixture
def page(browser, explored, tmp_path):
    """The page; it may say nothing on the console, such as an error."""
    path = tmp_path / "explored.html"
    explored.save(path)
    page = browser.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(path.as_uri())
    yield page
    page.close()
    assert said == []


def test_a_point_for_each_result_on_round_ticks(page, explored):
    assert page.locator("#explorer circle").count() == len(explored.results)
    labels = [text.replace(",", "") for text in page.locator("#explorer svg > text").all_text_contents()]
    first, second = (int(label) for label in labels[:2])
    assert str(second - first).rstrip("0") in ("1", "2", "5")


def test_filters_hold_for_points_and_rows(page, explored):
    most = min(each["ram_bytes"] for each in explored.results)
    kept = [each for each in explored.results if each["ram_bytes"] <= most]
    page.get_by_label("RAM at most").fill(str(most))
    assert page.locator("#explorer circle").count() == len(kept)
    shown = page.locator("tbody tr:visible")
    assert {row.get_attribute("id") for row in shown.all()} == {each["key"] for each in kept}
    page.get_by_label("RAM at most").fill("")
    page.get_by_label("only what is unbeaten").check()
    unbeaten = [each["key"] for each in explored.results if each["is_best"]]
    assert sorted(row.get_attribute("id") for row in shown.all()) == sorted(unbeaten)


@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_hinders_keyboards_and_screen_readers(page, width, require_package):
    require_package("axe_playwright_python")
    page.set_viewport_size({"width": width, "height": 800})
    assert hindrances(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_point_and_its_row_are_picked_together(page, explored):
    key = explored.results[2]["key"]
    page.locator(f'circle[data-key="{key}"]').dispatch_event("click")
    assert page.locator("tr.picked").get_attribute("id") == key
    assert (
        f"picked: digits on {explored.results[2]['board']}" in page.locator("#explorer output").inner_text()
    )
    page.locator(f'tr[id="{key}"]').click()
    assert page.locator("tr.picked").count() == 0
