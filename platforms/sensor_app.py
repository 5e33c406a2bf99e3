"""Programs that run a model continuously on sensor data, and their files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aot.ir.types import DType
from boards.board import Board
from platforms.arena_words import variable
from platforms.project import App, ProjectSource, SensorKind, SensorPipeline
from platforms.templates import filled, template_text

_TEMPLATES = "sensor_app"
_AS_THEY_ARE = ("log.h", "log.c", "sensor.h")
_QUEUE_ROWS = 16
_ASCII_END = 128
_ZEPHYR, _ARDUINO = "zephyr", "arduino"


@dataclass(frozen=True, slots=True)
class SensorApp:
    """A sensor program."""

    summary: str  # its purpose, as the start of a sentence
    decision: str  # template that interprets the back end's outputs
    backs: tuple[str, ...]  # back ends with such outputs
    sensors: tuple[SensorKind, ...]
    lanes: int  # windows computed at the same time
    platforms: tuple[str, ...] = ("arduino", "baremetal", "host", "zephyr")  # with templates for it
    writes_text: bool = False  # instead of a log


_BOXES = ("ultralytics.yolov8", "ultralytics.yolov5", "torchvision.ssd", "edge_impulse.fomo")
SENSOR_APPS: Mapping[App, SensorApp] = {
    App.KWS: SensorApp(
        "Listens for words", "classes", ("classes",), (SensorKind.SOUND, SensorKind.NUMBERS), 2
    ),
    App.IMAGE: SensorApp("Classifies images", "classes", ("classes",), (SensorKind.PICTURE,), 1),
    App.DETECT: SensorApp("Finds objects in images", "boxes", _BOXES, (SensorKind.PICTURE,), 1),
    App.MOTION: SensorApp("Recognizes movements", "classes", ("classes",), (SensorKind.NUMBERS,), 2),
    App.ANOMALY: SensorApp(
        "Detects anomalies", "anomaly", ("anomaly",), (SensorKind.SOUND, SensorKind.NUMBERS), 1
    ),
    App.TRANSCRIBE: SensorApp(
        "Turns sound into text", "text", (), (SensorKind.SOUND,), 1, ("baremetal", "host"), writes_text=True
    ),
}


def sensor_app_files(
    source: ProjectSource, app: App, board: Board, platform: str, words: Mapping[str, Any]
) -> dict[str, str]:
    """Returns the program's files, and those of its sensor: host files, a recording, or a stub to fill in."""
    pipeline, kind = source.pipeline, SENSOR_APPS[app]
    assert pipeline is not None  # checked by deploy new
    every = {**words, **sensor_words(source, pipeline, app, board, platform)}
    if kind.writes_text:
        return {f"src/{name}": text for name, text in _text_files(pipeline, every).items()}
    own = {
        **{name: template_text(_TEMPLATES, name) for name in _AS_THEY_ARE},
        "app_main.c" if every["is_arduino"] else "main.c": filled(_TEMPLATES, "main.c.jinja", **every),
        "app.h": filled(_TEMPLATES, "app.h.jinja", **every),
        "decision.h": filled(_TEMPLATES, "decision.h.jinja", **every),
        "decision.c": filled(_TEMPLATES, f"decision_{kind.decision}.c.jinja", **every),
        **_sensor_files(pipeline, every),
    }
    return {f"src/{name}": text for name, text in own.items()}


def _text_files(pipeline: SensorPipeline, words: Mapping[str, Any]) -> dict[str, str]:
    written = pipeline.written
    assert written is not None  # checked by deploy new
    (scores,) = words["outputs"]
    own = {
        "scores": scores,
        "frames": scores["elements"] // len(written.texts),
        "tokens": ["".join(map(_in_c, text)) for text in written.texts],
        "blank": written.blank,
    }
    return {
        "main.c": filled(_TEMPLATES, "main_text.c.jinja", **words, **own),
        "app.h": filled(_TEMPLATES, "app.h.jinja", **words),
        "sensor.h": template_text(_TEMPLATES, "sensor.h"),
        **_sensor_files(pipeline, words),
    }


def _in_c(byte: int) -> str:
    """Returns a byte of a string as C source."""
    is_plain = chr(byte).isalnum() and byte < _ASCII_END
    return chr(byte) if is_plain or byte == ord(" ") else f"\\{byte:03o}"


def _sensor_files(pipeline: SensorPipeline, words: Mapping[str, Any]) -> dict[str, str]:
    if words["is_host"]:
        return {
            "sensor.c": template_text(_TEMPLATES, "sensor_file.c"),
            "file_rows.h": template_text(_TEMPLATES, "file_rows.h"),
            f"file_{pipeline.sensor.value}.c": filled(
                _TEMPLATES, f"file_{pipeline.sensor.value}.c.jinja", **words
            ),
        }
    if pipeline.recording is not None:
        return {
            "sensor.c": template_text(_TEMPLATES, "sensor_recorded.c"),
            "recording.h": template_text(_TEMPLATES, "recording.h"),
            "recording.c": filled(
                _TEMPLATES,
                "recording.c.jinja",
                title=pipeline.recording.title,
                rows=pipeline.recording.rows,
            ),
        }
    if words["is_zephyr"] and not words["is_picture"]:
        kind = pipeline.sensor.value
        return {
            "sensor.c": template_text(_ZEPHYR, "sensor_thread.c.jinja"),
            "input.h": template_text(_ZEPHYR, "input.h"),
            "input.c": filled(_ZEPHYR, f"input_{kind}.c.jinja", **words),
        }
    own = {"input.h": template_text(_ARDUINO, "input.h")} if words["is_arduino"] else {}
    return {"sensor.c": filled(_TEMPLATES, "sensor_board.c.jinja", **words), **own}


def sensor_words(
    source: ProjectSource, pipeline: SensorPipeline, app: App, board: Board, platform: str
) -> dict[str, Any]:
    """Returns the template variables."""
    dtype, quant = source.inputs[0].type.dtype, source.inputs[0].type.quant
    is_real = dtype is DType.F32
    least, most = ("-FLT_MAX", "FLT_MAX") if is_real else map(str, dtype.limits)
    return {
        "app": app.value,
        "says": SENSOR_APPS[app].summary,
        "pipeline": pipeline,
        "queue_rows": _QUEUE_ROWS,
        "c_type": dtype.c_name,
        "is_real": is_real,
        "observes": source.observes,
        "finds_boxes": pipeline.most_boxes > 0,
        "is_picture": pipeline.sensor is SensorKind.PICTURE,
        "least": least,
        "most": most,
        "said_range": "what float holds" if is_real else f"{least} to {most}",
        "lane_arenas": ", ".join(f"{variable(n, each)}[lane]" for n, each in enumerate(source.arenas)),
        "step": f"{1.0 if quant is None else quant.scale!r}f",
        "zero": 0 if quant is None else quant.zero_point,
        "is_host": board.core.machine == "host" and platform != _ZEPHYR,
        "is_zephyr": platform == _ZEPHYR,
        "is_arduino": platform == _ARDUINO,
        "is_paced": board.counter.instruction_ns is None,
    }
