"""Adds a sensor program to a compiled model: checks the model, and adds labels and a recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from aot.backs.anomaly import Anomaly
from aot.backs.attach import declared_back
from aot.backs.back import Back
from aot.errors import InputError
from aot.fronts.attach import Front, declared_front
from aot.fronts.movement import Movement
from aot.fronts.picture import Picture
from aot.fronts.spectrum import IntegerFeatures, Spectrum
from aot.ops.blobs import Blobs
from aot.ops.detect import CORNERS, Detect
from aot.ops.reduce import ArgExtreme
from artifact.artifact import Artifact
from boards.board import Board
from deploy.inputs.label_file import read_label_texts
from deploy.inputs.recordings import read_recording
from platforms.project import App, CameraForm, LabelTexts, ProjectSource, SensorKind, SensorPipeline
from platforms.sensor_app import SENSOR_APPS, SensorApp

_FRAMES_AND_LABELS = 2  # dimensions
_MICROSECONDS = 1_000_000
_SAID = {SensorKind.SOUND: "sound", SensorKind.NUMBERS: "numbers", SensorKind.PICTURE: "pictures"}


@dataclass(frozen=True, slots=True)
class SensorChoices:
    """The user's options for a sensor program."""

    labels: str | None = None  # of classes: separated by commas, or a file with one per line
    rate_hz: int | None = None  # rows or pictures per second, if the front end does not define it
    recording: Path | None = None  # sensor data to replay on the board
    tokens: Path | None = None  # texts of the labels of a model that writes text


def with_pipeline(
    source: ProjectSource, artifact: Artifact, app: App, board: Board, platform: str, choices: SensorChoices
) -> ProjectSource:
    """Adds the pipeline for a sensor app; other apps are unchanged. Raises InputError."""
    if app not in SENSOR_APPS:
        _refuse_choices(app, choices)
        return source
    _require_platform(app, platform)
    pipeline = _pipeline(source, artifact, app, choices)
    if choices.recording is not None:
        if board.core.machine == "host":
            raise InputError(
                "programs for this computer read recordings themselves",
                str(choices.recording),
                f"run build/firmware {choices.recording} in the project's folder",
            )
        front = artifact.facts.options.front
        found = read_recording(choices.recording, pipeline, source.inputs[0].type.dtype, front)
        if 0 < pipeline.most_rows < len(found.rows):
            samples = (each * pipeline.row_elements for each in (len(found.rows), pipeline.most_rows))
            raise InputError(
                "the recording has {:,} samples, the model hears at most {:,}".format(*samples),
                str(choices.recording),
                "cut it, or use a model that keeps state from run to run",
            )
        pipeline = replace(pipeline, recording=found)
    arenas = tuple(replace(arena, bytes=arena.bytes * pipeline.lanes) for arena in pipeline.arenas)
    return replace(source, pipeline=pipeline, arenas=arenas)


def _refuse_choices(app: App, choices: SensorChoices) -> None:
    if choices != SensorChoices():
        names = ", ".join(each.value for each in SENSOR_APPS)
        raise InputError(
            f"class names, a rate and a recording apply to sensor apps, not to {app.value}",
            hint=f"--app {names}",
        )


def _require_platform(app: App, platform: str) -> None:
    *others, last = SENSOR_APPS[app].platforms
    if platform not in (*others, last):
        known = f"{', '.join(others)} and {last}"
        raise InputError(
            f"the app {app.value} supports the platforms {known}, not {platform}",
            hint="use a board with one of these, or start from --app standalone",
        )


def _pipeline(source: ProjectSource, artifact: Artifact, app: App, choices: SensorChoices) -> SensorPipeline:
    kind, options = SENSOR_APPS[app], artifact.facts.options
    where = artifact.facts.source_name
    if not source.is_streamed:
        raise InputError(
            f"the app {app.value} pushes the input row by row, but this model was compiled without --stream",
            where,
            "deploy compile --stream",
        )
    back = _back(kind, app, options.back, where)
    front = None if options.front is None else declared_front(options.front)
    _require_sensor(kind, app, options.front, where)
    rate = _rate(front, choices.rate_hz, where)
    _, rows, *row = source.inputs[0].type.shape
    elements, window = row[0] * row[1], artifact.facts.window
    if window is not None:
        _require_rows_that_slide(kind, app, where)
        rows = window.rows
    written = _written(source, app, front, choices, where) if kind.writes_text else None
    is_one_lane = window is not None or (isinstance(front, IntegerFeatures) and front.continuous)
    return SensorPipeline(
        sensor=_sensor(front),
        rate_hz=round(rate),
        window_rows=rows,
        row_elements=elements,
        window_us=int(_in_window(front, rows, elements) * _MICROSECONDS / rate) if rate else 0,
        labels=() if written or isinstance(back, Anomaly) else _labels(artifact, choices.labels),
        has_threshold=isinstance(back, Anomaly) and back.threshold is not None,
        arenas=artifact.facts.arenas,
        lanes=1 if is_one_lane else kind.lanes,
        hop_rows=0 if window is None else window.hop,
        camera=_camera(front),
        most_boxes=_most_boxes(artifact),
        written=written,
        most_rows=rows if written and not source.keeps_state else 0,
    )


def _back(kind: SensorApp, app: App, declared: str | None, where: str) -> Back | None:
    name = None if declared is None else declared.partition(":")[0]
    if name in (kind.backs or (None,)):
        return None if declared is None else declared_back(declared)
    wanted = f"the back end {' or '.join(kind.backs)}" if kind.backs else "no back end"
    found = "no back end" if name is None else f"the back end {name}"
    raise InputError(
        f"the app {app.value} needs {wanted}, but this model has {found}",
        where,
        f"deploy compile --back {kind.backs[0]}:..." if kind.backs else "deploy compile without --back",
    )


