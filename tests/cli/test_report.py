"""`deploy report` says the same in a web page, in Markdown and in JSON, and what it says is so."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import deploy
from deploy.reporting import columns
from deploy.reporting.badge import badge_of
from deploy.reporting.layer_values import MOST_SAMPLES
from deploy.reporting.model_report import MARK

DEMO = Path(deploy.__file__).parent / "demo"
DIGITS = DEMO / "digits.tflite"
ROOMY, TIGHT = "nucleo-l4r5zi", "arduino-uno"


@pytest.fixture(scope="module")
def labelled():
    images = np.load(DEMO / "digits_test.npz")
    return {"image": images["image"], "labels": np.load(DEMO / "digits_labels.npy")}


@pytest.fixture
def labelled_file(labelled, tmp_path):
    path = tmp_path / "labelled.npz"
    np.savez(path, **labelled)
    return path


@pytest.fixture(scope="module")
def report():
    return deploy.report(DIGITS, board=ROOMY)


@pytest.fixture(scope="module")
def facts(report):
    (board,) = report.as_json()["boards"]
    return dict(board)


@pytest.mark.slow
def test_each_form_is_written_and_is_the_same_each_time(tmp_path, run_deploy, few_boards):
    again = deploy.report(DIGITS, board=(ROOMY, "host"))
    for suffix in (".html", ".md", ".json", ".svg"):
        path, other = tmp_path / f"report{suffix}", tmp_path / f"again{suffix}"
        said = run_deploy("report", DIGITS, "--board", ROOMY, "host", "-o", path)
        assert said.status == 0, said.err
        assert said.out.endswith(f"wrote {path}\n")
        assert said.out.startswith(f"{ROOMY}: the model alone fits: ")
        again.save(other)
        assert other.read_bytes() == path.read_bytes()


@pytest.mark.slow
def test_a_badge_has_the_numbers_of_the_report_in_readable_colors(report):
    facts = report.as_json()
    (board,) = facts["boards"]
    facts["boards"].append(
        {**board, "board": "tight", "fits": False, "ram_there": 1536, "counts_firmware": True}
    )
    facts["boards"].append({**board, "board": "host & <more>", "counts_firmware": True})
    root, name = ElementTree.fromstring(badge_of(facts, MARK)), "{http://www.w3.org/2000/svg}"
    texts = list(root.iter(f"{name}text"))
    ram, flash = (f"{board[f'{kind}_bytes'] / 1024:.1f}" for kind in ("ram", "flash"))
    assert [text.text for text in texts] == [
        f"digits on {ROOMY}",
        f"the model alone fits: {ram} of 640 KB RAM, {flash} of 2,048 KB flash",
        "digits on tight",
        f"does not fit: {ram} of 1.5 KB RAM, {flash} of 2,048 KB flash",
        "digits on host & <more>",
        f"fits: {ram} of 640 KB RAM, {flash} of 2,048 KB flash",
    ]
    assert all(str(text.text) in str(root.findtext(f"{name}title")) for text in texts)
    for cell, text in zip(root.iter(f"{name}rect"), texts, strict=True):
        assert int(text.get("textLength", "0")) < int(cell.get("width", "0"))
        assert contrast(str(cell.get("fill")), "#ffffff") >= 4.5


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG."""

    def light(color: str) -> float:
        parts = (int(color[at : at + 2], 16) / 255 for at in (1, 3, 5))
        red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    dark, bright = sorted((light(one), light(other)))
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.slow
def test_the_page_needs_no_network_and_runs_no_script_but_its_own(report):
    page = page_text(report)
    named = page.replace("http://www.w3.org/2000/svg", "")  # a name, which nothing is loaded from
    assert "http" not in named.replace("http-equiv", "")
    assert "default-src 'none'" in page
    assert page.count("<svg ") == 1


def page_text(report: Any) -> str:
    return str(report._text(".html"))


@pytest.mark.slow
def test_without_a_file_markdown_is_printed_or_the_facts(report, run_deploy):
    assert run_deploy("report", DIGITS, "--board", ROOMY).out == str(report)
    assert json.loads(run_deploy("report", DIGITS, "--board", ROOMY, "--json").out) == report.as_json()


