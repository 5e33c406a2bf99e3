"""deploy bug-report tells nothing private; doctor --fix prints lines to copy, and runs none of them."""

import json

import pytest
from error_facts import require_facts

from deploy.cli.bug_report import Private
from deploy.host_tools import tool_inventory as machine
from deploy.host_tools.install_hints import install_lines
from deploy.host_tools.tool_inventory import Program


@pytest.fixture
def no_programs(monkeypatch):
    """Asking all compilers for their versions takes a second, which other tests spend."""
    monkeypatch.setattr(machine, "programs", lambda: (Program("compiler", "gcc", True, "13"),))


@pytest.fixture
def model(tiny_file):
    return tiny_file("classifier", "secret/tiny.tflite")


@pytest.mark.slow
def test_the_command_line_is_run_again_and_its_folders_are_not_told(model, no_programs, run_deploy):
    said = run_deploy("bug-report", "--json", "--", "compile", model, "--board", "nowhere", "-o", "x.tar")
    facts = json.loads(said.out)
    assert facts["command"]["line"] == "deploy compile FOLDER/tiny.tflite --board nowhere -o x.tar"
    assert facts["command"]["status"] == "1"
    require_facts(facts["command"]["output"][0], 'error[E402]: "nowhere"')
    assert "secret" not in said.out
    assert facts["programs"] == {"gcc": "13"}
    assert facts["packages"]["numpy"]


@pytest.mark.slow
def test_a_structure_has_operators_and_shapes_but_neither_names_nor_weights(
    model, no_programs, run_deploy, tmp_path
):
    page = tmp_path / "report.md"
    said = run_deploy("bug-report", "--structure", model, "-o", page)
    assert said.out == f"wrote {page}: read it before you send it\n"
    text = page.read_text()
    lines = text[text.index("## Model") :].splitlines()
    assert any(" = conv2d(" in line for line in lines)
    structure = [line for line in lines if line.startswith(("t", "input", "constant"))]
    assert structure
    assert all('"' not in line for line in structure)
    assert "secret" not in text


@pytest.mark.slow
def test_nothing_is_run_or_read_that_was_not_asked_for(no_programs, run_deploy):
    facts = json.loads(run_deploy("bug-report", "--json").out)
    assert facts["command"] is None
    assert facts["model"] is None


def test_names_are_replaced_as_whole_words():
    private = Private({"D:/ada/code": ".", "D:/ada": "~", "ada": "USER", "box": "HOST"})
    assert private.without("D:/ada/code/m.c: D:/ada/x, ada@box, adapter, boxes") == (
        "./m.c: ~/x, USER@HOST, adapter, boxes"
    )


MISSING = (
    Program("compiler", "arm-none-eabi-gcc for arm", False, "not found"),
    Program("compiler", "gcc for host", True, "13"),
    Program("runner", "qemu", False, "needs qemu"),
    Program("runner", "west", False, "needs west"),
    Program("builder", "west", False, "needs west"),
)


@pytest.mark.parametrize(
    ("manager", "line"),
    [
        ("apt-get", "sudo apt-get install gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm"),
        ("dnf", "sudo dnf install arm-none-eabi-gcc-cs arm-none-eabi-newlib qemu-system-arm"),
        ("brew", "brew install --cask gcc-arm-embedded qemu"),
        ("winget", "winget install Arm.GnuArmEmbeddedToolchain SoftwareFreedomConservancy.QEMU"),
        ("none", ""),
    ],
)
def test_what_is_missing_is_installed_by_the_system_s_manager_and_pip(manager, line):
    packages = dict.fromkeys(machine.PACKAGES, True) | {"unicorn": False}
    lines = install_lines(MISSING, packages, lambda name: name == manager)
    by_pip = [" ".join(each.split()[3:]) for each in lines if " -m pip " in each]
    assert [each for each in lines if " -m pip " not in each] == ([line] if line else [])
    assert by_pip == ["install 'solder-mcu[unicorn]'", "install west"]


def test_fix_names_no_framework_and_no_tool_of_solder_s_makers():
    (line,) = install_lines((), dict.fromkeys(machine.PACKAGES, False), lambda name: False)
    named = set(line.partition("[")[2].partition("]")[0].split(","))
    assert {"unicorn", "cycles", "pyocd", "tune", "farm", "sign"} <= named
    assert not named & {"torch", "keras", "jax", "sklearn", "train", "docs", "release"}


def test_fix_prints_lines_and_runs_none(monkeypatch, run_deploy):
    monkeypatch.setattr("deploy.host_tools.tool_inventory.programs", lambda: MISSING)
    monkeypatch.setattr("subprocess.Popen", None)  # code that starts a process fails
    said = run_deploy("doctor", "--fix", "--json")
    assert said.status == 0, said.err
    assert "west" in " ".join(json.loads(said.out)["commands"])
    assert run_deploy("doctor", "--fix", "--board", "host").status == 2


def test_quiet_hides_progress_and_nothing_else(run_deploy, model):
    said = run_deploy("inspect", "-q", model, "--board", "host")
    assert said.status == 0
    assert said.out == run_deploy("inspect", model, "--board", "host").out
    assert said.err == ""