def _written(
    source: ProjectSource, app: App, front: Front | None, choices: SensorChoices, where: str
) -> LabelTexts:
    """Returns the texts of the labels. Raises InputError if the model does not give one label per frame."""
    if choices.labels is not None:
        raise InputError(f"the app {app.value} has no class names", choices.labels, "--tokenizer tokens.txt")
    if choices.tokens is None:
        raise InputError(
            f"the app {app.value} needs the texts of the model's labels",
            hint="--tokenizer tokens.txt, with one token per line, or tokenizer.model",
        )
    outputs = ", ".join(f"{each.name} {list(each.type.shape)}" for each in source.outputs)
    shape = source.outputs[0].type.shape
    if len(source.outputs) != 1 or source.slides or len(shape) < _FRAMES_AND_LABELS:
        raise InputError(
            f"the app {app.value} needs one output, the scores of the labels for each frame; this model "
            f"{'has a window that slides' if source.slides else f'has {outputs}'}",
            where,
            "export a model with the output [1, frames, labels]; compile it without --slide",
        )
    if source.keeps_state and isinstance(front, Spectrum) and _misses_sound(front):
        raise InputError(
            "the model keeps state from run to run, but frames of this front end overlap, and none has sound "
            "of two runs",
            where,
            "train with frames as long as their step, or with micro_frontend:continuous=true",
        )
    return read_label_texts(choices.tokens, shape[-1])


def _misses_sound(front: Spectrum) -> bool:
    """Returns whether runs one after the other give other frames than one long run."""
    return len(front.frames.window) != front.frames.hop or front.frames.before != 0


def _sensor(front: Front | None) -> SensorKind:
    """Returns the sensor that provides the model's input rows."""
    if front is None or isinstance(front, Movement):
        return SensorKind.NUMBERS
    return SensorKind.PICTURE if isinstance(front, Picture) else SensorKind.SOUND


def _in_window(front: Front | None, rows: int, row_elements: int) -> int:
    """Returns the number of samples, rows or pictures in a window."""
    return {
        SensorKind.SOUND: rows * row_elements,
        SensorKind.NUMBERS: rows,
        SensorKind.PICTURE: 1,
    }[_sensor(front)]


def _rate(front: Front | None, given_hz: int | None, where: str) -> float:
    if front is None or isinstance(front, Picture):
        return given_hz or 0
    if given_hz is not None:
        raise InputError(
            f"the front end sets the {'rows' if isinstance(front, Movement) else 'samples'} per second: "
            f"{front.sample_rate:g}",
            where,
            "omit --rate",
        )
    return front.sample_rate


def _require_sensor(kind: SensorApp, app: App, declared: str | None, where: str) -> None:
    if _sensor(None if declared is None else declared_front(declared)) in kind.sensors:
        return
    takes = " or ".join(_SAID[each] for each in kind.sensors)
    has = "no front end" if declared is None else f"the front end {declared.partition(':')[0]}"
    raise InputError(
        f"the app {app.value} needs {takes}, but this model has {has}",
        where,
        "see deploy docs apps for what each app needs",
    )


def _require_rows_that_slide(kind: SensorApp, app: App, where: str) -> None:
    if SensorKind.PICTURE in kind.sensors:
        raise InputError(
            f"the app {app.value} takes whole pictures, and this model's window slides over rows",
            where,
            "deploy compile without --slide",
        )


def _labels(artifact: Artifact, given: str | None) -> tuple[str, ...]:
    """Returns a name for each class: the user's, or "class" with its number."""
    count = _classes(artifact)
    if given is None:
        return tuple(f"class {number}" for number in range(count))
    labels = _read_labels(given)
    if len(labels) != count:
        raise InputError(
            f"{len(labels)} class names for {count} classes",
            given,
            "give one for each class, separated by commas, or a file with one per line",
        )
    wrong = next((each for each in labels if not _is_label(each)), None)
    if wrong is not None:
        raise InputError(
            f"the class name {wrong!r} is empty or has a character that the log cannot hold",
            given,
            "use ASCII without comma, star, dollar, backslash and quotes",
        )
    return tuple(labels)


def _read_labels(given: str) -> Sequence[str]:
    path = Path(given)
    if "," in given or not path.is_file():
        return [label.strip() for label in given.split(",")]
    try:
        return [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("the file of labels cannot be read", f"{given}: {error}") from error


def _is_label(text: str) -> bool:
    return text != "" and text.isascii() and text.isprintable() and not set(text) & set(',*$\\"')


def _classes(artifact: Artifact) -> int:
    """Returns the number of classes, from the last nodes of the back end."""
    graph = artifact.graph
    for node in reversed(graph.nodes):
        scores = graph.types[node.inputs[0] or ""].shape
        if isinstance(node.op, Blobs):
            return scores[3] - 1
        if isinstance(node.op, Detect) and len(node.inputs) == CORNERS + 1:
            return graph.types[node.inputs[CORNERS] or ""].shape[2]
        if isinstance(node.op, ArgExtreme):
            return scores[node.op.axis]
    return 1  # no classification


def _most_boxes(artifact: Artifact) -> int:
    found = [node.op for node in artifact.graph.nodes if isinstance(node.op, Blobs | Detect)]
    return found[-1].count if found else 0


def _camera(front: Front | None) -> CameraForm | None:
    if not isinstance(front, Picture):
        return None
    return CameraForm(front.width, front.height, front.form, front.crop)
