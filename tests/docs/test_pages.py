"""Pages keep to the style guide, and name commands, options, functions and tests that exist."""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from draw_pictures import pictures

import deploy
from codegen.accelerators.names import ACCELERATORS
from codegen.lang.template import TemplateKnobs
from deploy import lang
from deploy.cli.command import command_parser, load_command
from deploy.compiler.compile_model import Compiled
from deploy.devices.kernel_build import BuiltKernel
from deploy.inspection.inspect_model import Inspection
from deploy.proving.tracing.requirements import Requirement, requirements
from deploy.tuner.schedule_search import SearchedSchedule

LONGEST_SENTENCE = 35  # words
AS_IN_ERRORS = ("ops.md",)  # its rows are the texts of constraints, as error messages print them
BRITISH = re.compile(
    r"\b\w*(?:quantis|optimis|initialis|normalis|recognis|organis|vectoris|minimis|maximis|colour|behaviour|"
    r"neighbour|licence|centre[sd]?\b|modell|labell|artefact|judgement)\w*",
    re.IGNORECASE,
)
_CODE = re.compile(r"`[^`]*`")
_NAMES = re.compile(r"`[^`]*`|\*\*undefined-behaviour\*\*")  # the chapter's name is an argument
_BETWEEN_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n\s*\n|\n(?=[|#*-])|\n(?=\d+\. )")


def pages(root: Path) -> list[Path]:
    """All pages that people write or that are generated, without changes that are not released."""
    found = [*root.glob("*.md"), *(root / "docs").rglob("*.md")]
    return sorted(page for page in found if page.parent.name != "changes")


def prose(text: str) -> str:
    """Removes code: fenced blocks, indented ones, and words in backquotes."""
    without_blocks = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return "\n".join(line for line in without_blocks.splitlines() if not line.startswith("    "))


def long_sentences(text: str) -> list[str]:
    """Returns sentences of too many words, except table rows and lists of code names (`ADD`, `MUL`, ...)."""
    sentences = [each for each in _BETWEEN_SENTENCES.split(prose(text)) if "|" not in each]
    sentences = [each for each in sentences if len(_CODE.findall(each)) < LONGEST_SENTENCE]
    return [each for each in sentences if len(each.split()) > LONGEST_SENTENCE]


def british_words(text: str) -> list[str]:
    """Returns words in British spelling, outside of code and names of chapters."""
    return BRITISH.findall(_NAMES.sub("", prose(text)))


@pytest.mark.parametrize(
    "check", [long_sentences, british_words], ids=["short sentences", "American spelling"]
)
def test_pages_keep_to_the_style_guide(repo_root, check):
    assert callable(check)
    checked = [page for page in pages(repo_root) if check is long_sentences or page.name not in AS_IN_ERRORS]
    found = {str(page.relative_to(repo_root)): check(page.read_text(encoding="utf-8")) for page in checked}
    assert {name: faults for name, faults in found.items() if faults} == {}, "see docs/style.md"


def test_a_long_sentence_and_a_british_word_are_found():
    long = " ".join(["word"] * (LONGEST_SENTENCE + 1)) + "."
    assert long_sentences(f"Short one. {long}\n\n    {long}\n") == [long]
    assert british_words("The colour of `behaviour` is quantized.\n") == ["colour"]


_SPAN = re.compile(r"`([^`]+)`")
READERS_LIBRARY = "cmsis-nn:path=CMSIS-NN"  # the command looks for the folder, which is not here
PLACES = {
    "deploy": deploy,
    "lang": lang,
    "Schedule": lang.Schedule,
    "Knobs": TemplateKnobs,
    "BuiltKernel": BuiltKernel,
    "Compiled": Compiled,
    "Inspection": Inspection,
    "SearchedSchedule": SearchedSchedule,
}


def spans_of(page: Path) -> list[str]:
    """All code in the right columns of the page's tables."""
    rows = [line.rsplit(" | ", 1)[1] for line in page.read_text().splitlines() if line.startswith("| ")]
    return [span for row in rows for span in _SPAN.findall(row)]


@pytest.fixture
def spans(repo_root):
    return spans_of(repo_root / "docs" / "from-tvm.md")


@pytest.mark.parametrize("page", ["from-tvm.md", "from-tflm.md"])
def test_its_commands_are_understood(page, repo_root):
    commands = [span for span in spans_of(repo_root / "docs" / page) if span.startswith("deploy ")]
    assert len(commands) > 6
    for line in commands:
        _, command, *words = shlex.split(line.replace(READERS_LIBRARY, "gemm-npu"))
        command_parser(command, load_command(command)).parse_args(words)


def test_no_call_hides_where_it_belongs(spans):
    """Of a bare `script()` nobody can look up whether it is there."""
    assert [span for span in spans if re.fullmatch(r"[a-z_]+\(\)", span)] == []


@pytest.mark.parametrize("name", ["cmsis-nn", "gemm-npu"])
def test_an_accelerator_is_named_and_is_there(name, spans):
    """CMSIS-NN and VTA have counterparts; an example to copy is none."""
    asked = [word.partition(":")[0] for span in spans for word in re.findall(r"--accelerator (\S+)", span)]
    assert name in asked
    assert set(asked) <= {"cmsis-nn", "gemm-npu"}
    assert set(asked) <= set(ACCELERATORS)


def test_replacing_a_model_has_a_counterpart(repo_root):
    page = (repo_root / "docs" / "from-tflm.md").read_text()
    assert "deploy load" in page
    assert "cartridge" not in page[page.index("differs") :]  # it is no difference


def test_its_functions_and_methods_are_there(spans):
    named = [span.split(".") for span in spans if re.fullmatch(r"[A-Za-z]+\.[a-z_A-Z]+", span)]
    assert len(named) > 30
    missing = [
        ".".join((place, name))
        for place, name in named
        if not hasattr(PLACES[place], name) and name not in getattr(PLACES[place], "__annotations__", {})
    ]
    assert missing == []


def as_on_the_page(each: Requirement) -> str:
    lines = [", ".join(f"`{name}`" for name in each.code), *(f"`{test}`" for test in each.tests)]
    return f"**{each.name}** {each.text}\n\n" + "".join(f"- {line}\n" for line in lines)


def lacks(each: Requirement, root: Path) -> Iterator[str]:
    """The files and the tests that a requirement names and that are not there."""
    yield from (name for name in each.code if not (root / "project_templates" / "common" / name).is_file())
    for test in each.tests:
        file, _, name = test.partition("::")
        body = ast.parse((root / file).read_text(encoding="utf-8")).body if (root / file).is_file() else []
        if name not in {part.name for part in body if isinstance(part, ast.FunctionDef)}:
            yield test


def test_the_page_has_each_requirement_with_its_files_and_tests(repo_root):
    page = (repo_root / "docs" / "requirements.md").read_text(encoding="utf-8")
    assert [each for each in requirements() if as_on_the_page(each) not in page] == []
    assert re.findall(r"^\*\*(R\d+)\*\*", page, re.MULTILINE) == [each.name for each in requirements()]


def test_each_requirement_has_tests_and_files_that_exist(repo_root):
    assert [lack for each in requirements() for lack in lacks(each, repo_root)] == []
    assert all(each.tests and each.code for each in requirements())


def test_each_file_of_the_runtime_meets_a_requirement(repo_root):
    files = {path.name for path in (repo_root / "project_templates" / "common").glob("*.c")}
    assert files - {name for each in requirements() for name in each.code} == set()


def test_what_is_not_there_is_found(repo_root):
    here = "tests/docs/test_pages.py::test_what_is_not_there_is_found"
    gone = Requirement(1, "Gone.", ("solder_gone.c",), (f"{here}_any_more", here, "tests/gone.py::test_it"))
    assert list(lacks(gone, repo_root)) == ["solder_gone.c", f"{here}_any_more", "tests/gone.py::test_it"]


SENTENCE = re.compile(r"^(\d+)\. (.*?)(?=^\d+\. |^#|\Z)", re.MULTILINE | re.DOTALL)
NODE = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def sentences(text: str) -> dict[int, str]:
    return {int(number): words for number, words in SENTENCE.findall(text)}


def missing(words: str, root: Path) -> list[str]:
    """What a sentence lacks: a test at all, or those that it names."""
    nodes = NODE.findall(words)
    if not nodes or words.count("`tests/") != len(nodes):
        return [f"no test is named in: {words.strip()}"]
    return [f"{file}::{name}" for file, name in nodes if name not in found_in(root / file)]


def found_in(file: Path) -> set[str]:
    """The tests that pytest finds in the file, as it is written."""
    body = ast.parse(file.read_text(encoding="utf-8")).body if file.is_file() else []
    return {each.name for each in body if isinstance(each, ast.FunctionDef) and each.name.startswith("test_")}


def test_each_sentence_is_held_by_tests_that_exist(repo_root):
    found = sentences((repo_root / "docs" / "threat-model.md").read_text(encoding="utf-8"))
    assert list(found) == list(range(1, len(found) + 1))
    assert len(found) > 20
    assert [lack for words in found.values() for lack in missing(words, repo_root)] == []


def test_a_sentence_without_a_test_is_found(repo_root):
    here = "tests/docs/test_pages.py::test_a_sentence_without_a_test_is_found"
    page = f"# Page\n\n1. Held.\n   `{here}`\n2. Not held.\n\n## More\n\n3. Gone.\n   `{here}_any_more`\n"
    found = sentences(page)
    assert missing(found[1], repo_root) == []
    assert missing(found[2], repo_root) == ["no test is named in: Not held."]
    assert missing(found[3], repo_root) == [f"{here}_any_more"]


NAMES = ("way-of-the-data.svg", "rows-and-rings.svg", "plan-over-time.svg")


@pytest.fixture(scope="module")
def drawn():
    return pictures()


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_current(name, drawn, repo_root, generated):
    generated(repo_root / "docs" / "pictures" / name, drawn[name])


def test_every_picture_is_shown(repo_root, drawn):
    page = (repo_root / "ARCHITECTURE.md").read_text(encoding="utf-8")
    assert set(drawn) == set(NAMES)
    assert all(f"(docs/pictures/{name})" in page for name in NAMES)
