"""Small files that claim much: each ends in a clear error, within seconds, gigabytes and lines that are few.

One process with little memory reads them all; a case that takes too long is interrupted.
"""

import io
import json
import struct
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx_files import onnx_file

import deploy

DIGITS = Path(deploy.__file__).parent / "demo" / "digits.tflite"
HUGE = 2**40
MOST_S = 20  # of processor time, on a slow machine
MOST_BYTES = 4 << 30
MOST_PRINTED = 4000  # characters
READS_ALL = """
import contextlib, io, json, resource, signal, sys, time
resource.setrlimit(resource.RLIMIT_AS, ({memory}, {memory}))
from deploy.__main__ import main
class TooLong(BaseException): pass
def too_long(number, frame): raise TooLong
signal.signal(signal.SIGVTALRM, too_long)
for line in json.load(sys.stdin):
    out, err = io.StringIO(), io.StringIO()
    signal.setitimer(signal.ITIMER_VIRTUAL, {seconds})
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(line)
        except TooLong:
            status = "too long"
        except BaseException as error:
            status = repr(error)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    print(json.dumps([status, out.getvalue()[:10000] + err.getvalue()[:10000]]))
"""


def node_of(op: str, inputs: Sequence[str], output: str = "y", **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(op, inputs, [output], **attributes)


def model(nodes: Sequence[onnx.NodeProto], shape: Sequence[int], **constants: Any) -> bytes:
    return onnx_file(nodes, {"x": shape}, {"y": None}, constants)


def doubled(times: int, first: str) -> Iterable[onnx.NodeProto]:
    names = [first, *(f"v{n}" for n in range(times - 1)), "y"]
    return (node_of("Concat", [a, a], b, axis=1) for a, b in pairwise(names))


def integers(*values: int) -> np.ndarray[Any, Any]:
    return np.array(values, np.int64)


ONE = np.ones((1, 1, 2, 2), np.float32)
ONNX: Mapping[str, Callable[[], bytes]] = {
    "dimension": lambda: model([node_of("Relu", ["x"])], (1, 2**62)),
    "longest dimension": lambda: model([node_of("Relu", ["x"])], (1, 2**63 - 1)),
    "two dimensions": lambda: model([node_of("Relu", ["x"])], (2**31, 2**31)),
    "40 doublings": lambda: model([*doubled(40, "x")], (1, 4)),
    "40 doublings of a constant": lambda: model([*doubled(40, "c")], (1, 4), c=np.ones((1, 4), np.float32)),
    "pads of a row": lambda: model([node_of("Pad", ["x", "p"])], (1, 4), p=integers(0, HUGE, 0, HUGE)),
    "pads of an image": lambda: model(
        [node_of("Pad", ["x", "p"])], (1, 1, 4, 4), p=integers(0, 0, HUGE, HUGE, 0, 0, HUGE, HUGE)
    ),
    "pads before softmax": lambda: model(
        [node_of("Pad", ["x", "p"], "q"), node_of("Softmax", ["q"])], (1, 4), p=integers(0, 0, 0, 2**33)
    ),
    "pads of a convolution": lambda: model(
        [node_of("Conv", ["x", "w"], pads=[HUGE] * 4)], (1, 1, 4, 4), w=ONE
    ),
    "strides": lambda: model([node_of("ConvTranspose", ["x", "w"], strides=[HUGE] * 2)], (1, 1, 4, 4), w=ONE),
    "expand": lambda: model([node_of("Expand", ["x", "s"])], (1, 4), s=integers(HUGE, 4)),
    "tile": lambda: model([node_of("Tile", ["x", "s"])], (1, 4), s=integers(HUGE, 4)),
    "constant of shape": lambda: model(
        [node_of("ConstantOfShape", ["s"], "c"), node_of("Add", ["x", "c"])], (1, 4), s=integers(HUGE, 4)
    ),
    "resize": lambda: model(
        [node_of("Resize", ["x", "", "", "s"], mode="nearest")], (1, 1, 4, 4), s=integers(1, 1, HUGE, HUGE)
    ),
    "outer product": lambda: model(
        [node_of("Transpose", ["x"], "t", perm=[1, 0]), node_of("MatMul", ["t", "x"])], (1, 2**24)
    ),
}


def header(shape: str, element: str = "|i1") -> bytes:
    text = f"{{'descr': '{element}', 'fortran_order': False, 'shape': {shape}, }}"
    text = text.ljust(-(len(text) + 11) % 64 + len(text)) + "\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(text)) + text.encode()


def npz(entries: Mapping[str, Iterable[bytes]]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file:
        for name, parts in entries.items():
            with file.open(name, "w", force_zip64=True) as stream:
                for part in parts:
                    stream.write(part)
    return buffer.getvalue()


@cache
def six_gigabytes() -> bytes:
    return npz({"input_0.npy": (header(f"({6 << 30},)"), *[bytes(1 << 26)] * (6 << 4))})


NPZ: Mapping[str, Callable[[], bytes]] = {
    "six gigabytes of zeros": six_gigabytes,
    "header of 2^50": lambda: npz({"input_0.npy": [header(f"({2**50},)"), b"1"]}),
    "header of three sides": lambda: npz({"input_0.npy": [header(f"({2**31}, {2**31}, {2**31})"), b"1"]}),
    "negative side": lambda: npz({"input_0.npy": [header("(-1,)"), b"1"]}),
    "long elements": lambda: npz({"input_0.npy": [header(f"({2**20},)", "|S1000000"), b"1"]}),
    "deep header": lambda: npz(
        {"input_0.npy": [b"\x93NUMPY\x01\0" + struct.pack("<H", 60000) + b"(" * 60000]}
    ),
    "many arrays": lambda: npz({f"a{n}.npy": [header("(1,)"), b"1"] for n in range(20_000)}),
}


def endless_wav() -> bytes:
    form = struct.pack("<IHHIIHH", 16, 1, 1, 16_000, 32_000, 2, 16)
    return b"RIFF\xff\xff\xff\xffWAVEfmt " + form + b"data\xf0\xff\xff\xff" + bytes(64)


def tar_of(size: int) -> bytes:
    info = tarfile.TarInfo("./metadata.json")
    info.size = size
    return info.tobuf(tarfile.GNU_FORMAT) + bytes(512)


def flatbuffer(*numbers: int) -> bytes:
    """A TFLite file of these 32-bit numbers: offsets that lead far away, vectors that claim to be long."""
    return struct.pack("<I4s", 8, b"TFL3") + struct.pack(f"<{len(numbers)}I", *numbers)


OTHERS: Mapping[str, tuple[str, Callable[[], bytes]]] = {
    "wav without an end": ("wav", endless_wav),
    "labels of 2^50": ("npy", lambda: header(f"({2**50},)", "<i8")),
    "labels with a long header": ("npy", lambda: b"\x93NUMPY\x02\0\xff\xff\xff\x7f("),
    "archive of 2^50": ("tar", lambda: tar_of(2**50)),
    "archive of negative size": ("tar", lambda: tar_of(-1)),
    "tflite of far offsets": ("tflite", lambda: flatbuffer(0xFFFFFFF0, 0x7FFFFFFF, 0xFFFFFFFF)),
    "tflite of long vectors": ("tflite", lambda: flatbuffer(4, 0, 0xFFFFFFFF, 0xFFFFFFFF, 0, 0)),
    "deep records": ("jsonl", lambda: b'{"task": ' * 100_000),
    "deep board": ("toml", lambda: b"a = " + b"[" * 100_000),
}
COMMANDS: Mapping[str, Callable[[str], Sequence[str]]] = {
    "onnx": lambda path: ("inspect", path, "--board", "host"),
    "tflite": lambda path: ("inspect", path, "--board", "host"),
    "npz": lambda path: ("run", str(DIGITS), "--board", "host", "--inputs", path),
    "wav": lambda path: ("run", str(DIGITS), "--board", "host", "--inputs", path),
    "npy": lambda path: ("verify", str(DIGITS), "--board", "host", "--labels", path),
    "tar": lambda path: ("inspect", path, "--board", "host"),
    "jsonl": lambda path: ("records", "stats", path),
    "toml": lambda path: ("boards", "show", path),
}
BOMBS: Mapping[str, tuple[str, Callable[[], bytes]]] = {
    **{name: ("onnx", make) for name, make in ONNX.items()},
    **{name: ("npz", make) for name, make in NPZ.items()},
    **OTHERS,
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """What reading each bomb gave: the exit status, and what was printed."""
    pytest.importorskip("resource")  # Windows limits no memory
    folder, lines = tmp_path_factory.mktemp("bombs"), []
    for number, (kind, make) in enumerate(BOMBS.values()):
        path = folder / f"{number}.{kind}"
        path.write_bytes(make())
        lines.append(COMMANDS[kind](str(path)))
    script = READS_ALL.format(memory=MOST_BYTES, seconds=MOST_S)
    done = subprocess.run(
        (sys.executable, "-c", script), input=json.dumps(lines), capture_output=True, text=True, check=True
    )
    return dict(zip(BOMBS, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
def test_it_ends_in_a_clear_error(name, outcomes):
    status, printed = outcomes[name]
    assert status == 1, printed[-2000:]
    assert printed.startswith("error[E")
    assert len(printed) < MOST_PRINTED
