"""What the evidence of the reference models says, a table for each chapter, and what it took to find it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.shared import model_file
from codegen.options import read_options
from deploy.proving.gathered import Evidence
from deploy.proving.make import gather
from deploy.proving.subject import About, subject_of
from platforms.board_files import load_board

BOARD = "mps2-an386"
MODELS = {
    "hello_world": "tflm_hello_world_int8",
    "digits": "",  # the bundled one
    "anomaly detection": "tiny_ad_fc_int8",
    "keyword spotting": "tiny_kws_dscnn_int8",
    "micro_speech": "tflm_micro_speech_int8",
    "image classification": "tiny_ic_resnet8_int8",
    "visual wake words": "tiny_vww_mbv1_int8",
    "person_detect": "tflm_person_detect_int8",
}
HEAD = f"""\
# Evidence of the reference models

What `deploy evidence --board {BOARD}` says of them, chapter by chapter, with the processor time that a
chapter took. `python -m benchmarks evidence` prints this; what the chapters ask is in
[docs/evidence.md](../docs/evidence.md).
"""


@dataclass(frozen=True, slots=True)
class AskedChapter:
    name: str
    title: str
    options: Mapping[str, object]  # of the compiler


STRICT: Mapping[str, object] = {"dialect": "strict"}
ASKED = (
    AskedChapter(
        "undefined-behaviour", "Undefined behaviour, of any input: Frama-C's EVA over strict C", STRICT
    ),
    AskedChapter("coverage", "Branches, of strict C and of the runtime", STRICT),
    AskedChapter("coding-standard", "MISRA C:2012 and CERT C, of strict C and of the runtime", STRICT),
    AskedChapter("time", "Cycles: least, most, and bound", {}),
    AskedChapter("stack-and-memory", "Stack and memory", {}),
)


def evidence_rows(*chapters: str) -> Iterator[str]:
    """The tables of these chapters, or of all, as they come."""
    for asked in (each for each in ASKED if not chapters or each.name in chapters):
        yield f"\n## {asked.title}\n\n| model | verdict | found | processor s |\n|---|---|---|---:|\n"
        for name in MODELS:
            yield _row(name, asked)


def _row(name: str, asked: AskedChapter) -> str:
    began = _processor_s()
    found = _evidence(name, asked)
    finding = next(finding for chapter, finding in found.chapters if chapter.name == asked.name)
    spent = _processor_s() - began
    return f"| {name} | {finding.verdict.value} | {finding.summary} | {spent:.0f} |\n"


def _evidence(name: str, asked: AskedChapter) -> Evidence:
    file = model_file(MODELS[name]) if MODELS[name] else Path("deploy/demo/digits.tflite")
    options = read_options(asked.options)
    return gather(subject_of(file, About(board=load_board(BOARD)), options), [asked.name])


def _processor_s() -> float:
    """The processor time of this process and of those that it waited for."""
    import resource  # which Windows has not

    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)
