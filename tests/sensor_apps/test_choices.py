"""A program for a sensor is refused where model, labels, recording or platform do not fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from error_facts import refused, require_facts
from tiny_models import TINY

import deploy
from deploy.compiler.compile_model import Compiled
from deploy.sensors.sensor_apps import SensorChoices, with_pipeline
from platforms.project import App, project_source

LABELS = "a,b,c,d,e"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with 8x8 pixels and five classes."""
    path = tmp_path_factory.mktemp("model") / "tiny.tflite"
    path.write_bytes(TINY["classifier"]())
    return path


@pytest.fixture(scope="module")
def archives(model: Path) -> Mapping[str, Compiled]:
    host = {"board": "host"}
    return {
        "at once": deploy.compile(model, back="classes", **host),
        "without a back end": deploy.compile(model, stream=True, **host),
        "for this computer": deploy.compile(model, stream=True, back="classes", **host),
        "for a board": deploy.compile(model, stream=True, back="classes", board="mps2-an386"),
        "of pictures": deploy.compile(
            model, stream=True, back="classes", front="tf.image:width=8,height=8,format=gray", **host
        ),
        "of parts of pictures": deploy.compile(
            model, stream=True, back="classes", front="tf.image:width=8,height=8,format=gray", slide=2, **host
        ),
    }


# By what is wrong: the archive, the choices, and the facts of the error.
WRONG: dict[str, tuple[str, Mapping[str, Any], str]] = {
    "input at once": ("at once", {}, "kws row --stream tiny.tflite deploy compile --stream"),
    "no decision": ("without a back end", {}, "kws back end classes, no tiny.tflite --back classes:..."),
    "another sensor": ("of pictures", {}, "kws sound or numbers, tf.image tiny.tflite deploy docs apps"),
    "a window that slides over a picture": (
        "of parts of pictures",
        {"app": "image"},
        "image whole pictures, slides tiny.tflite without --slide",
    ),
    "too few labels": (
        "for this computer",
        {"class_names": "a,b"},
        "2 class names 5 classes a,b one per line",
    ),
    "a label that the log cannot hold": (
        "for this computer",
        {"class_names": "a,b,c,d,e*"},
        "'e*' log a,b,c,d,e* ASCII comma, star, dollar, backslash quotes",
    ),
    "a recording for this computer": (
        "for this computer",
        {"recording": "in.csv"},
        "recordings in.csv build/firmware in.csv folder",
    ),
    "labels for another app": (
        "for this computer",
        {"class_names": LABELS, "app": "standalone"},
        "class names, rate recording standalone --app kws, image, detect, motion, anomaly",
    ),
    "cartridges": ("for this computer", {"slots": 4096}, "functions, cartridges key server, kws --app rpc"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_it_is_reported(name: str, archives: Mapping[str, Compiled], tmp_path: Path) -> None:
    archive, words, facts = WRONG[name]
    refused(lambda: deploy.new(archives[archive], tmp_path / "p", **{"app": "kws", **words}), facts)
    assert not (tmp_path / "p").exists()


def test_a_platform_without_templates_for_sensors_is_reported(archives: Mapping[str, Compiled]) -> None:
    made, board = archives["for a board"].artifact, archives["for a board"].board
    refused(
        lambda: with_pipeline(project_source(made), made, App.KWS, board, "kitchen", SensorChoices()),
        "kws arduino, baremetal, host zephyr, kitchen --app standalone",
    )


RECORDINGS: dict[str, tuple[bytes, str]] = {
    "too few numbers": (b"1,2,3\n", "3 numbers, row 8 line 1"),
    "no number": (b"head\n1,2,3,4,5,6,7,x\n", "not a number line 2"),
    "too large": (b"1,2,3,4,5,6,7,128\n", "outside -128 127 line 1"),
    "not whole": (b"1,2,3,4,5,6,7,0.5\n", "not whole line 1"),
    "nothing": (b"a,b\n\n", "no rows 8 elements"),
}


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recording_is_refused(name: str, archives: Mapping[str, Compiled], tmp_path: Path) -> None:
    data, facts = RECORDINGS[name]
    path = tmp_path / "in.csv"
    path.write_bytes(data)
    made = archives["for a board"]
    refused(lambda: deploy.new(made, tmp_path / "p", app="kws", recording=path), f"{path} {facts}")


def test_labels_may_stand_in_a_file(archives: Mapping[str, Compiled], tmp_path: Path) -> None:
    (tmp_path / "labels.txt").write_text("one\ntwo\nthree\nfour\nfive\n")
    labels = str(tmp_path / "labels.txt")
    deploy.new(archives["for this computer"], tmp_path / "p", app="kws", class_names=labels)
    assert '    "three",\n' in (tmp_path / "p" / "src" / "decision.c").read_text()


def test_a_project_without_a_log_is_not_decoded(
    archives: Mapping[str, Compiled], tmp_path: Path, run_deploy: Callable[..., Any]
) -> None:
    deploy.new(archives["for this computer"], tmp_path / "p", app="standalone")
    outcome = run_deploy("monitor", tmp_path / "p", "--decode")
    assert outcome.status == 1
    require_facts(outcome.err, f"standalone no log {tmp_path}/p --app kws, image, detect, motion, anomaly")
