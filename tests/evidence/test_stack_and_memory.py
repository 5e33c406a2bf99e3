"""The stack's bound and the memory of a model are read from its program; what is put there is found."""

import subprocess
from dataclasses import replace

import pytest
from strict_archives import artifact, changed

from aot.errors import MissingToolError, ToolError
from artifact.artifact import Artifact
from codegen.options import CompileOptions
from deploy.proving import stack_and_memory
from deploy.proving.c_functions import CConstant
from deploy.proving.chapter import Standing
from deploy.proving.machine.objects import taken_addresses, written_memory
from deploy.proving.machine.program import CallTree, LinkedProgram, call_tree
from deploy.proving.stack_and_memory import examine_stack_and_memory
from deploy.proving.subject import Subject
from platforms.board_files import load_board
from platforms.stack_depth import stack_usage

pytestmark = pytest.mark.usefixtures("own_folders")
PROGRAM = """
#define APART __attribute__((noinline, noclone))
int stored;
static APART int leaf(int n) { volatile int room[100]; room[n] = n; return room[n]; }
static APART int thick(int n) { volatile int room[300]; room[n] = n; return room[n]; }
APART int late(int n) { volatile int room[10]; room[n] = n; return leaf(room[n]) + 1; }
int entry(int n) { return late(n) + thick(n) + 1; }
int last(int n) { volatile int room[20]; room[n] = n; return leaf(room[n]); }
static APART int odd(int n);
static APART int even(int n) { volatile int k = n; return k ? odd(n - 1) + k : 1; }
static APART int odd(int n) { volatile int k = n; return k ? even(n - 1) + k : 0; }
int parity(int n) { return even(n) + 1; }
int by_pointer(int (*f)(int), int n) { return f(n) + 1; }
int by_length(int n) { volatile int room[n]; room[n - 1] = n; return room[0]; }
int by_case(int n, int *at) {
    switch (n) {
    case 0: return leaf(1) + 2; case 1: return at[1] * 3; case 2: return thick(4) + at[1];
    case 3: return at[7];
    case 4: return at[at[3]] + 1; case 5: return leaf(at[0]) - 1; case 6: return 8 - at[2]; default: return 9;
    }
}
int aligned(int n) { volatile int room[8] __attribute__((aligned(16))); room[n] = n; return room[n]; }
void calls_all(void) {
    stored = entry(1) + last(1) + parity(1) + by_length(3) + by_case(stored, &stored) + aligned(1)
        + by_pointer(leaf, 2);
}
"""
FLAGS = (
    "-mcpu=cortex-m4", "-mthumb", "-O2", "-ffunction-sections", "-fstack-usage", "-fno-ipa-sra", "-nostdlib",
    "-fno-ipa-cp", "-fno-inline", "-Wl,-e,calls_all", "-Wl,--no-warn-rwx-segments",
)  # fmt: skip


@pytest.fixture(scope="module")
def folder(require_tool, require_package, tmp_path_factory):
    require_tool("arm-none-eabi-gcc")
    require_package("capstone")
    place = tmp_path_factory.mktemp("program")
    (place / "p.c").write_text(PROGRAM)
    for words in (("-c", "p.c", "-o", "p.o"), ("p.o", "-o", "p.elf")):
        subprocess.run(["arm-none-eabi-gcc", *FLAGS, *words], cwd=place, check=True)
    return place


@pytest.fixture(scope="module")
def tree(folder):
    program = LinkedProgram(folder / "p.elf")
    return lambda entry: call_tree(program, entry)


def below(tree: CallTree) -> dict[str, int]:
    return {tree.names[address]: count for address, count in tree.deepest.items()}


@pytest.mark.arm
def test_a_frame_is_what_the_compiler_says(folder, tree):
    usage = stack_usage(folder)
    found = tree("calls_all")
    read = {found.names[address]: frame.bytes for address, frame in found.frames.items()}
    assert {name: usage[name] for name in read if name != "by_length"} == {
        name: count for name, count in read.items() if name != "by_length"
    }
    assert len(read) == 13


@pytest.mark.arm
def test_the_bound_is_that_of_the_deepest_calls(folder, tree):
    usage, found = stack_usage(folder), tree("entry")
    assert found.deepest[found.entry] == usage["entry"] + usage["thick"]
    assert [found.names[address] for address in found.chain()] == ["entry", "thick"]
    assert below(found)["late"] == usage["late"] + usage["leaf"]


@pytest.mark.arm
def test_a_call_at_the_very_end_has_given_its_frame_back(folder, tree):
    usage, found = stack_usage(folder), tree("last")
    assert found.deepest[found.entry] == max(usage["last"], usage["leaf"])


@pytest.mark.arm
def test_what_a_table_of_offsets_reaches_is_followed(folder, tree):
    usage, found = stack_usage(folder), tree("by_case")
    assert {found.names[address] for address in found.calls(found.entry)} == {"leaf", "thick"}
    assert found.deepest[found.entry] == usage["by_case"] + usage["thick"]


