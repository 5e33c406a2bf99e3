"""Every command explains itself, in the same words whichever way it is asked; the words are golden."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from deploy.command import load_command
from deploy.commands import COMMANDS

Run = Callable[..., Any]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_as_it_was_read_and_approved(
    name: str, run_deploy: Run, golden: Callable[[str, str], None]
) -> None:
    golden(f"{name}.txt", run_deploy("help", name).out)


def test_the_list_of_commands_is_as_it_was_read_and_approved(
    run_deploy: Run, golden: Callable[[str, str], None]
) -> None:
    golden("deploy.txt", run_deploy("--help").out)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_for_a_command_is_the_same_both_ways(name: str, run_deploy: Run) -> None:
    asked_before, asked_after = run_deploy("help", name), run_deploy(name, "--help")
    assert asked_before.out == asked_after.out
    assert asked_before.status == asked_after.status == 0


@pytest.mark.parametrize("words", [["help"], ["-h"], ["--help"]])
def test_help_without_a_command_lists_them_all(words: list[str], run_deploy: Run) -> None:
    out = run_deploy(*words).out
    assert re.findall(r"^  ([\w-]+) {2,}", out, re.MULTILINE)[: len(COMMANDS)] == list(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_example_of_a_command_is_one_of_its_own_command_lines(name: str) -> None:
    for line in load_command(name).EXAMPLE.strip().splitlines():
        assert line.startswith(f"deploy {name}")
        assert len(f"  {line}") <= 80  # the help indents it


def test_nothing_at_all_is_wrong_usage_and_shows_the_commands(run_deploy: Run) -> None:
    outcome = run_deploy()
    assert outcome.status == 2
    assert outcome.out == ""
    assert "commands:" in outcome.err


def test_help_for_an_unknown_command_names_the_nearest(run_deploy: Run) -> None:
    outcome = run_deploy("help", "inspekt")
    assert outcome.status == 2
    assert 'did you mean "inspect"?' in outcome.err