@pytest.mark.slow
def test_needs_and_layers_are_those_of_inspect(facts):
    inspected = deploy.inspect(DIGITS, board=ROOMY).as_json(memory=True)
    assert facts["memory"] == inspected["memory"]
    assert facts["arena"] == inspected["arena"]
    assert [layer["kernel"] for layer in facts["layers"]] == [
        layer["kernel"] for layer in inspected["layers"]
    ]
    for budget in facts["memory"]:
        assert sum(budget["parts"].values()) == budget["needed_bytes"]
    assert facts["cycles"] is None


@pytest.mark.slow
def test_each_other_option_is_what_inspect_says_of_it(facts):
    base = ram_of(facts)
    by_flag = {each["flag"]: each for each in facts["other_options"]}
    for flag, option in {
        "--optimize ram": {"optimize": "ram"},
        "--optimize size": {"optimize": "size"},
        "--stream": {"stream": True},
    }.items():
        needed = ram_of(deploy.inspect(DIGITS, board=ROOMY, **option).as_json())  # type: ignore[arg-type]
        assert by_flag[flag]["ram_bytes"] == needed
        assert by_flag[flag]["ram_change"] == needed - base


def ram_of(facts: dict[str, Any]) -> int:
    return sum(each["needed_bytes"] for each in facts["memory"] if each["role"] == "ram")


@pytest.mark.slow
def test_smaller_boards_are_named_that_have_room(facts):
    assert facts["other_boards"][0]["name"] == TIGHT
    for other in facts["other_boards"]:
        assert deploy.inspect(DIGITS, board=other["name"]).fits
        assert other["ram_bytes"] <= facts["ram_there"]


@pytest.mark.slow
def test_a_model_without_room_is_reported_with_what_would_do(kws):
    (board,) = deploy.report(kws, board=TIGHT).as_json()["boards"]
    assert not board["fits"]
    ram, flash, most = board["verdict"]
    assert ram.startswith("does not fit")
    assert flash.startswith("does not fit")
    assert most.startswith("peak at layer ")
    assert board["other_boards"]
    assert all(deploy.inspect(kws, board=each["name"]).fits for each in board["other_boards"])


@pytest.fixture
def kws(shared_dir):
    return shared_dir / "models" / "tiny_kws_dscnn_int8" / "model.tflite"


@pytest.mark.slow
def test_answers_on_labelled_data(labelled, few_boards):
    facts = deploy.report(DIGITS, board=ROOMY, data=labelled).as_json()
    outputs = deploy.load(DIGITS).run({"image": labelled["image"]})
    right = np.argmax(outputs["digit"].reshape(360, 10), axis=1) == labelled["labels"]
    assert facts["data"]["accuracy"] == pytest.approx(right.mean())
    assert facts["data"]["samples_watched"] == MOST_SAMPLES
    wrong = sum(e["samples"] for e in facts["data"]["confusion"] if e["label"] != e["found"])
    assert wrong == int((~right).sum()) > 0
    first = facts["boards"][0]["layers"][0]["values"]
    watched = labelled["image"][:MOST_SAMPLES].astype(int)
    assert first["at_least"] == pytest.approx((watched == -128).mean())
    assert first["range_used"] == pytest.approx((watched.max() - watched.min()) / 255)


@pytest.mark.slow
def test_layers_are_held_against_the_float_model(shared_dir, few_boards):
    """A float model and what was made of it: convolutions keep most of the signal."""
    integer, real = (shared_dir / "models" / f"tiny_ic_resnet8_{kind}" for kind in ("int8", "f32"))
    path = integer / "model.tflite"
    samples = np.load(integer / "real.npz")["in_0"][:2]
    data = {next(iter(deploy.load(path).inputs)): samples}
    report = deploy.report(path, board=ROOMY, data=data, float_model=real / "model.tflite")
    layers = report.as_json()["boards"][0]["layers"]
    told = [layer["values"]["decibels"] for layer in layers if layer["op"] == "conv2d"]
    assert len(told) == 7
    assert all(20 < decibels < 45 for decibels in told)
    assert "dB to float" in str(report)


