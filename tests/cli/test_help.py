"""Every command explains itself at 80 columns, at once: -h briefly, --help completely (golden pages)."""

import argparse
import os
import re
import subprocess
import sys

import pytest

import deploy
from codegen.options import OPTIONS
from deploy.cli.command import command_parser, load_command
from deploy.cli.commands import COMMANDS
from deploy.cli.help_page import help_page
from deploy.cli.renamed import RENAMED_FLAGS


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_as_it_was_read_and_approved(name, own_folders, golden):
    """The compiler's options, which many commands share, are in compile.txt only."""
    parser = command_parser(name, load_command(name))
    for action in parser._actions:
        if name != "compile" and action.dest.removeprefix("option_") in OPTIONS:
            action.help = argparse.SUPPRESS
    golden(f"{name}.txt", help_page(parser, is_complete=True))


def test_the_list_of_commands_is_as_it_was_read_and_approved(run_deploy, golden):
    golden("deploy.txt", run_deploy("--help").out)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_for_a_command_is_the_same_both_ways(name, run_deploy):
    asked_before, asked_after = run_deploy("help", name), run_deploy(name, "--help")
    assert asked_before.out == asked_after.out
    assert asked_before.status == asked_after.status == 0


@pytest.mark.parametrize("words", [["help"], ["-h"], ["--help"], ["help", "--help"], ["help", "help"]])
def test_help_without_a_command_lists_them_all(words, run_deploy):
    out = run_deploy(*words).out
    assert re.findall(r"^  ([\w-]+) {2,}", out, re.MULTILINE)[: len(COMMANDS)] == list(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_example_of_a_command_is_one_of_its_own_command_lines(name):
    for line in load_command(name).EXAMPLE.strip().splitlines():
        assert line.startswith(f"deploy {name}")
        assert len(f"  {line}") <= 80  # the help indents it


def test_nothing_at_all_is_wrong_usage_and_shows_the_commands(run_deploy):
    outcome = run_deploy()
    assert outcome.status == 2
    assert outcome.out == ""
    assert "Compile and inspect" in outcome.err


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_80_columns_and_short_help_two_screens(name, run_deploy):
    brief, complete = (run_deploy(name, flag).out.splitlines() for flag in ("-h", "--help"))
    assert max(map(len, [*brief, *complete])) <= 80
    assert len(brief) <= 60
    assert not [
        line for line in brief if line.startswith("  -") and line.split()[0] not in " ".join(complete)
    ]


def test_short_help_leads_to_the_complete_one(run_deploy):
    assert run_deploy("run", "-h").out.splitlines()[-1] == "deploy run --help shows all options."
    assert "--approximate" not in run_deploy("run", "-h").out
    assert "--approximate" in run_deploy("run", "--help").out


def own_flags() -> dict[str, dict[str, tuple[bool, str]]]:
    """Flag -> command -> whether it takes a value, and which table it is from ("" for the command itself)."""
    found: dict[str, dict[str, tuple[bool, str]]] = {}
    for name in COMMANDS:
        waiting = [(name, command_parser(name, load_command(name)))]
        while waiting:
            command, parser = waiting.pop()
            for action in parser._actions:
                if isinstance(action, argparse._SubParsersAction):
                    waiting += [(f"{name} {verb}", inner) for verb, inner in action.choices.items()]
                for flag in action.option_strings:
                    is_table = action.dest.startswith("option_")
                    found.setdefault(flag, {})[command] = (action.nargs != 0, action.dest if is_table else "")
    return found


# The budget of weights for the quantizer; several boards for a farm; the key that `new` puts into firmware.
ANOTHER_FORM = {"--flash", "--serial", "--line-key"}


def test_a_flag_has_one_meaning():
    """No command has its own flag named like a shared option, nor a switch that takes a value elsewhere."""
    flags = own_flags()
    assert {flag for flag, uses in flags.items() if len(set(uses.values())) > 1} <= ANOTHER_FORM
    assert set(flags["-o"]) == set(flags["--output"])


@pytest.mark.parametrize(
    ("command", "old", "new"),
    [(command, old, new) for command, names in RENAMED_FLAGS.items() for old, new in names.items()],
)
def test_an_old_flag_is_answered_with_the_new_one(command, old, new, run_deploy):
    outcome = run_deploy(command, old, "x")
    assert outcome.status == 2
    assert f'option "{old}" is now "{new}"' in outcome.err
    assert new in own_flags()


def test_an_old_keyword_is_answered_with_the_new_one():
    with pytest.raises(TypeError, match="no argument 'io': it is now 'io_type'"):
        deploy.quantize("kws.onnx", {}, "q.onnx", io="int8")  # type: ignore[call-arg]


def test_help_for_an_unknown_command_names_the_nearest(run_deploy):
    outcome = run_deploy("help", "inspekt")
    assert outcome.status == 2
    assert 'did you mean "inspect"?' in outcome.err


LOADED = "import sys; from deploy.__main__ import main; main({words}); print(*sys.modules, file=sys.stderr)"
HEAVY = {
    "numpy",
    "rich",
    "jinja2",
    "tflite",
    "jsonschema",
    "serial",
    "elftools",
    "onnx",
    "importlib.metadata",
}
LINES_AND_BUILDS = {"platforms.rpc.exchange", "platforms.rpc.messages"}
# Packages outside the tree are looked up, and a board's platform says which keys the board's file may have.
ASKED_ABOUT_A_BOARD = {"numpy", "tflite", "importlib.metadata"}
MOST_S = 0.3


def loaded_by(words: list[str]) -> set[str]:
    """The modules that a command line loads."""
    argv = [sys.executable, "-c", LOADED.format(words=words)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize("words", [["--help"], ["help"]])
def test_help_loads_nothing_heavy(words):
    assert not HEAVY & loaded_by(words)


@pytest.mark.slow
def test_inspect_loads_nothing_that_only_lines_and_builds_need(model):
    loaded = loaded_by(["inspect", str(model), "--board", "mps2-an386"])
    assert not (HEAVY - ASKED_ABOUT_A_BOARD | LINES_AND_BUILDS) & loaded


def test_help_takes_less_processor_time_than_anyone_notices():
    before = os.times()
    subprocess.run([sys.executable, "-m", "deploy", "--help"], stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    taken = after.children_user + after.children_system - before.children_user - before.children_system
    assert taken < MOST_S
