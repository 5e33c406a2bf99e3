"""Shells complete command lines: asked through bash itself, as one who presses the key."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.cli.commands import COMMANDS
from platforms.board_files import all_boards

# What bash does when the key is pressed at the end of $LINE, with the script that Solder printed.
PRESS = """
. ./script
read -ra COMP_WORDS <<< "$LINE"
case "$LINE" in *" ") COMP_WORDS+=("") ;; esac
COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_LINE="$LINE" COMP_POINT=${#LINE} COMP_TYPE=9
_python_argcomplete deploy "${COMP_WORDS[COMP_CWORD]}" ""
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def ask(tmp_path, run_deploy, require_tool):
    require_tool("bash")
    (tmp_path / "script").write_text(run_deploy("completion", "bash").out)
    program = tmp_path / "deploy"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m deploy "$@"\n')
    program.chmod(0o755)
    root = Path(__file__).parents[2]

    def asked(line: str) -> list[str]:
        environment = os.environ | {
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "PYTHONPATH": str(root),
            "LINE": line,
        }
        command = ["bash", "--norc", "-c", PRESS]
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert done.stderr == ""
        return [word.strip() for word in done.stdout.splitlines() if word.strip()]

    return asked


def test_commands(ask):
    assert set(ask("deploy ")) >= COMMANDS.keys()
    assert ask("deploy insp") == ["inspect"]


@pytest.mark.slow
def test_options_of_the_command_at_hand(ask):
    assert ask("deploy inspect kws.tflite --opt") == ["--optimize"]
    assert ask("deploy doctor --opt") == []


@pytest.mark.slow
def test_the_words_that_an_option_takes(ask):
    assert ask("deploy compile kws.tflite --optimize ") == ["speed", "size", "ram"]
    assert ask("deploy boards ") != []


@pytest.mark.slow
def test_boards_by_name(ask):
    names = {board.name for board in all_boards()}
    assert set(ask("deploy inspect kws.tflite --board ")) == names
    assert set(ask("deploy inspect kws.tflite --board nucleo-")) == {
        name for name in names if name.startswith("nucleo-")
    }


@pytest.mark.slow
def test_files_of_the_kind_that_is_wanted(ask, tmp_path):
    for name in ("one.tflite", "two.onnx", "three.npz", "four.txt"):
        (tmp_path / name).touch()
    assert set(ask("deploy compile ")) >= {"one.tflite", "two.onnx"}
    assert "three.npz" not in ask("deploy compile ")
    assert "three.npz" in ask("deploy run one.tflite --inputs ")


@pytest.mark.slow
def test_an_open_quote_is_not_an_error(ask):
    assert ask('deploy inspect "kws') == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_each_shell_has_a_script(shell, run_deploy):
    outcome = run_deploy("completion", shell)
    assert outcome.status == 0
    assert "deploy" in outcome.out


def test_another_shell_is_refused(run_deploy):
    assert run_deploy("completion", "tcsh").status == 2
