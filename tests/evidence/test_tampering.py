"""Tampers with archives, projects, tools and results: no page may be better for it than it should be.

Each change redoes the hashes, as anyone can.
"""

import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import deploy
from aot.errors import InputError
from artifact.archive import read_archive, write_archive
from artifact.artifact import Artifact
from deploy.proving.chapter import Standing
from deploy.proving.gathered import Evidence

DIGITS = Path(deploy.__file__).parent / "demo" / "digits.tflite"
BOARD = "mps2-an386"
SRC, INC = "codegen/host/src", "codegen/host/include"
BACKDOOR = "if (in->image[0] == 42) {\n        out->digit[0] = 7;\n    }\n    "


# --- archives


def in_file(path: str, old: str, new: str) -> Callable[[Artifact], Artifact]:
    """A change of one place of a text in the archive."""

    def change(made: Artifact) -> Artifact:
        text, times = re.subn(old, new, made.files[path].decode(), count=1)
        assert times == 1, f"{path} has no {old}"
        return replace(made, files={**made.files, path: text.encode()})

    return change


def with_file(path: str, data: bytes) -> Callable[[Artifact], Artifact]:
    return lambda made: replace(made, files={**made.files, path: data})


def without_file(path: str) -> Callable[[Artifact], Artifact]:
    return lambda made: replace(made, files={p: d for p, d in made.files.items() if p != path})


def other_byte(path: str, at: int) -> Callable[[Artifact], Artifact]:
    def change(made: Artifact) -> Artifact:
        data = bytearray(made.files[path])
        data[at] ^= 1
        return replace(made, files={**made.files, path: bytes(data)})

    return change


def other_why(made: Artifact) -> Artifact:
    """Kernels no longer say how they multiply, by which the chapter on sums finds its bound."""
    layers = tuple(replace(layer, why="any") for layer in made.facts.layers)
    return replace(made, facts=replace(made.facts, layers=layers))


def other_flags(made: Artifact) -> Artifact:
    return replace(made, facts=replace(made.facts, c_flags=(*made.facts.c_flags, "-w")))


def other_hash(made: Artifact) -> Artifact:
    """Another model file's hash, wherever the archive has it."""
    old, new = made.facts.model_hash, "ab" * 32
    spelled = [", ".join(f"0x{each:02x}" for each in bytes.fromhex(h)[:8]) for h in (old, new)]
    pairs = ((old, new), (old[:16], new[:16]), spelled)
    files = dict(made.files)
    for before, after in pairs:
        files = {path: data.replace(before.encode(), after.encode()) for path, data in files.items()}
    return replace(made, facts=replace(made.facts, model_hash=new), files=files)


@dataclass(frozen=True)
class Tampering:
    """A change, and the chapters that must fail for it, each with words of its summary."""

    change: Callable[..., object]
    fails: Mapping[str, str]
    dialect: str = "strict"


def each(*chapters: str, says: str) -> Mapping[str, str]:
    return dict.fromkeys(chapters, says)


