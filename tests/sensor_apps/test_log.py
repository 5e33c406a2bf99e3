"""Programs for a sensor as people read their log, and what they refuse at the start."""

import binascii
from collections.abc import Mapping
from typing import Any

import pytest
from error_facts import refused, require_facts
from tiny_models import TINY

import deploy
from aot.errors import InputError
from deploy.sensors.sensor_apps import SensorChoices, with_pipeline
from deploy.sensors.sensor_log_page import LogReader
from platforms.project import App, project_source


def line(text: str) -> bytes:
    return f"${text}*{binascii.crc_hqx(text.encode(), 0xFFFF):04X}\n".encode()


START = line("APP,1,kws,words,1000000,1000000,50,2")
RUN = line("RUN,1,50,yes,996,520000,250000")
QUIET = line("RUN,2,75,,412,510000,250000")
GAP = line("GAP,2,90,7,2,0")
STALL = line("GAP,2,90,7,3,1")
END = line("END,2,100,7,3,1")
WHOLE = b"hello\n" + START + RUN + QUIET + GAP + STALL + END
SHOWN = [
    "hello",
    "kws with words: windows of 50 rows, 1,000 ms, 2 open at a time",
    "    1.00 s  yes            0.996      520.00 ms   busy  25.0 %",
    "    1.50 s  -              0.412      510.00 ms   busy  50.0 %",
    "    1.80 s  7 rows lost: the windows start again",
    "    1.80 s  the sensor delivers nothing: the windows start again",
    "    2.00 s  the end",
]
SUMMARY = [
    "2 windows, 1 decision: yes 1",
    "lost: 7 rows, 3 windows given up, 1 stall",
    "latency: 515.00 ms (median), 520.00 ms at most; busy  33.3 %",
]


def shown(sent: bytes, reader: LogReader | None = None) -> list[str]:
    reader = reader or LogReader()
    return [*reader.feed(sent), *reader.summary()]


def test_a_log_is_explained():
    assert shown(WHOLE) == SHOWN + SUMMARY


def test_it_may_come_byte_by_byte():
    reader = LogReader()
    assert [text for byte in WHOLE for text in reader.feed(bytes([byte]))] == SHOWN
    assert list(reader.summary()) == SUMMARY


def test_an_emulators_time_is_reported_in_instructions():
    told = shown(START + RUN, LogReader(lambda ticks: ticks * 2))
    assert told[1] == "    1.00 s  yes            0.996      1,040,000 instructions"
    assert told[-1] == (
        "latency: 1,040,000 instructions (median), 1,040,000 instructions at most; "
        "busy with 500,000 instructions a second"
    )


def test_without_a_known_time_rows_are_reported():
    told = shown(line("APP,1,kws,words,1000000,0,50,1") + RUN)
    assert told[0] == "kws with words: windows of 50 rows, an unknown time"
    assert told[1] == "row     50  yes            0.996      520.00 ms"


def test_boxes_stand_behind_their_run_and_are_counted():
    boxes = [line("BOX,1,circle,931,12,20,44,52"), line("BOX,1,square,700,0,1,9,10")]
    told = shown(
        line("APP,1,detect,shapes,1000000,200000,60,1") + line("RUN,1,60,circle,931,100,100") + boxes[0]
    )
    assert told[2:] == [
        "            circle         0.931   at 12,20 to 44,52",
        "1 window, 1 decision: circle 1",
        "1 thing in boxes: circle 1",
        *told[-2:],
    ]
    again = shown(START + RUN + b"".join(boxes) + START + RUN + boxes[1])
    assert "1 thing in boxes: square 1" in again


def test_a_damaged_line_is_lost_and_counted():
    told = shown(START + RUN.replace(b"yes", b"yet") + QUIET + b"$RUN,3\n" + END)
    assert "a line is lost: its checksum is wrong: $RUN,1,50,yet,996,520000,250000*" in told[1]
    assert told[3] == "a line is lost: it is incomplete: $RUN,3"
    assert "the log itself: 1 window without a line, 2 damaged lines" in told


