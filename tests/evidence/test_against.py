"""Evidence is compared with that of an earlier folder: what a change invalidates, and nothing else."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from strict_archives import STRICT
from tiny_models import TINY

from aot.errors import InputError
from aot.frontend.tflite.read import read_tflite
from aot.ir.graph import Graph
from artifact.archive import write_archive
from artifact.artifact import Artifact, artifact_of
from codegen.compile import compile_job
from codegen.job import ImportedModel, Job
from deploy.proving.chapter import Chapter, Finding, Standing
from deploy.proving.gathered import Evidence
from deploy.proving.make import gather
from deploy.proving.subject import Subject
from deploy.proving.table import CHAPTERS
from deploy.proving.tracing.against import Changes, Fate, read_older
from platforms.board_files import load_board
from platforms.templates import c_files

ITSELF = ("sums", "traceability")  # the chapters that need no foreign tool


def model(name: str = "classifier") -> Graph:
    return read_tflite(TINY[name](), f"{name}.tflite", "tflm")


def artifact(graph: Graph, digest: str = "cd" * 32) -> Artifact:
    imported = ImportedModel(graph, "net.tflite", digest, "net")
    model = compile_job(Job(imported, load_board("nucleo-f446re").target, STRICT))
    return artifact_of(model, {name: text.encode() for name, text in c_files("common")})


def with_another_weight(graph: Graph) -> Graph:
    """The graph with one weight of its first convolution nearer to zero by one: no scale changes."""
    conv = next(node for node in graph.nodes if node.op.name == "conv2d")
    name = conv.inputs[1] or ""
    weights = graph.constants[name].copy()
    place = np.unravel_index(
        int(np.argmax(weights == np.sort(weights, axis=None)[weights.size // 3])), weights.shape
    )
    weights[place] += 1 if weights[place] < 0 else -1
    return replace(graph, constants={**graph.constants, name: weights})


def answered(name: str, tools: Sequence[str] = (), said: str = "so it is") -> Chapter:
    """A chapter of the table as it is, with an answer that costs nothing."""
    real = next(each for each in CHAPTERS if each.name == name)
    return replace(real, examine=lambda subject: Finding(Standing.PROVEN, said, tools=tuple(tools)))


def table(tools: Sequence[str] = ("gcc 12.2",), said: str = "so it is") -> list[Chapter]:
    by_name = {"stack-and-memory": tools, "time": tools}
    return [answered(each.name, by_name.get(each.name, ()), said) for each in CHAPTERS]


def compared(before: Evidence, after: Evidence, folder: Path) -> Changes:
    before.save(folder)
    changes = replace(after, older=read_older(folder)).changes
    assert changes is not None
    return changes


@pytest.fixture(scope="module")
def graph():
    return model()


@pytest.fixture(scope="module")
def subject(graph):
    return Subject(artifact(graph), load_board("nucleo-f446re"))


@pytest.mark.slow
def test_the_same_archive_invalidates_nothing(graph, subject, tmp_path):
    again = Subject(artifact(graph), load_board("nucleo-f446re"))
    found = compared(gather(subject, chapters=table()), gather(again, chapters=table()), tmp_path / "old")
    assert (found.invalid, found.layers) == ((), ())
    assert {each.outcome for each in found.chapters} == {Fate.STANDS}
    assert found.summary == (
        f"nothing of the older folder's evidence is invalid: it answers {len(CHAPTERS)} chapters"
    )


def test_another_weight_invalidates_what_rests_on_it(graph, subject, tmp_path):
    """Its layer alone; code, stack and coding standard do not rest on the values of constants."""
    other = replace(subject, artifact=artifact(with_another_weight(graph), "ab" * 32))
    found = compared(gather(subject, chapters=table()), gather(other, chapters=table()), tmp_path / "old")
    stand = {each.chapter for each in found.chapters if each.outcome is Fate.STANDS}
    assert stand == {"coding-standard", "stack-and-memory"}
    (layer,) = found.layers
    assert layer.changed[:1] == ("constants of operators",)
    assert "conv2d" in layer.layer
    reasons = {each.chapter: each.reasons for each in found.chapters}
    assert "constants of operators changed" in reasons["sums"]
    assert "the model file changed" in reasons["traceability"]
    assert {layer.layer} == {each for chapter in found.chapters for each in chapter.layers}


def test_another_compiler_invalidates_what_it_built(subject, tmp_path):
    after = gather(subject, chapters=table(("gcc 13.3",)))
    found = compared(gather(subject, chapters=table()), after, tmp_path / "old")
    assert found.invalid == ("stack-and-memory", "time")
    assert found.layers == ()
    reasons = {each.reasons for each in found.chapters if each.reasons}
    assert reasons == {("another tool: gcc 12.2 became gcc 13.3",)}


def test_another_board_invalidates_stack_and_time(subject, tmp_path):
    other = replace(subject, board=load_board("mps2-an386"))
    found = compared(gather(subject, chapters=table()), gather(other, chapters=table()), tmp_path / "old")
    assert found.invalid == ("stack-and-memory", "time", "rebuild", "tool-confidence")


@pytest.mark.slow
def test_a_chapter_that_is_not_run_again_stands_by_the_older_folder(subject, tmp_path):
    after = gather(subject, ["sums"], chapters=table())
    found = compared(gather(subject, chapters=table()), after, tmp_path / "old")
    by_name = {each.chapter: each for each in found.chapters}
    assert by_name["traceability"].outcome is Fate.STANDS
    assert str(by_name["time"]) == "stands if its tools are the same: its tools: gcc 12.2"
    back = compared(after, gather(subject, chapters=table()), tmp_path / "less")
    assert {each.chapter: each.outcome for each in back.chapters}["time"] is Fate.NONE


def test_another_answer_without_a_reason_is_reported(subject, tmp_path):
    after = gather(subject, chapters=table(said="so it was"))
    found = compared(gather(subject, chapters=table()), after, tmp_path / "old")
    assert len(found.invalid) == len(CHAPTERS)
    assert {each.outcome for each in found.chapters} == {Fate.UNEXPLAINED}


def test_layers_that_come_and_go_are_reported(subject, tmp_path):
    other = replace(subject, artifact=artifact(model("dense")))
    found = compared(gather(subject, chapters=table()), gather(other, chapters=table()), tmp_path / "old")
    words = {word for layer in found.layers for word in layer.changed}
    assert {"the layer is new", "the layer is gone"} <= words
    assert all("sums" in layer.chapters for layer in found.layers)


@pytest.mark.slow
def test_the_first_page_and_the_facts_say_it(graph, subject, tmp_path):
    gather(subject, chapters=table()).save(tmp_path / "old")
    other = replace(subject, artifact=artifact(with_another_weight(graph), "ab" * 32))
    files = gather(other, chapters=table(), older=read_older(tmp_path / "old")).files
    page, facts = files["index.html"].decode(), json.loads(files["evidence.json"])
    assert facts["against"]["summary"] in page
    assert facts["against"]["summary"].startswith(f"the older folder answers {len(CHAPTERS)} chapters")
    assert "constants of operators changed" in page
    assert facts["against"]["model_hash"] == "cd" * 32
    assert json.loads(gather(other, chapters=table()).files["evidence.json"])["against"] is None


def test_what_is_not_a_folder_of_evidence_is_refused(subject, tmp_path):
    with pytest.raises(InputError, match="it is not a folder of evidence") as caught:
        read_older(tmp_path)
    assert caught.value.hint == "make a folder: deploy evidence OLDER.tar -o OLDER_FOLDER"
    (tmp_path / "evidence.json").write_text('{"solder": 3}')
    (tmp_path / "SHA256SUMS").touch()
    with pytest.raises(InputError, match="it is not a folder of evidence"):
        read_older(tmp_path)
    place = tmp_path / "old"
    gather(subject, chapters=table()).save(place)
    path = place / "evidence.json"
    path.write_text(path.read_text().replace("so it is", "so it was"))
    with pytest.raises(InputError, match=r"evidence\.json is not the file that SHA256SUMS lists"):
        read_older(place)


def test_a_folder_of_another_schema_is_refused(subject, tmp_path, monkeypatch):
    gather(subject, chapters=table()).save(tmp_path / "old")
    monkeypatch.setattr("deploy.proving.tracing.against.SCHEMA", 3)
    with pytest.raises(InputError, match=r"its evidence\.json has schema 2, and 3 can be compared"):
        read_older(tmp_path / "old")


def test_the_command_compares(subject, graph, tmp_path, run_deploy):
    write_archive(subject.artifact, tmp_path / "old.tar")
    write_archive(artifact(with_another_weight(graph), "ab" * 32), tmp_path / "new.tar")
    asked = [word for name in ITSELF for word in ("--chapter", name)]
    assert run_deploy("evidence", tmp_path / "old.tar", *asked, "-o", tmp_path / "old").status == 0
    said = run_deploy("evidence", tmp_path / "new.tar", *asked, "--baseline", tmp_path / "old")
    assert said.status == 0, said.err
    assert (
        "the older folder answers 2 chapters, of which 2 are invalid now: sums, traceability; 1 layer changed"
    ) in said.out
    assert run_deploy("evidence", tmp_path / "new.tar", "--baseline", tmp_path).status == 1