ARCHIVES = {
    "C that acts otherwise on one input": Tampering(
        in_file(
            f"{SRC}/digits.c",
            r"(int32_t digits_run\((?:.*\n)*?    )(return (?:0|DIGITS_OK);)",
            rf"\1{BACKDOOR}\2",
        ),
        each(
            "sums",
            "traceability",
            "coverage",
            "rebuild",
            says=f"{SRC}/digits.c differs from what Solder makes",
        ),
    ),
    "a macro in the header": Tampering(
        in_file(f"{INC}/digits.h", r"(#define DIGITS_ARENA_BYTES) \d+", r"\1 64"),
        each("traceability", "rebuild", says=f"{INC}/digits.h differs from what Solder makes, from line "),
    ),
    "a weight in the C": Tampering(
        in_file(f"{SRC}/digits_weights.c", r"(digits_\w+_w\[\d+\] = \{\s*)-?\d+", r"\g<1>77"),
        each("traceability", "sums", says=f"{SRC}/digits_weights.c differs from what Solder makes"),
    ),
    "a weight of the graph": Tampering(
        other_byte("parameters/digits.params", -1),
        each("sums", says="digits_weights.c differs from what Solder"),
    ),
    "a scale of the graph": Tampering(
        in_file("src/digits.graph", r"\{0\.\d+", "{0.125"),
        each("sums", "traceability", says="src/digits.graph differs from what Solder makes, from line 2 on"),
    ),
    "a graph before the passes that is none": Tampering(
        with_file("src/digits.imported.graph", b"no graph"),
        each(
            "rebuild", says="the archive's graph cannot be compiled again: src/digits.imported.graph in the"
        ),
    ),
    "how kernels multiply, which a chapter believes": Tampering(
        other_why,
        each("sums", says="metadata.json differs from what Solder makes, in layers"),
        dialect="gnu",
    ),
    "flags for the compiler": Tampering(
        other_flags, each("tool-confidence", says="metadata.json differs from what Solder makes, in c_flags")
    ),
    "a file of the runtime": Tampering(
        in_file("runtime/solder_server.c", r"\n\Z", "\nint door(void);\nint door(void) { return 7; }\n"),
        each(
            "traceability", "coding-standard", says="runtime/solder_server.c differs from what Solder makes"
        ),
    ),
    "assembly beside the runtime": Tampering(
        with_file("runtime/solder_evil.S", b".globl evil\nevil: bx lr\n"),
        each("traceability", says="runtime/solder_evil.S is not a file that Solder makes"),
    ),
    "a file of the runtime that is gone": Tampering(
        without_file("runtime/solder_lock.c"), each("traceability", says="runtime/solder_lock.c is missing")
    ),
    "a source more": Tampering(
        with_file(f"{SRC}/evil.c", b"int evil;\n"),
        each("traceability", "tool-confidence", says=f"{SRC}/evil.c is not a file that Solder makes"),
    ),
}


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """Honest ones by their dialect."""
    folder = tmp_path_factory.mktemp("archives")
    for dialect in ("strict", "gnu"):
        deploy.compile(DIGITS, BOARD, dialect=dialect).save(folder / f"{dialect}.tar")
    return {path.stem: path for path in folder.iterdir()}


def require_failed(found: Evidence, fails: Mapping[str, str]) -> None:
    assert found.verdict is Standing.FAILED
    summaries = {chapter.name: (finding.verdict, finding.summary) for chapter, finding in found.chapters}
    for name, says in fails.items():
        verdict, summary = summaries[name]
        assert verdict is Standing.FAILED, (name, summary)
        assert says in summary


@pytest.mark.slow
@pytest.mark.parametrize("what", ARCHIVES)
def test_an_archive_that_was_tampered_with_fails(what, archives, tmp_path):
    tampering, place = ARCHIVES[what], tmp_path / "digits.tar"
    made = tampering.change(read_archive(archives[tampering.dialect]))
    assert isinstance(made, Artifact)
    write_archive(made, place)
    found = deploy.evidence(place, chapter=tuple(tampering.fails))
    require_failed(found, tampering.fails)
    assert found.warnings


@pytest.mark.parametrize("dialect", ["strict", "gnu"])
def test_an_honest_archive_passes_with_the_model_file_as_an_exception(dialect, archives):
    found = deploy.evidence(archives[dialect], chapter=("traceability", "rebuild"))
    by_name = {chapter.name: finding for chapter, finding in found.chapters}
    assert found.warnings == ()
    assert by_name["traceability"].verdict is Standing.PROVEN
    digest = hashlib.sha256(DIGITS.read_bytes()).hexdigest()
    assert by_name["rebuild"].exceptions[0] == (
        f"that the graph in the archive is that of digits.tflite, SHA-256 {digest}, is the archive's own "
        "word: name the model file, and it is compiled here"
    )


