"""Generated C tells alike functions apart: no two of a golden file have one comment."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

from codegen.compile import compile_job
from codegen.job import read_job
from codegen.options import CompileOptions
from platforms.board_files import load_board

GOLDEN = sorted((Path(__file__).parents[1] / "golden").rglob("*.c"))
# A comment, and on the line after it the first words of a function, up to its name.
COMMENTED = re.compile(
    r"/\*(?P<said>(?:(?!\*/).)*)\*/\n"
    r"(?P<head>(?:static|void|int)\b(?:(?![;{}=]|\*/).)*?)\)\s*\{\n",
    re.DOTALL,
)
NAME = re.compile(r"(?<!__attribute__)\b(?!__)(\w+)\(")
FEWEST = 300  # functions with a comment in all of them


def functions_by_comment(c: str) -> dict[str, list[str]]:
    found: defaultdict[str, list[str]] = defaultdict(list)
    for match in COMMENTED.finditer(c):
        name = NAME.search(match["head"].replace("__attribute__((always_inline))", ""))
        assert name is not None, match["head"]
        found[" ".join(match["said"].split())].append(name[1])
    return found


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_no_two_functions_of_a_file_have_one_comment(path: Path) -> None:
    found = functions_by_comment(path.read_text(encoding="utf-8"))
    assert {said: names for said, names in found.items() if len(names) > 1} == {}


def test_comments_of_functions_are_found() -> None:
    found = [functions_by_comment(path.read_text(encoding="utf-8")) for path in GOLDEN]
    assert sum(map(len, found)) > FEWEST
    text = "/* Twice\n   it. */\nstatic inline int32_t twice(int32_t v)\n{\n"
    assert functions_by_comment(text) == {"Twice it.": ["twice"]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "board"),
    [
        ("tiny_vww_mbv1_int8", "mps2-an386"),
        ("tiny_ic_resnet8_int8", "mps2-an386"),
        ("tiny_ic_resnet8_int8", "mps3-an547"),
        ("tiny_kws_dscnn_int8", "mps3-an547"),
        ("tiny_kws_dscnn_int8", "qemu-riscv32-vectors"),
    ],
)
def test_nor_have_those_of_larger_models(shared_dir: Path, model: str, board: str) -> None:
    (path,) = (shared_dir / "models" / model).glob("*.tflite")
    compiled = compile_job(read_job(path, load_board(board).target, CompileOptions()))
    for text in compiled.sources.values():
        alike = functions_by_comment(text)
        assert {said: names for said, names in alike.items() if len(names) > 1} == {}
