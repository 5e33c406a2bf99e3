"""deploy export --as micropython: an interpreter imports the module, and its outputs are the reference's."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tflite_builder import ModelBuilder

import deploy
from aot.frontend.tflite.write_file import FileTensor, ModelSpec
from boards.cores import load_core
from platforms.board_files import load_board
from platforms.micropython import architecture_of

DIGITS = Path(deploy.__file__).parent / "demo" / "digits.tflite"
ROW = (1, 3)
# Boards or targets, and MicroPython's number of their architecture.
PROCESSORS = {
    "armv6m": (("board", "rpi-pico"), 4),
    "armv7m": (("board", "mps2-an385"), 5),
    "armv7em": (("target", "cortex-m4"), 6),
    "armv7emsp": (("board", "mps2-an386"), 7),
    "rv32imc": (("board", "esp32-c3-devkitm-1"), 11),
}


def two_inputs() -> bytes:
    build = ModelBuilder("two")
    a, b = (build.input(name, (1, 4)) for name in "ab")
    return build.finish(build.add(a, b, scale=0.05))


def counter() -> bytes:
    """y = x + the y before, which is 10, 20, 30 at first."""
    build = ModelBuilder("counter")

    def handle(of: ModelBuilder) -> str:
        tensor = FileTensor("sum/handle", (), "resource")
        return of.operator("VAR_HANDLE", 1, (), [tensor], "VarHandleOptions", SharedName="sum")

    def first() -> ModelSpec:
        begin = ModelBuilder("begin")
        start = begin.constant("start", np.array([[10, 20, 30]], np.float32))
        begin.operator("ASSIGN_VARIABLE", 1, (handle(begin), start), [])
        return begin.spec()

    x = build.input("x", ROW, dtype="float32")
    build.operator("CALL_ONCE", 1, (), [], "CallOnceOptions", InitSubgraphIndex=1)
    variable = handle(build)
    before = build.operator("READ_VARIABLE", 1, (variable,), [FileTensor("before", ROW, "float32")])
    y = build.operator("ADD", 1, (before, x), [FileTensor("y", ROW, "float32")], "AddOptions")
    build.operator("ASSIGN_VARIABLE", 1, (variable, y), [])
    return build.finish(y, called=[first()])


def logistic() -> bytes:
    build = ModelBuilder("logistic")
    x = build.input("x", (1, 4), dtype="float32")
    return build.finish(build.operator("LOGISTIC", 1, (x,), [FileTensor("y", (1, 4), "float32")]))


@pytest.fixture(scope="module")
def interpreter(require_package, require_tool):
    """interpreter(folder, text): what MicroPython prints, which finds modules in the folder."""
    if architecture_of(load_board("host").target) is None:
        pytest.skip("MicroPython is in PyPI for Linux on x86-64 only")
    require_package("micropython_unix")
    require_tool("gcc")

    def run(folder: Path, text: str) -> str:
        words = [sys.executable, "-m", "micropython_unix", "-c", text]
        where = {**os.environ, "MICROPYPATH": str(folder)}
        done = subprocess.run(words, env=where, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def exported(folder: Path, model: bytes, name: str, **options: Any) -> Path:
    folder.mkdir()
    (folder / f"{name}.tflite").write_bytes(model)
    deploy.export(folder / f"{name}.tflite", "micropython", folder / name, **{"board": "host", **options})
    return folder / name


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"stream": True}, {"optimize": "size"}])
def test_the_interpreter_computes_what_the_reference_does(options, tmp_path, interpreter):
    deploy.export(DIGITS, "micropython", tmp_path / "digits", board="host", **options)
    assert interpreter(tmp_path / "digits", (tmp_path / "digits/examples/once.py").read_text()) == (
        "digits: right\n"
    )


@pytest.mark.cc
def test_buffers_are_checked_typed_and_filled_in_place(tmp_path, interpreter):
    session = """
