"""`deploy bench --baseline` says what is not as in a baseline, and fails where it is worse."""

import copy
from pathlib import Path
from typing import Any

import pytest
from error_facts import refused

import deploy
from deploy.benchmark.baseline_changes import changes_markdown, changes_page, changes_since, require_cases

DIGITS = Path(deploy.__file__).parent / "demo" / "digits.tflite"
BOARD = "mps2-an386"
CASE: dict[str, Any] = {
    "model": "kws",
    "board": BOARD,
    "instructions": 1000,
    "arena_bytes": 500,
    "io_bytes": 0,
    "stack_bytes": None,
    "code_bytes": 4000,
    "toolchain": "gcc 12",
    "cycle_model": {"cycles": 1500},
    "layers": [
        {"index": 0, "op": "conv2d", "shapes": "8x8 -> 8x8", "origin": "CONV_2D #0", "instructions": 700},
        {"index": 1, "op": "dense", "shapes": "8 -> 2", "origin": "FULLY_CONNECTED #1", "instructions": 300},
    ],
}


def changed(**figures: Any) -> dict[str, Any]:
    return copy.deepcopy(CASE) | figures


def test_the_same_figures_are_not_a_change():
    found = changes_since([CASE], [changed()], 0.01)
    assert (found.changes, found.worse, found.new, found.missing, found.other_tools) == ((), (), (), (), ())
    found.require_none_worse()
    assert changes_page(found) == (
        "1 case of the baseline measured again: 0 figures changed, 0 more than 1% worse"
    )


def test_each_figure_is_compared_and_the_limit_counts():
    now = changed(instructions=1010, arena_bytes=506, code_bytes=3000, cycle_model={"cycles": 1516})
    found = changes_since([CASE], [now], 0.01)
    assert [(c.figure, c.before, c.now) for c in found.changes] == [
        ("instructions", 1000, 1010),  # a hundredth more, which the limit allows
        ("model's cycles", 1500, 1516),
        ("arena", 500, 506),
        ("code", 4000, 3000),
    ]
    assert [c.figure for c in found.worse] == ["model's cycles", "arena"]
    refused(
        lambda: found.require_none_worse(),
        "2 1% figures more over mps2-an386 model's 1,500 1,516 +1.1% cycles 500 506 +1.2% arena "
        "deploy --json BASELINE.json",
    )
    changes_since([CASE], [now], 0.02).require_none_worse()


def test_layers_explain_and_do_not_fail():
    """A layer that is slower is one that another one's gain pays for, as long as the model is not."""
    now = changed()
    now["layers"][0]["instructions"] = 900
    now["layers"][1]["index"] = 2  # another layer came in between: it is known by what it computes
    now["layers"][1]["instructions"] = 100
    found = changes_since([CASE], [now], 0.01)
    assert [str(change) for change in found.changes] == [
        "kws on mps2-an386, conv2d 8x8 -> 8x8 CONV_2D #0: instructions 700 -> 900 (+28.6%)",
        "kws on mps2-an386, dense 8 -> 2 FULLY_CONNECTED #1: instructions 300 -> 100 (-66.7%)",
    ]
    found.require_none_worse()


def test_layers_that_are_new_or_gone_are_listed_and_the_others_still_match():
    now = changed()
    pool = {"op": "pool", "shapes": "8x8 -> 4x4", "origin": "AVERAGE_POOL_2D #0", "instructions": 90}
    first, last = now["layers"]
    now["layers"] = [pool, first | {"origin": "CONV_2D #1"}, last | {"shapes": "4 -> 2", "instructions": 150}]
    found = changes_since([CASE], [now], 0.01)
    assert [str(change).partition(", ")[2] for change in found.changes] == [
        "pool 8x8 -> 4x4 AVERAGE_POOL_2D #0: instructions - -> 90 (new)",
        "dense 8 -> 2 FULLY_CONNECTED #1: instructions 300 -> - (gone)",
        "dense 4 -> 2 FULLY_CONNECTED #1: instructions - -> 150 (new)",
    ]
    assert changes_markdown(found).splitlines()[-2].endswith("| instructions | 300 | - | gone |")
    found.require_none_worse()