@pytest.mark.parametrize(
    ("record", "why"),
    [
        ("NEW,1", "its name is not known"),
        ("RUN,1,50", "its fields do not match its record"),
        ("RUN,1,x,yes,1,2,3", "its fields do not match its record"),
        ("GAP,1,2,3,4,5,6", "its fields do not match its record"),
    ],
)
def test_a_record_that_is_none_is_reported(record, why):
    sent = line(record)
    assert shown(START + sent)[1] == f"a line is lost: {why}: {sent.decode().strip()}"


def test_what_never_ends_is_not_a_line():
    told = shown(START + b"x" * 10_000)
    assert len(told[1]) > 4096


def test_commands_to_the_terminal_are_spelt_out():
    assert shown(b"\x1b[2Jhi\xff\n")[0] == "\\x1b[2Jhi\ufffd"


def test_a_program_that_is_started_again_begins_anew():
    assert shown(WHOLE + START + RUN)[-3:] == [
        "1 window, 1 decision: yes 1",
        "lost: 0 rows, 0 windows given up, 0 stalls",
        "latency: 520.00 ms (median), 520.00 ms at most; busy  25.0 %",
    ]


def test_a_log_of_another_format_is_refused():
    refused(
        lambda: shown(line("APP,2,kws,words,1,1,1,1,1")),
        "2 1 program writes logs Solder decode version",
        InputError,
    )


def test_the_command_explains_a_file(tmp_path, run_deploy):
    path = tmp_path / "log.txt"
    path.write_bytes(WHOLE)
    outcome = run_deploy("monitor", path, "--decode")
    assert outcome.status == 0
    assert outcome.out.splitlines() == SHOWN + SUMMARY


def test_a_program_that_has_failed_is_an_error(tmp_path, run_deploy):
    path = tmp_path / "log.txt"
    path.write_bytes(START + line("FAULT,no.wav: No such file or directory") + END)
    outcome = run_deploy("monitor", path, "--decode")
    assert outcome.status == 1
    assert outcome.err == "error: the program has ended: no.wav: No such file or directory\n"


def test_what_is_not_a_log_is_refused(tmp_path, run_deploy):
    path = tmp_path / "log.txt"
    path.write_bytes(b"y / 1000: 0 1 2\n")
    outcome = run_deploy("monitor", path, "--decode")
    assert outcome.status == 1
    require_facts(outcome.err, "sensor found input deploy --app $APP,...")


LABELS = "a,b,c,d,e"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model with 8x8 pixels and five classes."""
    path = tmp_path_factory.mktemp("model") / "tiny.tflite"
    path.write_bytes(TINY["classifier"]())
    return path


@pytest.fixture(scope="module")
def archives(model):
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
def test_it_is_reported(name, archives, tmp_path):
    archive, words, facts = WRONG[name]
    refused(lambda: deploy.new(archives[archive], tmp_path / "p", **{"app": "kws", **words}), facts)
    assert not (tmp_path / "p").exists()


def test_a_platform_without_templates_for_sensors_is_reported(archives):
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
def test_a_recording_is_refused(name, archives, tmp_path):
    data, facts = RECORDINGS[name]
    path = tmp_path / "in.csv"
    path.write_bytes(data)
    made = archives["for a board"]
    refused(lambda: deploy.new(made, tmp_path / "p", app="kws", recording=path), f"{path} {facts}")


def test_labels_may_stand_in_a_file(archives, tmp_path):
    (tmp_path / "labels.txt").write_text("one\ntwo\nthree\nfour\nfive\n")
    labels = str(tmp_path / "labels.txt")
    deploy.new(archives["for this computer"], tmp_path / "p", app="kws", class_names=labels)
    assert '    "three",\n' in (tmp_path / "p" / "src" / "decision.c").read_text()


def test_a_project_without_a_log_is_not_decoded(archives, tmp_path, run_deploy):
    deploy.new(archives["for this computer"], tmp_path / "p", app="standalone")
    outcome = run_deploy("monitor", tmp_path / "p", "--decode")
    assert outcome.status == 1
    require_facts(outcome.err, f"standalone no log {tmp_path}/p --app kws, image, detect, motion, anomaly")