import gc, two
def failure(call):
    try:
        call()
    except Exception as error:
        return "%s: %s" % (type(error).__name__, error)
print(two.inputs()[1], two.outputs()[0][1:3])
print(list(two.run(bytes((1, 2, 3, 4)), bytes((1, 1, 1, 255)))))
a, b = two.input(), two.input(1)
a[0], b[0], b[3] = -100, -100, 100
for each in range(50):
    gc.collect()
    junk = [bytes(40) for each in range(500)]
print(list(two.run()), list(two.output()) == list(two.run(a, b)))
print(failure(lambda: two.run(bytes(4), bytes(5))))
print(failure(lambda: two.run(bytes(4))))
print(failure(lambda: two.run(bytes(4), 4)))
print(failure(lambda: two.input(2)))
print(failure(lambda: two.output(-1)))
print(failure(lambda: two.run(x=1)))
"""
    assert interpreter(exported(tmp_path / "a", two_inputs(), "two"), session).splitlines() == [
        "('b', 'b', (1, 4), 0.05, 0) ('b', (1, 4))",
        "[2, 3, 4, 3]",
        "[-128, 0, 0, 100] True",
        "ValueError: b needs 4 bytes, the buffer has 5",
        "ValueError: run needs no buffer, or one for each of 2 inputs",
        "TypeError: object with buffer protocol required",
        "ValueError: no tensor has this number",
        "ValueError: no tensor has this number",
        "TypeError: function doesn't take keyword arguments",
    ]


@pytest.mark.cc
def test_a_state_is_kept_from_run_to_run_and_reset(tmp_path, interpreter):
    session = """
import counter
from array import array
x = array("f", (1, 2, 3))
print(list(counter.run(x)), list(counter.run(x)))
odd = bytearray(13)
odd[1:] = bytes(x)
print(list(counter.run(memoryview(odd)[1:])))
counter.reset()
print(list(counter.run(x)), counter.inputs()[0][3:])
"""
    assert interpreter(exported(tmp_path / "a", counter(), "counter"), session).splitlines() == [
        "[11.0, 22.0, 33.0] [12.0, 24.0, 36.0]",
        "[13.0, 26.0, 39.0]",
        "[11.0, 22.0, 33.0] (None, None)",
    ]


@pytest.mark.cc
def test_rows_are_pushed_until_the_outputs_are_there(tmp_path, interpreter):
    session = """
import digits
rows = [bytes((row,) * 8) for row in range(8)]
whole = list(digits.run(b"".join(rows)))
digits.push(rows[5])
digits.reset()
found = [digits.push(row) for row in rows]
print(found[:7] == [None] * 7, list(found[7]) == whole)
try:
    digits.push(bytes(9))
except ValueError as error:
    print(error)
"""
    deploy.export(DIGITS, "micropython", tmp_path / "digits", board="host", stream=True)
    assert interpreter(tmp_path / "digits", session).splitlines() == [
        "True True",
        "a row needs 8 bytes, the buffer has 9",
    ]


@pytest.mark.cc
def test_a_window_slides_by_the_rows_that_are_pushed(tmp_path, interpreter):
    rows = np.random.default_rng(3).integers(-128, 128, (10, 8)).astype(np.int8)
    session = f"""