@pytest.mark.slow
def test_another_network_beside_the_model_is_doubted():
    values = [{"decibels": decibels} for decibels in (-1.0, -2.0, 30.0)]
    assert columns.doubt(values[1:], "f.tflite") == ""
    assert columns.doubt([{"decibels": None}], "f.tflite") == ""
    assert columns.doubt(values, "f.tflite") == (
        "Most layers differ from those of f.tflite by more than their own values: the float model is "
        "probably not its source."
    )


@pytest.mark.slow
def test_boards_may_stand_behind_one_flag_or_each_behind_its_own(run_deploy, few_boards):
    each = run_deploy("report", DIGITS, "--board", ROOMY, "--board", "host")
    both = run_deploy("report", DIGITS, "--board", ROOMY, "host")
    assert each.out == both.out
    assert f"## {ROOMY}" in each.out
    assert "## host" in each.out


def test_times_have_all_their_digits():
    assert [columns.FORMS["milliseconds"](s) for s in (1.5599, 0.0575, 0.00006)] == [
        "1,560 ms",
        "57.5 ms",
        "0.06 ms",
    ]


@pytest.mark.slow
def test_an_archive_is_reported_as_it_is(facts, tmp_path, run_deploy):
    archive = tmp_path / "digits.tar"
    deploy.compile(DIGITS, board=ROOMY).save(archive)
    (ours,) = deploy.report(archive, board=ROOMY).as_json()["boards"]
    assert ours["memory"] == facts["memory"]
    assert ours["other_options"] == ours["other_boards"] == []
    measured = run_deploy("report", archive, "--board", ROOMY, "--measure")
    assert measured.status == 1
    assert "--measure needs a model file" in measured.err
    other = run_deploy("report", archive, "--board", "arduino-uno")
    assert "was compiled for cortex-m4" in other.err


@pytest.mark.arm
def test_cycles_are_those_of_bench(require_package, few_boards):
    require_package("unicorn", "capstone")
    (board,) = deploy.report(DIGITS, board=ROOMY, measure=True).as_json()["boards"]
    benched = deploy.bench(DIGITS, board=ROOMY, emulated=True, layers=True)
    assert board["cycles"] == benched["cycle_model"]["cycles"]
    by_layer = [layer["cycle_model"]["cycles"] for layer in benched["layers"]]
    assert [layer["cycles"] for layer in board["layers"]] == by_layer
    assert any(option["cycles_change"] for option in board["other_options"])


REFUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "another ending": (("-o", "report.pdf"), "a report must be .html, .md, .json, .svg, not .pdf"),
    "a float model and no data": (
        ("--float-model", str(DIGITS)),
        "--float-model needs --data",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case, run_deploy):
    words, said = REFUSED[case]
    outcome = run_deploy("report", DIGITS, "--board", ROOMY, *words)
    assert outcome.status == 1
    assert said in outcome.err


def test_labels_that_do_not_match_are_refused(labelled):
    with pytest.raises(deploy.DeployError, match="there are 360 samples"):
        deploy.report(DIGITS, board=ROOMY, data={**labelled, "labels": labelled["labels"][1:]})


def test_a_quantised_float_model_is_refused(labelled_file, run_deploy):
    words = ("--data", labelled_file, "--float-model", DIGITS)
    outcome = run_deploy("report", DIGITS, "--board", ROOMY, *words)
    assert "the --float-model is itself quantized" in outcome.err


def test_a_file_of_the_users_is_left_alone(tmp_path, run_deploy):
    path = tmp_path / "mine.html"
    path.write_text("<p>mine</p>")
    outcome = run_deploy("report", DIGITS, "--board", ROOMY, "-o", path)
    assert outcome.status == 1
    assert "the file exists and is not a report, so it is not overwritten" in outcome.err
    assert path.read_text() == "<p>mine</p>"
