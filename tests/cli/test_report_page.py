"""A report in Chromium: tables are sorted, the arena is explored by mouse and keyboard, in light and dark."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from axe_checks import hindrances

import deploy

pytestmark = pytest.mark.slow
DEMO = Path(deploy.__file__).parent / "demo"
LEAST_CONTRAST = 4.5  # WCAG AA, for text of this size


@pytest.fixture(scope="module")
def report_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "digits.html"
    data = {
        "image": np.load(DEMO / "digits_test.npz")["image"][:8],
        "labels": np.load(DEMO / "digits_labels.npy")[:8],
    }
    report = deploy.report(DEMO / "digits.tflite", board=["nucleo-l4r5zi", "arduino-uno"], data=data)
    report.save(path)
    return path


@pytest.fixture
def page(browser, report_file):
    """The page; it may say nothing on the console, such as an error."""
    page = browser.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(report_file.as_uri())
    yield page
    page.close()
    assert said == []


def column(page: Any, number: int) -> list[str]:
    """The first board's table of layers, one column of it."""
    return list(layers(page).locator(f"tbody td:nth-child({number})").all_inner_texts())


def layers(page: Any) -> Any:
    return page.locator("table", has_text="at the marked ones most RAM").first


def test_a_heading_sorts_and_sorts_the_other_way(page):
    heading = layers(page).locator("th", has_text="MACs")
    number = 1 + layers(page).locator("th").all_inner_texts().index(heading.inner_text())
    before = [int(cell.replace(",", "")) for cell in column(page, number)]
    assert before != sorted(before)
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert [int(cell.replace(",", "")) for cell in column(page, number)] == sorted(before)
    heading.get_by_role("button").press("Enter")
    assert heading.get_attribute("aria-sort") == "descending"
    assert [int(cell.replace(",", "")) for cell in column(page, number)] == sorted(before, reverse=True)


def test_the_arena_is_read_step_by_step_with_the_keyboard(page):
    arena = deploy.inspect(DEMO / "digits.tflite", board="nucleo-l4r5zi").as_json(memory=True)["arena"]
    peak = arena["live_bytes"].index(max(arena["live_bytes"]))
    figure = page.locator("figure").first
    slider, said = figure.get_by_role("slider"), figure.locator("output")
    assert said.inner_text().startswith(f"step {peak} of {arena['steps']}, layer {arena['order'][peak]}: ")
    slider.focus()
    slider.press("Home")
    assert said.inner_text().startswith(f"step 0 of {arena['steps']}")
    assert f"{arena['live_bytes'][0]:,} bytes needed" in said.inner_text()
    slider.press("ArrowRight")
    assert said.inner_text().startswith("step 1 of ")
    slider.press("p")
    assert said.inner_text().startswith(f"step {peak} of ")


def test_a_buffer_is_picked_in_the_table_and_the_others_step_back(page):
    figure = page.locator("figure").first
    figure.locator("summary").click()
    button = figure.locator(".buffers tbody").get_by_role("button", name="conv2d_2", exact=True)
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    names = figure.locator("svg [data-buffer]:not(.dimmed)").evaluate_all(
        "parts => [...new Set(parts.map(part => part.dataset.buffer))]"
    )
    assert names == ["conv2d_2"]
    assert "conv2d_2 row" in figure.locator("output").inner_text()
    assert "depthwise" not in figure.locator("output").inner_text()
    figure.get_by_role("button", name="all buffers").click()
    assert figure.locator("svg .dimmed").count() == 0


def test_the_picture_follows_the_mouse_and_grows(page):
    figure = page.locator("figure").first
    picture = figure.locator("svg")
    box = picture.bounding_box()
    picture.hover(position={"x": box["width"] * 0.08, "y": box["height"] * 0.3})
    early = figure.get_by_role("slider").input_value()
    picture.hover(position={"x": box["width"] * 0.6, "y": box["height"] * 0.3})
    assert int(figure.get_by_role("slider").input_value()) > int(early)
    figure.get_by_role("button", name="wider").click()
    assert picture.bounding_box()["width"] == pytest.approx(2 * box["width"], rel=0.02)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_the_page(browser, report_file, scheme):
    page = browser.new_page(color_scheme=scheme)
    page.goto(report_file.as_uri())
    ground = brightness(page, "body", "backgroundColor")
    assert (ground > 0.8) == (scheme == "light")
    for selector in ("body", ".faint", "caption", "summary"):
        text = brightness(page, selector, "color")
        high, low = max(text, ground), min(text, ground)
        assert (high + 0.05) / (low + 0.05) >= LEAST_CONTRAST, selector
    page.close()


@pytest.mark.parametrize("width", [1280, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_hinders_keyboards_and_screen_readers(browser, report_file, scheme, width, require_package):
    require_package("axe_playwright_python")
    page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 800})
    page.goto(report_file.as_uri())
    assert hindrances(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


def test_the_peak_in_the_picture_stands_out_too(browser, report_file):
    page = browser.new_page(color_scheme="dark")
    page.goto(report_file.as_uri())
    label = page.locator("figure text", has_text="peak: ").first
    assert label.evaluate("element => getComputedStyle(element).fill") == "rgb(255, 159, 153)"
    page.close()


def brightness(page: Any, selector: str, what: str) -> float:
    """The relative luminance of WCAG."""
    colour = page.locator(selector).first.evaluate(f"element => getComputedStyle(element).{what}")
    channels = [int(word) / 255 for word in colour.partition("(")[2].rstrip(")").split(",")[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_without_scripts_all_is_there(browser, report_file):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report_file.as_uri())
    assert page.locator("svg").count() == 2
    assert not page.locator(".tools").first.is_visible()
    assert page.locator(".buffers td", has_text="conv2d_2").count() > 0
    context.close()


def test_it_prints(browser, report_file):
    page = browser.new_page()
    page.goto(report_file.as_uri())
    assert page.pdf().startswith(b"%PDF-")
    page.emulate_media(media="print")
    assert not page.locator(".tools").first.is_visible()
    page.close()
