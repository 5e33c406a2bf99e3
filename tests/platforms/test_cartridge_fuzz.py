"""The loader of cartridges against a model of its rules: as it is, and with one of its guards taken out."""

import os
from pathlib import Path

import pytest
from cartridge_fuzz import outcome
from cartridge_press import PRESSES, RUNTIME, tiny_source

# About ten seconds for each kind of cartridge; `make fuzz-long` takes ten million.
REQUESTS = int(os.environ.get("FUZZ_REQUESTS", "300000"))
SOON = 100_000
_TAKE, _FINISH = "[TAKE]     = {", "[FINISH]   = {"
# What is taken out of solder_cartridge.c, and what is there then.
GUARDS = {
    "a piece needs an open update": (f"{_TAKE}OFF,  OFF,  OPEN, OFF}}", f"{_TAKE}OPEN, OPEN, OPEN, OFF}}"),
    "an end needs an open update": (f"{_FINISH}OFF,  OFF,  IDLE, OFF}}", f"{_FINISH}IDLE, IDLE, IDLE, OFF}}"),
    "nothing interrupts a request": (f"{_TAKE}OFF,  OFF,  OPEN, OFF}}", f"{_TAKE}OFF,  OFF,  OPEN, OPEN}}"),
    "a failure ends the update": (
        "update.state = status == SOLDER_OK ? update.afterwards : (uint8_t)IDLE;",
        "update.state = update.afterwards;",
    ),
    "an update goes to the other slot": ("solder_cartridge_slot) ^ 1u;", "solder_cartridge_slot);"),
    "signatures hold": ("if (found != SOLDER_SIGNATURE_VALID)", "if (found == SOLDER_SIGNATURE_UNCHECKED)"),
    "what is tried and bad is not tried again": (" && *record_of(slot, TRIED) == ERASED", ""),
    "an older one is not taken": ("header->version < solder_cartridge_running()", "header->version < 1u"),
}

pytestmark = [pytest.mark.cc, pytest.mark.slow]


@pytest.fixture(autouse=True)
def _tools(require_tool, require_package):
    require_package("cryptography")
    if not Path("/usr/include/sodium.h").is_file():
        require_tool("libsodium-dev")  # says so by its name


@pytest.mark.parametrize("kind", PRESSES)
def test_the_running_slot_is_what_the_rules_say(kind, tmp_path):
    done = outcome(PRESSES[kind](tiny_source(), tmp_path), 1, REQUESTS)
    assert (done.stderr, done.returncode) == ("", 0), done.stdout
    requests, taken, refused, returned, starts, losses = (
        int(word) for word in done.stdout.split() if word.isdigit()
    )
    assert requests > 0.9 * REQUESTS
    assert taken > requests / 20
    assert refused > requests / 40
    assert min(returned, starts, losses) > requests / 500


@pytest.mark.parametrize("guard", GUARDS)
def test_a_loader_without_one_of_its_guards_is_found(guard, tmp_path):
    runtime = tmp_path / "runtime"
    runtime.mkdir()
    for path in RUNTIME.glob("*.[ch]"):
        (runtime / path.name).write_bytes(path.read_bytes())
    loader = runtime / "solder_cartridge.c"
    text, (there, instead) = loader.read_text(encoding="utf-8"), GUARDS[guard]
    assert text.count(there) == 1
    loader.write_text(text.replace(there, instead), encoding="utf-8")
    done = outcome(PRESSES["tables"](tiny_source(), tmp_path), 1, SOON, runtime)
    assert done.returncode != 0, done.stdout
