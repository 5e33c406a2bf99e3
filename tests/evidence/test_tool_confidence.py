"""What made the code is listed, compilers are tried, and the bills are of the format's schema."""

import hashlib
import json
from importlib.resources import files
from typing import Any

import jsonschema
import pytest
from mutants_table import ROOMS
from referencing import Registry, Resource
from strict_archives import artifact, changed

from codegen.options import CompileOptions
from deploy.proving import tool_confidence
from deploy.proving.chapter import Standing
from deploy.proving.confidence.bills import bill_of_tool, packages
from deploy.proving.subject import Subject
from deploy.proving.tool_confidence import (
    COMPARISONS,
    CompilerTry,
    MutationScore,
    examine_tool_confidence,
    mutation_scores,
)

SCHEMAS = ("spdx", "jsf-0.82", "cryptography-defs")


def require_schema(bill: dict[str, Any]) -> None:
    """Holds a bill against CycloneDX's own schema."""
    folder = files("cyclonedx") / "schema" / "_res"
    texts = {name: json.loads((folder / f"{name}.SNAPSHOT.schema.json").read_text()) for name in SCHEMAS}
    registry: Registry[Any] = Registry().with_resources(
        (f"http://cyclonedx.org/schema/{name}.SNAPSHOT.schema.json", Resource.from_contents(text))
        for name, text in texts.items()
    )
    schema = json.loads((folder / "bom-1.6.SNAPSHOT.schema.json").read_text())
    jsonschema.Draft7Validator(schema, registry=registry).validate(bill)


@pytest.mark.arm
def test_a_model_s_tools_are_listed_and_its_compilers_tried(require_package):
    require_package("cyclonedx")
    made = artifact("classifier", CompileOptions())
    found = examine_tool_confidence(Subject(made))
    assert found.verdict is Standing.EXCEPTIONS, found.summary
    ops, comparisons, compilers, listed, scores, _ = found.tables
    assert "checker" in [row[0] for row in scores.rows]
    assert {row[0] for row in ops.rows} == {node.op.name for node in made.graph.nodes}
    assert len(comparisons.rows) == len(COMPARISONS)
    outcomes = {row[0]: row[2:] for row in compilers.rows}
    outcome, code_bytes = outcomes["arm-none-eabi-gcc"]
    assert outcome == "no warning"
    assert int(code_bytes) > 1000
    assert "numpy" in [row[0] for row in listed.rows]
    bills = {name: json.loads(data) for name, data in found.files.items()}
    for bill in bills.values():
        require_schema(bill)
    hashes = {each["name"]: each["hashes"][0]["content"] for each in bills["firmware.cdx.json"]["components"]}
    source = made.sources["classifier.c"].encode()
    assert hashes["classifier.c"] == hashlib.sha256(source).hexdigest()
    assert hashes["classifier.tflite"] == made.facts.model_hash
    with pytest.raises(jsonschema.ValidationError):
        require_schema({**bills["tool.cdx.json"], "bomFormat": "another"})


@pytest.mark.arm
def test_a_compiler_that_complains_fails():
    made = changed(
        artifact("dense", CompileOptions()), r"\n    return \w+_OK;\n", "\n    int32_t left;\n    return 0;\n"
    )
    found = examine_tool_confidence(Subject(made))
    assert found.verdict is Standing.FAILED
    assert "unused variable" in found.summary


def test_what_was_not_tried_or_is_not_known_is_an_exception(monkeypatch):
    def none_here(made: object) -> tuple[CompilerTry, ...]:
        return (CompilerTry("gcc", "", "", 0),)

    monkeypatch.setattr(tool_confidence, "try_compilers", none_here)
    left = ("check.py: a < b  ->  a <= b", "check.py: x = 1  ->  x = 2", "check.py: x = 1  ->  x = 3")
    scores = (
        MutationScore("checker", "0.2.0", 100, 40, 36, 1, left),
        MutationScore("line", "0.2.0", 9, 9, 8, 1, ()),
    )
    monkeypatch.setattr(tool_confidence, "mutation_scores", lambda: scores)
    monkeypatch.setattr(tool_confidence, "foreign_sources", lambda made: ("theirs.c",))
    found = examine_tool_confidence(Subject(artifact("dense")))
    assert "not installed here, so not tried: gcc" in found.exceptions
    assert "not generated, and of a license that is not known here: theirs.c" in found.exceptions
    assert found.exceptions[-1].startswith("the tests that are named are not run by this command")
    assert "of 40 small changes of checker its own tests do not notice 3" in found.exceptions
    assert found.tables[-1].rows == [("checker", each) for each in left]


def test_the_scores_are_of_parts_that_make_mutants_knows():
    for score in mutation_scores():
        assert score.room in ROOMS
        assert score.unseen == len(score.survivors)
        assert score.changes <= score.possible


def test_the_files_that_are_named_exist(repo_root):
    assert [each.test for each in COMPARISONS if not (repo_root / each.test).is_file()] == []


def test_the_bill_of_the_tool_has_what_it_asks_for():
    parts = packages()
    required = {part.name.lower() for part in parts if not part.is_optional}
    assert {"numpy", "jinja2", "markupsafe", "jsonschema"} <= required
    assert "mypy" not in {part.name for part in parts}
    assert bill_of_tool(parts) == bill_of_tool(packages())
