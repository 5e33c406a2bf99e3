"""The queue between a board's sensor and the program: overruns are reported where they were, and stalls."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from platforms.templates import filled

APP = """\
#include <stdint.h>
#include <stddef.h>
typedef uint16_t app_element;
#define ROW_ELEMENTS 2u
#define QUEUE_ROWS {rows}u
#define WINDOW_ROWS 4u
#define WINDOW_US 5000000u
"""
EMPTY = """\
static enum sensor_status start_sensor(void)
{
    return SENSOR_END; /* write this: SENSOR_ROW once the sensor has started; otherwise the program ends */
}

static void wait_for_row(void)
{
}
"""
FILLED_IN = """\
static void interrupt(void);

static enum sensor_status start_sensor(void)
{
    return SENSOR_ROW;
}

static void wait_for_row(void)
{
    interrupt();
}
"""
TOLD = """\
row 1, 0 lost before it
row 2, 0 lost before it
stalled 0, 0 lost before it
"""


def told(rows: int) -> str:
    """The lines of a queue of that many rows: all of it is read, and three rows were lost before the next."""
    queued = "".join(f"row {3 + row}, 0 lost before it\n" for row in range(rows))
    return f"{TOLD}{queued}row {3 + rows + 3}, 3 lost before it\nstalled 0, 0 lost before it\n"


# A picture of four rows that ends with its second has lost two: the first row of the next tells it.
TOLD_OF_PICTURES = """\
row 1, 0 lost before it
row 2, 0 lost before it
row 3, 2 lost before it
row 4, 0 lost before it
"""


@pytest.mark.cc
@pytest.mark.parametrize(("is_picture", "rows"), [(False, 4), (False, 3), (False, 5), (True, 4)])
def test_overruns_and_stalls_are_reported(
    is_picture: bool, rows: int, tmp_path: Path, repo_root: Path, require_tool: Callable[..., None]
) -> None:
    require_tool("cc")
    templates = repo_root / "project_templates"
    sensor = filled("sensor_app", "sensor_board.c.jinja", name="kws", is_picture=is_picture, is_arduino=False)
    assert EMPTY in sensor
    (tmp_path / "sensor_under_test.c").write_text(sensor.replace(EMPTY, FILLED_IN))
    (tmp_path / "app.h").write_text(APP.replace("{rows}", str(rows)))
    (tmp_path / "sensor.h").write_text((templates / "sensor_app" / "sensor.h").read_text())
    strict = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-fsanitize=address,undefined"]
    folders = [f"-I{tmp_path}", f"-I{templates / 'common'}"]
    source = Path(__file__).parent / "board_sensor_test.c"
    pictures = ["-DPICTURES"] if is_picture else []
    subprocess.run(["cc", *strict, *pictures, *folders, "-o", tmp_path / "test", source], check=True)
    ran = subprocess.run([tmp_path / "test"], capture_output=True, text=True, check=True)
    assert ran.stdout == (TOLD_OF_PICTURES if is_picture else told(rows))