import digits
rows = {rows.tobytes()!r}
found = [digits.push(rows[start : start + 16]) for start in range(0, 64, 16)]
print(found[:3], list(found[3]), list(digits.push(rows[64:])))
digits.reset()
print(digits.push(rows[:16]))
"""
    deploy.export(DIGITS, "micropython", tmp_path / "digits", board="host", slide=2)
    model = deploy.load(DIGITS)
    windows = [model.run({"image": rows[n : n + 8].reshape(1, 8, 8, 1)})["digit"][0].tolist() for n in (0, 2)]
    assert interpreter(tmp_path / "digits", session).splitlines() == [
        f"[None, None, None] {windows[0]} {windows[1]}",
        "None",
    ]


@pytest.mark.arm
@pytest.mark.slow
@pytest.mark.parametrize(("where", "number"), PROCESSORS.values(), ids=PROCESSORS)
def test_other_processors_compute_what_the_reference_does(
    where, number, tmp_path, require_tool, require_package
):
    """The module runs in an emulated processor, called by a stand-in for the interpreter."""
    require_tool("riscv64-unknown-elf-gcc")
    require_package("unicorn")
    from native_module import NativeModule, RaisedError  # needs unicorn

    kind, name = where
    model = deploy.load(DIGITS)
    compiled = deploy.compile(model, **{kind: name}, stream=True)
    deploy.export(compiled, "micropython", tmp_path / "digits")
    core = load_core(compiled.artifact.facts.target.core)
    module = NativeModule((tmp_path / "digits/digits.mpy").read_bytes(), core.unicorn)
    assert module.architecture == number
    x = np.random.default_rng(7).integers(-128, 128, (1, 8, 8, 1)).astype(np.int8)
    expected = model.run({"image": x})["digit"]
    assert module.call("run", x.tobytes()) == expected.tobytes()
    assert [module.call("push", row.tobytes()) for row in x[0]] == [None] * 7 + [expected.tobytes()]
    assert module.call("input") == bytes(64)
    assert module.call("inputs") == (("image", "b", (1, 8, 8, 1), 0.003921569, -128),)
    with pytest.raises(RaisedError, match=r"^ValueError: image needs 64 bytes, the buffer has 65$"):
        module.call("run", bytes(65))
    with pytest.raises(RaisedError, match=r"^TypeError"):
        module.call("push")


def test_this_computer_makes_modules_on_linux_with_x86_64_only(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    assert architecture_of(load_board("host").target) is None


@pytest.mark.cc
@pytest.mark.parametrize(
    ("board", "reason"),
    [
        ("esp32-s3-devkitc-1", "MicroPython loads no native code of this version on xtensa-lx7."),
        ("qemu-riscv32", "logistic needs expf of the C library."),
    ],
)
def test_the_readme_says_why_there_is_no_native_module(board, reason, tmp_path, require_tool):
    require_tool("riscv64-unknown-elf-gcc")
    folder = exported(tmp_path / "a", logistic(), "logistic", board=board)
    assert f"There is no native module: {reason}\n" in (folder / "README.md").read_text()
    assert not list(folder.glob("*.mpy"))
    assert (folder / "usermod/logistic/micropython.mk").is_file()


@pytest.mark.cc
@pytest.mark.slow
def test_micropython_s_own_build_takes_the_user_module(tmp_path, require_tool):
    tree = os.environ.get("MICROPYTHON_DIR")
    if not tree:
        pytest.skip("needs MicroPython's tree with mpy-cross built: MICROPYTHON_DIR is not set")
    require_tool("make")
    folder = exported(tmp_path / "a", counter(), "counter")
    deploy.export(DIGITS, "micropython", tmp_path / "digits", board="host", stream=True)
    (folder / "usermod/digits").symlink_to(tmp_path / "digits/usermod/digits")
    without = [f"MICROPY_PY_{each}=0" for each in ("BTREE", "SSL", "FFI", "BLUETOOTH")]
    own = (f"BUILD={tmp_path / 'build'}", f"USER_C_MODULES={folder / 'usermod'}", "FROZEN_MANIFEST=")
    port = ("make", "-C", f"{tree}/ports/unix", "-j2", "MICROPY_USE_READLINE=0", *without, *own)
    subprocess.run(port, check=True, capture_output=True)
    for example in (folder, tmp_path / "digits"):
        text = (example / "examples/once.py").read_text()
        argv = [str(tmp_path / "build/micropython"), "-c", text]
        said = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        assert re.fullmatch(r"(counter|digits): right\n", said)