def test_a_comment_on_other_layers_throughout_is_short_enough():
    def layers(shape: str) -> dict[str, Any]:
        return changed(
            layers=[{"op": "dense", "shapes": shape, "origin": f"FULLY_CONNECTED #{n}", "instructions": n}
                    for n in range(1, 1001)]
        )  # fmt: skip

    text = changes_markdown(changes_since([layers("8 -> 2")], [layers("9 -> 2")], 0.01))
    assert len(text) < 65_536
    assert "- layers: the 200 largest of 2000 changes" in text
    assert "FULLY_CONNECTED #1000 | instructions | - | 1,000 | new |" in text


def test_what_comes_and_goes_is_named():
    found = changes_since(
        [CASE, changed(board="host")], [changed(toolchain="gcc 14"), changed(model="vww")], 0
    )
    assert found.new == ("vww on mps2-an386",)
    assert found.missing == ("kws on host",)
    assert changes_page(found).splitlines()[1:] == [
        "new: vww on mps2-an386",
        "not measured again: kws on host",
        "compiled by gcc 14, the baseline by gcc 12",
    ]


def test_what_was_nothing_is_worse_now():
    assert changes_since([CASE], [changed(io_bytes=4)], 0.5).worse[0].share == 1


def test_markdown_has_a_row_for_each_change():
    text = changes_markdown(changes_since([CASE], [changed(instructions=2000)], 0.01))
    assert text.splitlines()[-1] == ("| kws | mps2-an386 |  | instructions | 1,000 | 2,000 | +100.00% |")
    assert text.splitlines()[0].startswith("- 1 case of the baseline measured again")


REFUSED = {
    "no file": (None, "the baseline cannot be read: No such file or directory"),
    "no JSON": ("model,board", "the baseline is not JSON"),
    "a list as model": ('[{"model": ["x"], "board": "host"}]', "is not output of deploy bench --json"),
    "a layer without op": (
        '[{"model": "x", "board": "host", "layers": [{"shapes": "1 -> 1"}]}]',
        "is not output of deploy bench --json",
    ),
    "a number as layer": (
        '[{"model": "x", "board": "host", "layers": [3]}]',
        "is not output of deploy bench",
    ),
    "another JSON": ('[{"name": 1}]', "the baseline is not output of deploy bench --json"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_file_that_is_not_a_baseline_is_refused(case, tmp_path, run_deploy):
    text, said = REFUSED[case]
    path = tmp_path / "baseline.json"
    if text is not None:
        path.write_text(text)
    outcome = run_deploy("bench", DIGITS, "--board", BOARD, "--baseline", path)
    assert outcome.status == 1
    assert said in outcome.err
    assert "create one with: deploy bench MODEL --board B --json > BASELINE.json" in outcome.err


def test_a_case_that_could_not_be_measured_then_is_new_now():
    assert require_cases([{"model": "kws", "board": BOARD, "error": "no room"}], "here") == []


def test_percentages_are_read(run_deploy):
    assert (
        "--worse must be a percentage of 0 or more, not -1"
        in run_deploy("bench", DIGITS, "--board", BOARD, "--worse=-1").err
    )
    alone = run_deploy("bench", DIGITS, "--board", BOARD, "--markdown")
    assert "--markdown needs --baseline" in alone.err


@pytest.mark.arm
@pytest.mark.qemu
def test_a_model_against_itself_and_against_a_slower_self(tmp_path, run_deploy):
    path = tmp_path / "baseline.json"
    path.write_text(run_deploy("bench", DIGITS, "--board", BOARD, "--layers", "--json").out)
    again = run_deploy("bench", DIGITS, "--board", BOARD, "--layers", "--baseline", path)
    assert again.status == 0, again.err
    assert again.out.startswith("1 case of the baseline measured again: 0 figures changed")
    small = run_deploy(
        "bench", DIGITS, "--board", BOARD, "--optimize", "size", "--baseline", path, "--markdown"
    )
    assert small.status == 1
    assert "figures more than 1% over the baseline" in small.err or "1 figure more than" in small.err
    assert "| digits | mps2-an386 |  | instructions | " in small.out
    answer = deploy.bench(DIGITS, board=BOARD, optimize="size", baseline=path)
    assert answer["changes"]["worse"][0]["figure"] == "instructions"