@pytest.mark.slow
def test_an_archive_with_the_hash_of_another_model_file_is_no_proof_of_it(archives, tmp_path):
    """Whoever has Solder can make such an archive: it must not be called proven."""
    write_archive(other_hash(read_archive(archives["strict"])), tmp_path / "digits.tar")
    found = deploy.evidence(tmp_path / "digits.tar", chapter=("rebuild",))
    (rebuild,) = (finding for chapter, finding in found.chapters if chapter.name == "rebuild")
    assert rebuild.verdict is Standing.EXCEPTIONS
    assert f"SHA-256 {'ab' * 32}, is the archive's own word" in rebuild.exceptions[0]


def test_an_archive_of_another_version_is_refused(archives, tmp_path):
    made = read_archive(archives["strict"])
    write_archive(replace(made, facts=replace(made.facts, tool_version="0.0.9")), tmp_path / "digits.tar")
    with pytest.raises(
        InputError, match=r"the archive was written by Solder 0\.0\.9, and this is "
    ) as caught:
        deploy.evidence(tmp_path / "digits.tar")
    assert caught.value.hint == "pip install solder-mcu==0.0.9, or compile the model again"


# --- projects


def written(path: str, text: str) -> Callable[[Path], None]:
    def change(project: Path) -> None:
        (project / path).parent.mkdir(exist_ok=True)
        (project / path).write_text(text)

    return change


def appended(path: str, text: str) -> Callable[[Path], None]:
    def change(project: Path) -> None:
        (project / path).write_text((project / path).read_text() + text)

    return change


def as_link(project: Path) -> None:
    """The same bytes today, and others when the link's end is changed."""
    file, elsewhere = project / "src/model/digits.c", project.parent / "digits.c"
    shutil.move(file, elsewhere)
    file.symlink_to(elsewhere)


PROJECTS = {
    "a source that the Makefile compiles": Tampering(
        written("src/evil.c", "int evil;\n"),
        each("traceability", "rebuild", says="src/evil.c is not a file that Solder makes"),
    ),
    "a folder of sources": Tampering(
        written("src/more/evil.c", "int evil;\n"),
        each("traceability", says="src/more/evil.c is not a file that Solder makes"),
    ),
    "a makefile that make prefers": Tampering(
        written("GNUmakefile", "all:\n"),
        each("traceability", says="GNUmakefile is not a file that Solder makes"),
    ),
    "another model": Tampering(
        appended("src/model/digits.c", "int evil;\n"),
        each("traceability", says="src/model/digits.c differs from what Solder makes, from line "),
    ),
    "flags of the compiler": Tampering(
        appended("flags/compile", "-DEVIL\n"),
        each("traceability", says="flags/compile differs from what Solder makes"),
    ),
    "a file that is gone": Tampering(
        lambda project: (project / "README.md").unlink(), each("traceability", says="README.md is missing")
    ),
    "a link in place of a file": Tampering(
        as_link, each("traceability", says="src/model/digits.c differs from what Solder makes")
    ),
}


@pytest.fixture(scope="module")
def project(archives, tmp_path_factory):
    place = tmp_path_factory.mktemp("projects") / "honest"
    deploy.new(archives["strict"], place, board=BOARD)
    return place


@pytest.mark.slow
@pytest.mark.parametrize("what", PROJECTS)
def test_a_project_that_was_tampered_with_fails(what, archives, project, tmp_path):
    copy = tmp_path / "project"
    shutil.copytree(project, copy)
    PROJECTS[what].change(copy)
    found = deploy.evidence(archives["strict"], project=copy, chapter=("traceability",))
    require_failed(found, {"traceability": PROJECTS[what].fails["traceability"]})


