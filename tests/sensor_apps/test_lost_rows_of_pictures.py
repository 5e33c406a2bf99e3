"""A picture that loses rows is given up whole, and the next one begins with its own first row."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from listener import built, records
from tiny_models import TINY

import deploy
from deploy.sensors.sensor_log import Losses, Record, WindowRun

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
def test_pictures_with_a_gap_are_given_up(tmp_path: Path, require_tool: Callable[..., None]) -> None:
    require_tool("cc", "make")
    (tmp_path / "tiny.tflite").write_bytes(TINY["classifier"]())
    front = f"tf.image:width=8,height={ROWS},format=gray,stored=true"
    compiled = deploy.compile(
        tmp_path / "tiny.tflite", board="host", stream=True, front=front, back="classes"
    )
    deploy.new(compiled, tmp_path / "p", app="image", rate=5)
    pixels = np.random.default_rng(3).integers(0, 256, (PICTURES, ROWS, 8)).astype(np.uint8)
    (tmp_path / "in.pgm").write_bytes(b"".join(b"P5 8 8 255\n" + picture.tobytes() for picture in pixels))
    whole = told(tmp_path)
    assert [run.row for run in runs(whole)] == [8, 16, 24, 32, 40, 48]
    sensor = tmp_path / "p" / "src" / "sensor.c"
    sensor.rename(tmp_path / "p" / "file_of_sensor.c")
    sensor.write_text(LOSING)
    lossy = told(tmp_path)
    scores = {run.row: run.score for run in runs(whole)}
    assert [(run.row, run.score) for run in runs(lossy)] == [(row, scores[row]) for row in (8, 32)]
    assert lossy[-1] == Losses(is_end=True, runs=2, row=48, lost_rows=len(LOST), lost_windows=3, stalls=0), (
        "the second, third and fifth picture had begun, the sixth never does"
    )


def told(folder: Path) -> list[Record]:
    program = built(folder / "p")
    return records(subprocess.run([program, folder / "in.pgm"], capture_output=True, check=True).stdout)


def runs(told: list[Record]) -> list[WindowRun]:
    return [record for record in told if isinstance(record, WindowRun)]
