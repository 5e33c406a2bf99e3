"""deploy docs lists the pages of the documentation and shows one, on any terminal."""

import io
import json
import sys

import pytest
from error_facts import require_facts

import deploy
from deploy.cli.docs_on_terminal import print_on_terminal
from deploy.cli.docs_pages import manual_pages
from deploy.cli.terminal_width import spell_out_what_cannot_be_shown


def test_all_pages_are_listed_with_what_they_are_about(run_deploy):
    out = run_deploy("docs").out
    assert [line.split()[0] for line in out.splitlines()[1:-2]] == list(manual_pages())
    assert "tutorials/own-op " in out
    assert out.endswith("\n\nshow one with: deploy docs PAGE\n")


@pytest.mark.parametrize(
    ("words", "file"),
    [
        ("ops", "ops.md"),
        ("docs/ops.md", "ops.md"),
        ("memory.md#rings", "memory.md"),
        ("tutorials/own-op", "tutorials/own-op.md"),
        ("own-op", "tutorials/own-op.md"),
    ],
)
def test_a_page_is_shown_however_it_is_written(words, file, run_deploy, repo_root):
    text = (repo_root / "docs" / file).read_text(encoding="utf-8")
    assert run_deploy("docs", words).out.rstrip() == text.rstrip()
    assert json.loads(run_deploy("docs", words, "--json").out)["text"].startswith("# ")


def test_a_page_that_is_not_there_has_a_likely_name(run_deploy):
    outcome = run_deploy("docs", "exportin")
    assert outcome.status == 1
    require_facts(outcome.err, '"exportin" "exporting"? there page mean deploy')


def test_python_has_the_same_pages():
    assert {page["name"] for page in deploy.docs()} == manual_pages().keys()
    assert str(deploy.docs("levels")).startswith("# Optimization levels")


@pytest.mark.slow
def test_every_page_fits_a_terminal_of_80_columns_that_shows_ascii(monkeypatch):
    for name in manual_pages():
        terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
        monkeypatch.setattr(sys, "stdout", terminal)
        spell_out_what_cannot_be_shown()
        print_on_terminal(str(deploy.docs(name)), 80)
        terminal.flush()
        lines = terminal.buffer.getvalue().decode("ascii").splitlines()
        assert max(map(len, lines)) <= 80
        assert not [line for line in lines if "\\u" in line], name


def test_pictures_and_links_are_shown_by_their_words(capsys):
    print_on_terminal("![rows](a.svg) See [memory](memory.md) and [x](https://example.org).", 80)
    assert capsys.readouterr().out.rstrip() == "(picture: rows) See memory and x (https://example.org)."
