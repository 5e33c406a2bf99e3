"""The folder of evidence: the same bytes each time, never green for what was not run, nothing lost."""

import hashlib
import json
from pathlib import Path

import pytest

import deploy
from aot.errors import InputError, MissingToolError, OutputError
from codegen.options import CompileOptions
from deploy.proving.chapter import Chapter, Finding, Standing
from deploy.proving.make import gather
from deploy.proving.subject import About, Subject, subject_of

DIGITS = Path(deploy.__file__).parent / "demo" / "digits.tflite"


@pytest.fixture(scope="module")
def subject():
    return subject_of(deploy.compile(DIGITS, "mps2-an386"), About(), CompileOptions())


ITSELF = ("sums", "traceability")  # the chapters that need no foreign tool
ASKED = tuple(word for name in ITSELF for word in ("--chapter", name))


def chapter(name: str, verdict: Standing) -> Chapter:
    exceptions = ("except for this",) if verdict is Standing.EXCEPTIONS else ()
    return Chapter(name, name, "?", lambda subject: Finding(verdict, "so it is", exceptions))


def needs_a_tool(subject: Subject) -> Finding:
    raise MissingToolError("the program 'frama-c' is not on PATH")


@pytest.mark.slow
def test_the_same_model_gives_the_same_bytes(subject):
    first, second = gather(subject, ITSELF).files, gather(subject, ITSELF).files
    assert first == second
    for line in first["SHA256SUMS"].decode().splitlines():
        digest, _, name = line.partition("  ")
        assert hashlib.sha256(first[name]).hexdigest() == digest
    assert {"index.html", "evidence.json", "sums.html", "traceability.html"} < first.keys()


@pytest.mark.parametrize(
    ("verdicts", "whole"),
    [
        ([Standing.PROVEN, Standing.PROVEN], Standing.PROVEN),
        ([Standing.PROVEN, Standing.EXCEPTIONS], Standing.EXCEPTIONS),
        ([Standing.NOT_RUN, Standing.EXCEPTIONS], Standing.NOT_RUN),
        ([Standing.FAILED, Standing.NOT_RUN], Standing.FAILED),
    ],
)
def test_the_whole_is_as_good_as_its_worst_chapter(subject, verdicts, whole):
    chapters = [chapter(f"c{n}", verdict) for n, verdict in enumerate(verdicts)]
    assert gather(subject, chapters=chapters).verdict is whole


def test_a_missing_tool_is_reported_on_the_first_page_which_is_not_green(subject):
    chapters = [chapter("first", Standing.PROVEN), Chapter("eva", "EVA", "?", needs_a_tool)]
    evidence = gather(subject, chapters=chapters)
    page = evidence.files["index.html"].decode()
    header = page[page.index("<header>") : page.index("</header>")]
    assert "frama-c&#39; is not on PATH" in page
    assert '<span class="chip open">not run</span>' in header
    assert 'class="chip good"' not in header


def test_chapters_that_were_not_asked_for_count_as_not_run(subject):
    evidence = gather(subject, ["traceability"])
    assert evidence.verdict is Standing.NOT_RUN
    words = {c.name: (f.verdict, f.summary) for c, f in evidence.chapters}
    assert words["sums"] == (Standing.NOT_RUN, "other chapters were asked for: traceability")
    assert words["traceability"][0] is Standing.PROVEN
    with pytest.raises(InputError, match='there is no chapter "tracability" - did you mean "traceability"'):
        gather(subject, ["tracability"])


@pytest.mark.slow
def test_files_changed_by_hand_are_reported_on_the_first_page(tmp_path):
    compiled = deploy.compile(DIGITS, "host")
    project = tmp_path / "project"
    deploy.new(compiled, project)
    clean = deploy.evidence(compiled, project=project, chapter=ITSELF)
    assert clean.as_json()["warnings"] == []
    with (project / "src/model/digits.c").open("a") as file:
        file.write("/* by hand */\n")
    (project / "README.md").unlink()
    changed = deploy.evidence(compiled, project=project, chapter=ITSELF)
    lines = compiled.artifact.sources["digits.c"].count("\n")
    assert changed.warnings == (
        "README.md is missing",
        f"src/model/digits.c differs from what Solder makes, from line {lines + 1} on",
    )
    assert "src/model/digits.c" in changed.files["index.html"].decode()
    chapters = [chapter("all", Standing.PROVEN)]
    assert gather(changed.subject, chapters=chapters).verdict is Standing.FAILED


def test_a_project_of_another_model_is_refused(tmp_path, repo_root):
    compiled = deploy.compile(DIGITS, "host")
    deploy.new(compiled, tmp_path / "project")
    facts = json.loads((tmp_path / "project/project.json").read_text())
    (tmp_path / "project/project.json").write_text(json.dumps({**facts, "model_hash": "0" * 64}))
    with pytest.raises(InputError, match="the project is made of another model"):
        deploy.evidence(compiled, project=tmp_path / "project")
    with pytest.raises(InputError, match="a project does not contain the graph") as caught:
        deploy.evidence(tmp_path / "project")
    assert f"deploy evidence ARCHIVE --project {tmp_path / 'project'}" in caught.value.hint


@pytest.mark.slow
def test_only_an_earlier_folder_is_replaced(subject, tmp_path):
    evidence, place = gather(subject, ITSELF), tmp_path / "evidence"
    evidence.save(place)
    evidence.save(place)
    assert (place / "index.html").is_file()
    (place / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match=r"the folder is not empty and it holds notes\.txt"):
        evidence.save(place)
    assert (place / "notes.txt").read_text() == "mine"
    other = tmp_path / "other"
    other.mkdir()
    (other / "evidence.json").write_text("{}")
    with pytest.raises(OutputError, match="it is not a folder of evidence"):
        evidence.save(other)
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="a file is where the folder should be"):
        evidence.save(tmp_path / "file")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["evidence", "file", "other"]


@pytest.mark.slow
def test_the_command_writes_what_the_function_does(tmp_path, run_deploy):
    archive, place = tmp_path / "digits.tar", tmp_path / "evidence"
    deploy.compile(DIGITS, "host").save(archive)
    said = run_deploy("evidence", archive, *ASKED, "-o", place)
    assert said.status == 0, said.err
    assert said.out.splitlines()[0] == "digits: not run"
    assert said.out.splitlines()[-1] == f"wrote {place}"
    written = {p.relative_to(place).as_posix(): p.read_bytes() for p in place.rglob("*") if p.is_file()}
    assert written == deploy.evidence(archive, chapter=ITSELF).files
    assert run_deploy("evidence", DIGITS).status == 1


def test_a_chapter_that_fails_ends_with_status_1_and_a_folder(tmp_path, run_deploy, monkeypatch):
    monkeypatch.setattr("deploy.proving.sums.largest_sum", lambda *_: 0)
    said = run_deploy("evidence", DIGITS, "--board", "host", *ASKED, "-o", tmp_path / "evidence")
    assert said.status == 1
    assert "the evidence fails in sums" in said.err
    assert '<span class="chip bad">failed</span>' in (tmp_path / "evidence/index.html").read_text()