@pytest.mark.arm
def test_what_has_no_bound_is_reported(tree):
    assert tree("parity").circle == ("even", "odd", "even")
    assert tree("parity").deepest == {}
    (frame,) = tree("by_pointer").frames.values()
    assert [step.text for step in frame.by_register] == ["blx r3"]
    (frame,) = tree("by_length").frames.values()
    assert [step.text.split()[0] for step in frame.unbounded] == ["sub.w"]


@pytest.mark.arm
def test_addresses_of_functions_and_written_memory_are_found_in_objects(folder):
    assert {(each.section, each.function) for each in taken_addresses(folder)} == {
        (".text.calls_all", "leaf")
    }
    assert [(each.section, each.bytes) for each in written_memory(folder)] == [(".bss", 4)]


@pytest.mark.arm
def test_a_function_that_is_not_there_is_reported(tree):
    with pytest.raises(ToolError, match="the program has no function nothing"):
        tree("nothing")


# The chapter, of a small model.


def subject(made: Artifact) -> Subject:
    return Subject(made, load_board("mps2-an386"))


@pytest.fixture(scope="module")
def dense(require_tool, require_package):
    require_tool("arm-none-eabi-gcc")
    require_package("capstone", "unicorn")
    return subject(artifact("dense", CompileOptions()))


@pytest.mark.arm
def test_a_model_has_a_bound_that_paint_confirms(dense):
    found = examine_stack_and_memory(dense)
    assert found.verdict is Standing.PROVEN, found.summary
    assert (
        " without recursion, heap or call by a pointer; with the server's calls around it at most "
        in found.summary
    )
    calls, functions, memory = found.tables
    assert calls.rows[0][0] == "dense_run"
    assert calls.rows[0][2] == calls.rows[-1][2] + sum(int(row[1]) for row in calls.rows[:-1])  # type: ignore[operator]
    assert all(row[2] == row[3] for row in functions.rows if row[3] != "not given")
    kinds = {row[1]: row for row in memory.rows}
    assert kinds["arena"][0] == "arena"
    assert all(row[4] == row[5] for row in memory.rows)
    assert all(str(row[3]).startswith("0x") for row in memory.rows)


@pytest.mark.arm
def test_what_does_not_agree_fails(dense, monkeypatch):
    monkeypatch.setattr(stack_and_memory, "painted_bytes", lambda *_: 5000)
    found = examine_stack_and_memory(dense)
    assert found.verdict is Standing.FAILED
    assert found.summary.startswith(
        "more stack is used than the bound; with the server's calls around it at "
    )
    assert found.summary.endswith(", and 5,000 were painted over")
    monkeypatch.setattr(stack_and_memory, "emulator_of", lambda board: ("", "none is here"))
    found = examine_stack_and_memory(dense)
    assert found.exceptions == ("the bound was not held against a painted stack: none is here",)
    monkeypatch.setattr(stack_and_memory, "stack_usage", lambda folder: {"dense_run": 1})
    assert "and 1 by the compiler's account" in examine_stack_and_memory(dense).summary
    monkeypatch.setattr(
        stack_and_memory, "constants_of", lambda text: {"dense_dense_0_scaling": CConstant(3, "")}
    )
    assert "constant dense_dense_0_scaling has " in examine_stack_and_memory(dense).summary


@pytest.mark.arm
def test_what_is_put_there_is_found(dense):
    """A recursion, memory of its own, a heap and a call by a pointer, in one program."""
    text = (
        "extern void *malloc(unsigned);\nvoid *_sbrk(int n);\n"
        "void *_sbrk(int n)\n{\n    (void)n;\n    return NULL;\n}\n"
        "static volatile int32_t turns = 3;\n"
        "static int32_t (*volatile way)(int32_t);\n"
        "static __attribute__((noinline)) int32_t again(int32_t n)\n{\n"
        "    way = again;\n    return turns > n ? again(n + 1) + way(n) + (malloc(4) != 0) : n;\n}\n"
    )
    made = changed(dense.artifact, r"\nint32_t dense_run\(", f"\n{text}\nint32_t dense_run(")
    made = changed(made, r"\n    return \w+_OK;\n", "\n    return again(0) < 0;\n")
    found = examine_stack_and_memory(replace(dense, artifact=made))
    assert found.verdict is Standing.FAILED
    for words in (
        "again > again is a recursion",
        "again goes to where a register says (blx r",
        "malloc is called: it takes memory from a heap",
        "dense keeps the address of again",
        "outside of the arena",
    ):
        assert words in found.summary


def test_what_it_cannot_read_is_said(monkeypatch, tmp_path):
    made = artifact("dense")
    assert examine_stack_and_memory(Subject(made)).summary == ("no board, so nothing is linked: add --board")
    found = examine_stack_and_memory(Subject(made, load_board("host")))
    assert found.summary == "machine code of host is not read: only that of Cortex-M is"
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingToolError, match="the Python package capstone"):
        examine_stack_and_memory(subject(made))
