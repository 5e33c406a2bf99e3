"""Tables hold what packages and programs add, and say who added what cannot be taken."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, EntryPoints
from types import SimpleNamespace

import pytest
from error_facts import refused, require_facts

from aot import extensions
from aot.errors import ExtensionError
from aot.extensions import ISAS, PASSES, OpenTable, entries_of, entry_of, register, unregister
from aot.extensions import OPS as GROUP
from aot.passes.pipeline import meaning_passes
from codegen.isa.table import isas

Add = Callable[[str, object], None]


@pytest.fixture
def add():
    """Registers for the time of a test."""
    added = []

    def register_for_now(name: str, value: object) -> None:
        register(GROUP, name, value)
        added.append(name)

    yield register_for_now
    for name in added:
        unregister(GROUP, name)


@dataclass
class Installed:
    """What an environment has as entry points."""

    points: list[EntryPoint]

    def __call__(self) -> EntryPoints:
        return EntryPoints(self.points)


@pytest.fixture
def install(monkeypatch):
    def points(**values: str) -> None:
        found = [EntryPoint(name.rstrip("_"), value, GROUP) for name, value in values.items()]
        monkeypatch.setattr("importlib.metadata.entry_points", Installed(found))
        extensions.forget_loaded()

    yield points
    monkeypatch.undo()
    extensions.forget_loaded()


def table() -> OpenTable[int]:
    return OpenTable({"ours": 1}, GROUP, entries_of("NUMBERS"))


def test_a_table_holds_the_tree_s_entries_and_those_that_are_added(add):
    numbers = table()
    assert dict(numbers) == {"ours": 1}
    add("one", SimpleNamespace(NUMBERS={"theirs": 2}))
    add("none", SimpleNamespace())
    assert dict(numbers) == {"ours": 1, "theirs": 2}
    assert (numbers["theirs"], "theirs" in numbers, len(numbers)) == (2, True, 2)


def test_what_a_program_takes_back_is_gone():
    numbers = table()
    register(GROUP, "one", SimpleNamespace(NUMBERS={"theirs": 2}))
    assert "theirs" in numbers
    unregister(GROUP, "one")
    assert "theirs" not in numbers


def test_an_extension_does_not_replace_what_is_there(add):
    add("one", SimpleNamespace(NUMBERS={"ours": 2}))
    refused(
        lambda: dict(table()),
        '"ours" solder.ops declared twice Solder "one" itself extension uninstall',
        ExtensionError,
    )


def test_two_extensions_of_one_name_are_told_apart_by_their_packages(install):
    install(median="json:dumps", median_="json:loads")
    refused(
        lambda: dict(table()),
        '"median" solder.ops declared twice json:dumps json:loads uninstall',
        ExtensionError,
    )


def test_an_extension_that_cannot_be_imported_is_named_with_its_package(install):
    install(median="no_such_package.median")
    refused(
        lambda: dict(table()),
        "\"median\" solder.ops ModuleNotFoundError No 'no_such_package' loaded module named "
        "no_such_package.median declared repair uninstall",
        ExtensionError,
    )


def test_an_extension_without_what_its_group_asks_for_is_refused(add):
    add("median", SimpleNamespace(OP="median"))
    with pytest.raises(ExtensionError, match='the extension "median" has no OP, a type'):
        dict(OpenTable[type]({}, GROUP, entry_of("OP", type)))


def test_a_group_that_is_none_is_refused_with_those_there_are():
    refused(
        lambda: register("solder.op", "median", 1),
        '"solder.op" extension group solder.ops known',
        ExtensionError,
    )


def test_a_pass_that_says_no_place_is_refused():
    register(PASSES, "lost", SimpleNamespace(TABLE="MEANING", BEFORE="nothing"))
    try:
        with pytest.raises(ExtensionError) as raised:
            meaning_passes()
    finally:
        unregister(PASSES, "lost")
    what, hint = str(raised.value).splitlines()
    require_facts(what, '"lost" TABLE "MEANING" BEFORE "nothing" pass extension valid')
    tables = "MEANING, REGIONS, PLACEMENT or VARIANT"
    assert hint.startswith(f"  hint: TABLE is {tables}, BEFORE one of its passes: fold-constants,")


def test_an_instruction_set_that_is_none_is_refused():
    register(ISAS, "quad", "four maxima")
    try:
        with pytest.raises(ExtensionError) as raised:
            isas()
    finally:
        unregister(ISAS, "quad")
    assert str(raised.value) == 'error: the extension "quad" is not an Isa of codegen.isa.isa'


def test_ours_are_found_without_looking_for_extensions(install):
    """Looking costs time, and a broken package does not matter where nobody asks for it."""
    install(median="no_such_package.median")
    assert table()["ours"] == 1


def test_a_module_belongs_to_the_package_that_declares_extensions(monkeypatch):
    point = EntryPoint("median", "medians.ops:MEDIAN", GROUP)
    monkeypatch.setattr(extensions, "_declared", lambda: {GROUP: (point,)})
    assert extensions.origin_of("medians.lower.rows") == "medians.ops:MEDIAN", (
        "without a distribution, its value"
    )
    assert extensions.origin_of("medians") == "medians.ops:MEDIAN"
    assert extensions.origin_of("mediansother") == extensions.origin_of("numpy") == ""
