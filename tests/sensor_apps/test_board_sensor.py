"""The queue of a board's sensor: overruns, stalls and pictures that lose rows are reported where they are."""

import subprocess
from pathlib import Path

import numpy as np
import pytest
from listener import built, records
from tiny_models import TINY

import deploy
from deploy.sensors.sensor_log import Losses, Record, WindowRun
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
def test_overruns_and_stalls_are_reported(is_picture, rows, tmp_path, repo_root):
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


PICTURES, ROWS = 6, 8
# Two rows of the second picture, the last of the third, the last of the fifth and the first of the sixth.
LOST = (11, 12, 24, 40, 41)
LOSING = f"""\
/* Reads files, and loses some of their rows. */
#define sensor_read read_all
#include "../file_of_sensor.c"
#undef sensor_read

static const uint32_t losses[] = {{{", ".join(map(str, LOST))}}};

static int is_lost(uint32_t number)
{{
    for (uint32_t i = 0; i < sizeof losses / sizeof losses[0]; i++) {{
        if (losses[i] == number) {{
            return 1;
        }}
    }}
    return 0;
}}

enum sensor_status sensor_read(app_element *row, uint32_t *lost_rows)
{{
    static uint32_t number = 0;
    enum sensor_status status = read_all(row, lost_rows);

    while (is_lost(++number)) {{
        ++*lost_rows;
        status = read_all(row, lost_rows);
    }}
    return status;
}}
"""


@pytest.mark.cc
@pytest.mark.slow
def test_pictures_with_a_gap_are_given_up(tmp_path, require_tool):
    require_tool("make")
    (tmp_path / "tiny.tflite").write_bytes(TINY["classifier"]())
    front = f"tf.image:width=8,height={ROWS},format=gray,stored=true"
    compiled = deploy.compile(
        tmp_path / "tiny.tflite", board="host", stream=True, front=front, back="classes"
    )
    deploy.new(compiled, tmp_path / "p", app="image", rate=5)
    pixels = np.random.default_rng(3).integers(0, 256, (PICTURES, ROWS, 8)).astype(np.uint8)
    (tmp_path / "in.pgm").write_bytes(b"".join(b"P5 8 8 255\n" + picture.tobytes() for picture in pixels))
    whole = records_of(tmp_path)
    assert [run.row for run in runs(whole)] == [8, 16, 24, 32, 40, 48]
    sensor = tmp_path / "p" / "src" / "sensor.c"
    sensor.rename(tmp_path / "p" / "file_of_sensor.c")
    sensor.write_text(LOSING)
    lossy = records_of(tmp_path)
    scores = {run.row: run.score for run in runs(whole)}
    assert [(run.row, run.score) for run in runs(lossy)] == [(row, scores[row]) for row in (8, 32)]
    assert lossy[-1] == Losses(is_end=True, runs=2, row=48, lost_rows=len(LOST), lost_windows=3, stalls=0), (
        "the second, third and fifth picture had begun, the sixth never does"
    )


def records_of(folder: Path) -> list[Record]:
    program = built(folder / "p")
    return records(subprocess.run([program, folder / "in.pgm"], capture_output=True, check=True).stdout)


def runs(records_of: list[Record]) -> list[WindowRun]:
    return [record for record in records_of if isinstance(record, WindowRun)]