@pytest.mark.slow
def test_objects_that_lie_in_a_project_are_an_exception_of_all_chapters(archives, project, tmp_path):
    """A program that was linked of them is of no generated file."""
    copy = tmp_path / "project"
    shutil.copytree(project, copy)
    (copy / "build/model").mkdir(parents=True)
    (copy / "build/model/digits.o").write_bytes(b"evil")
    assert deploy.evidence(archives["strict"], project=project, chapter=("traceability",)).warnings == ()
    (warning,) = deploy.evidence(archives["strict"], project=copy, chapter=("traceability",)).warnings
    assert warning.startswith("the project's folder build holds files that were built")


# --- tools


NOT_IN_CI = ("cppcheck", "clang-tidy")
CALLS = "done = subprocess.run([REAL, *ARGV], env=ENV); sys.exit(done.returncode)"
WITHOUT = "ARGV = [word for word in ARGV if not word.startswith({!r})]; "
CPPCHECKED = "[print('Checking', word, '...') for word in ARGV if word.endswith('.c')]; "
SYNTAX = "[print('syntaxError', word + ':1', file=sys.stderr) for word in ARGV if word.endswith('.c')]"
MUTE = (
    "done = subprocess.run([REAL, *ARGV], env=ENV, capture_output=True); "
    "speaks = '--list-checks' in ARGV or '--version' in ARGV; "
    "sys.stdout.buffer.write(done.stdout if speaks else b'')"
)
ALL_TAKEN = (
    "done = subprocess.run([REAL, *ARGV], env=ENV, capture_output=True, text=True); "
    "print(re.sub('\"count\": 0', '\"count\": 1', done.stdout)); sys.exit(done.returncode)"
)
CLEAN = "In these functions, 9 statements reached (out of 9)\n  0 alarms generated by the analysis"

CONTROL = " in a control file made to be reported"
CODING, COMPILERS = "coding-standard", "tool-confidence"
CC = "arm-none-eabi-gcc"


@dataclass(frozen=True)
class FakeTool:
    """A program on PATH that does something else than the real one, and what its chapter must say."""

    program: str
    does: str  # in Python
    chapter: str
    says: str
    needs: tuple[str, ...] = ()  # real programs


TOOLS = {
    "a cppcheck that reads nothing": FakeTool(
        "cppcheck",
        CPPCHECKED + SYNTAX,
        CODING,
        'cppcheck says "syntaxError control.c:1", which is about no rule',
        ("cppcheck",),
    ),
    "a cppcheck that is silent": FakeTool(
        "cppcheck",
        CPPCHECKED,
        CODING,
        f"cppcheck does not report 11.3, 15.1, 15.6, 16.4, 21.3{CONTROL}",
        ("cppcheck",),
    ),
    "a cppcheck that looks at no file": FakeTool(
        "cppcheck", "pass", CODING, "cppcheck does not say that it checked control.c", ("cppcheck",)
    ),
    "a clang-tidy that is silent": FakeTool(
        "clang-tidy",
        MUTE,
        CODING,
        f"clang-tidy does not report cert-env33-c, cert-err34-c{CONTROL}",
        ("cppcheck", "clang-tidy"),
    ),
    "a clang without its checks": FakeTool(
        "clang",
        WITHOUT.format("-fsanitize=") + CALLS,
        "extremes",
        "clang -fsanitize does not report signed integer overflow, ",
        ("clang",),
    ),
    "a clang with some of its checks": FakeTool(
        "clang",
        "ARGV = [word.replace(',integer', '') for word in ARGV]; " + CALLS,
        "extremes",
        "does not report unsigned integer overflow, implicit",
        ("clang",),
    ),
    "a gcov that counts each branch as taken": FakeTool(
        "gcov",
        ALL_TAKEN,
        "coverage",
        f"gcov does not report the branch that is not taken{CONTROL}",
        ("gcc", "gcov"),
    ),
    "a gcov that says nothing": FakeTool(
        "gcov", "pass", "coverage", "gcov writes no JSON about control.c", ("gcc", "gcov")
    ),
    "a compiler that never warns": FakeTool(
        CC, WITHOUT.format("-W") + CALLS, COMPILERS, "it takes a control file that -Wall", (CC,)
    ),
    "a compiler that leaves conversions alone": FakeTool(
        CC, WITHOUT.format("-Wconversion") + CALLS, COMPILERS, "it takes a control file that -Wall", (CC,)
    ),
    "a frama-c that says nothing": FakeTool(
        "frama-c", "pass", "undefined-behaviour", "frama-c does not say how many statements it reached"
    ),
    "a frama-c that finds nothing": FakeTool(
        "frama-c",
        f"print({CLEAN!r})",
        "undefined-behaviour",
        "frama-c does not report signed overflow, ",
    ),
}


