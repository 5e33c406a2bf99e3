"""A program for a sensor is refused where model, labels, recording or platform do not fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
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


WRONG: dict[str, tuple[str, Mapping[str, Any], str]] = {
    "input at once": (
        "at once",
        {},
        "the app kws pushes the input row by row, but this model was compiled without --stream\n"
        "  tiny.tflite\n  hint: deploy compile --stream",
    ),
    "no decision": (
        "without a back end",
        {},
        "the app kws needs the back end classes, but this model has no back end\n"
        "  tiny.tflite\n  hint: deploy compile --back classes:...",
    ),
    "another sensor": (
        "of pictures",
        {},
        "the app kws needs sound or numbers, but this model has the front end tf.image\n"
        "  tiny.tflite\n  hint: see deploy docs apps for what each app needs",
    ),
    "a window that slides over a picture": (
        "of parts of pictures",
        {"app": "image"},
        "the app image takes whole pictures, and this model's window slides over rows\n"
        "  tiny.tflite\n  hint: deploy compile without --slide",
    ),
    "too few labels": (
        "for this computer",
        {"class_names": "a,b"},
        "2 class names for 5 classes\n  a,b\n"
        "  hint: give one for each class, separated by commas, or a file with one per line",
    ),
    "a label that the log cannot hold": (
        "for this computer",
        {"class_names": "a,b,c,d,e*"},
        "the class name 'e*' is empty or has a character that the log cannot hold\n  a,b,c,d,e*\n"
        "  hint: use ASCII without comma, star, dollar, backslash and quotes",
    ),
    "a recording for this computer": (
        "for this computer",
        {"recording": "in.csv"},
        "programs for this computer read recordings themselves\n  in.csv\n"
        "  hint: run build/firmware in.csv in the project's folder",
    ),
    "labels for another app": (
        "for this computer",
        {"class_names": LABELS, "app": "standalone"},
        "class names, a rate and a recording apply to sensor apps, not to standalone\n"
        "  hint: --app kws, image, detect, motion, anomaly",
    ),
    "cartridges": (
        "for this computer",
        {"slots": 4096},
        "functions, cartridges and a line key need the server, which the app kws does not have\n"
        "  hint: use --app rpc",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_it_is_reported(name: str, archives: Mapping[str, Compiled], tmp_path: Path) -> None:
    archive, words, text = WRONG[name]
    with pytest.raises(deploy.DeployError) as caught:
        deploy.new(archives[archive], tmp_path / "p", **{"app": "kws", **words})
    assert str(caught.value) == f"error: {text}"
    assert not (tmp_path / "p").exists()


def test_a_platform_without_templates_for_sensors_is_reported(archives: Mapping[str, Compiled]) -> None:
    compiled = archives["for a board"]
    source, board = project_source(compiled.artifact), compiled.board
    with pytest.raises(deploy.DeployError) as caught:
        with_pipeline(source, compiled.artifact, App.KWS, board, "kitchen", SensorChoices())
    assert str(caught.value) == (
        "error: the app kws supports the platforms arduino, baremetal, host and zephyr, not kitchen\n"
        "  hint: use a board with one of these, or start from --app standalone"
    )


RECORDINGS: dict[str, tuple[bytes, str]] = {
    "too few numbers": (b"1,2,3\n", "the line has 3 numbers, a row of the model has 8\n  {}, line 1"),
    "no number": (
        b"head\n1,2,3,4,5,6,7,x\n",
        "the line contains something that is not a number\n  {}, line 2",
    ),
    "too large": (b"1,2,3,4,5,6,7,128\n", "the line has a number outside of -128 to 127\n  {}, line 1"),
    "not whole": (b"1,2,3,4,5,6,7,0.5\n", "the line has a number that is not whole\n  {}, line 1"),
    "nothing": (
        b"a,b\n\n",
        "the recording has no rows\n  {}\n  hint: a row of the model's input has 8 elements",
    ),
}


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recording_is_refused(name: str, archives: Mapping[str, Compiled], tmp_path: Path) -> None:
    data, text = RECORDINGS[name]
    path = tmp_path / "in.csv"
    path.write_bytes(data)
    with pytest.raises(deploy.DeployError) as caught:
        deploy.new(archives["for a board"], tmp_path / "p", app="kws", recording=path)
    assert str(caught.value) == f"error: {text.format(path)}"


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
    assert outcome.err == (
        f"error: the app standalone of this project writes no log to decode\n  {tmp_path}/p\n"
        "  hint: deploy new --app kws, image, detect, motion, anomaly\n"
    )