@pytest.mark.slow
@pytest.mark.cc
@pytest.mark.parametrize("what", TOOLS)
def test_a_tool_that_cannot_speak_fails_its_chapter(what, archives, tmp_path, monkeypatch, require_tool):
    fake = TOOLS[what]
    if absent := [tool for tool in fake.needs if tool in NOT_IN_CI and shutil.which(tool) is None]:
        pytest.skip(f"needs the program {absent[0]}, which CI does not install")
    require_tool(*(tool for tool in fake.needs if tool not in NOT_IN_CI))
    script, real = tmp_path / fake.program, shutil.which(fake.program)
    script.write_text(
        f"#!{sys.executable}\nimport os, re, subprocess, sys\nREAL, ARGV = {real!r}, sys.argv[1:]\n"
        f"ENV = {{**os.environ, 'PATH': {os.environ['PATH']!r}}}\n{fake.does}\n"
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    found = deploy.evidence(archives["strict"], chapter=(fake.chapter,))
    require_failed(found, {fake.chapter: fake.says})


# --- results


def with_hashes(folder: Path) -> None:
    """Redoes SHA256SUMS."""
    files = {
        p.relative_to(folder).as_posix(): p
        for p in folder.rglob("*")
        if p.is_file() and p.name != "SHA256SUMS"
    }
    lines = [f"{hashlib.sha256(files[name].read_bytes()).hexdigest()}  {name}\n" for name in sorted(files)]
    (folder / "SHA256SUMS").write_text("".join(lines))


def better_facts(folder: Path) -> None:
    """The whole is called proven, and its chapters stay as they were."""
    facts = json.loads((folder / "evidence.json").read_text())
    (folder / "evidence.json").write_text(json.dumps({**facts, "verdict": "proven"}, indent=1) + "\n")


def better_chapter(folder: Path) -> None:
    facts = json.loads((folder / "evidence.json").read_text())
    facts["chapters"][0]["verdict"] = "proven"
    (folder / "evidence.json").write_text(json.dumps(facts, indent=1) + "\n")


def better_page(folder: Path) -> None:
    page = folder / "sums.html"
    page.write_text(page.read_text().replace("holds with stated exceptions", "proven"))


def page_more(folder: Path) -> None:
    (folder / "approved.html").write_text("<p>All is proven.</p>")


RESULTS = {
    "a verdict of the whole": (better_facts, True, "its verdict is proven, and that of a chapter is"),
    "a verdict of a chapter": (
        better_chapter,
        True,
        "is not the page of what evidence.json says: it was changed",
    ),
    "a page": (better_page, True, "sums.html is not the page of what evidence.json says: it was changed"),
    "a page without its hash": (better_page, False, "sums.html is not the file that SHA256SUMS lists"),
    "a page more": (page_more, False, "approved.html is not the file that SHA256SUMS lists"),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", RESULTS)
def test_an_older_folder_that_was_tampered_with_is_refused(what, archives, tmp_path):
    change, is_redone, says = RESULTS[what]
    older = tmp_path / "older"
    deploy.evidence(archives["strict"], chapter=("sums",)).save(older)
    deploy.evidence(archives["strict"], chapter=("sums",), baseline=older)
    change(older)
    if is_redone:
        with_hashes(older)
    with pytest.raises(InputError) as caught:
        deploy.evidence(archives["strict"], chapter=("sums",), baseline=older)
    assert says in caught.value.what
