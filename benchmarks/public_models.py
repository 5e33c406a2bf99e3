"""Models that others published: what `deploy verify` says of each, for the host, against another runtime."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

LIST = Path(__file__).parent / "public_models.json"
CLONES = "PUBLIC_MODELS"
_TIME_S = 300
_RIGHT, _ALONE, _REFUSED, _NEITHER, _WRONG = "right", "no runtime", "refused", "neither runs", "differs"
HEAD = f"""\
# Public models

Printed by `python -m benchmarks public-models`, which needs {CLONES}: a folder with a clone of each
repository of `benchmarks/public_models.json` as `owner/name`. Each file is verified for the host with random
inputs, by `deploy verify FILE --board host`.

- *right*: equal to our reference and to LiteRT, TFLite Micro or ONNX Runtime
- *no runtime*: equal to the reference, but no other runtime runs the file, or it computes something else
- *refused*: with a reason, although another runtime runs it
- *neither runs*: refused, and no other runtime runs it, such as files compiled for an NPU
- *differs*: from the reference or the other runtime

The files that were refused or differ are below the table.

| repository | commit | files | {_RIGHT} | {_ALONE} | {_REFUSED} | {_NEITHER} | {_WRONG} |
|---|---|---:|---:|---:|---:|---:|---:|
"""
_RUNS_ELSEWHERE = """
import sys
import numpy as np
path = sys.argv[1]
if path.endswith(".onnx"):
    import onnxruntime
    session = onnxruntime.InferenceSession(path)
    kinds = {"float": "float32", "double": "float64"}
    feeds = {}
    for each in session.get_inputs():
        kind = each.type.removeprefix("tensor(").removesuffix(")")
        shape = [size if isinstance(size, int) and size > 0 else 1 for size in each.shape]
        feeds[each.name] = np.ones(shape, kinds.get(kind, kind))
    session.run(None, feeds)
else:
    from ai_edge_litert.interpreter import Interpreter
    interpreter = Interpreter(model_path=path)
    interpreter.allocate_tensors()
    for each in interpreter.get_input_details():
        interpreter.set_tensor(each["index"], np.ones(each["shape"], each["dtype"]))
    interpreter.invoke()
"""


@dataclass(frozen=True, slots=True)
class Tried:
    """A file, what came of it, and the first line of the error."""

    path: str
    outcome: str
    why: str


def public_model_rows() -> Iterator[str]:
    if CLONES not in os.environ:
        sys.exit(f"{CLONES} is not set: the folder with the clones")
    clones, notes, total = Path(os.environ[CLONES]), list[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        for each in json.loads(LIST.read_text()):
            repository, commit = each["repository"], each["commit"]

            def tried(path: str, git: Path = clones / repository, commit: str = commit) -> Tried:
                return _tried(git, commit, path, Path(folder))

            found = list(pool.map(tried, each["models"]))
            counts = Counter(one.outcome for one in found)
            total += counts
            yield _row(repository, commit[:8], counts)
            notes += [
                f"- {repository} `{one.path}` {one.outcome}: {each.get('known', {}).get(one.path, one.why)}"
                for one in found
                if one.outcome in (_REFUSED, _WRONG)
            ]
    yield _row("all", "", total)
    yield "\n"
    yield from (f"{note}\n" for note in notes)


def _row(name: str, commit: str, counts: Counter[str]) -> str:
    cells = [counts[outcome] for outcome in (_RIGHT, _ALONE, _REFUSED, _NEITHER, _WRONG)]
    return f"| {name} | {commit} | {counts.total()} | {' | '.join(map(str, cells))} |\n"


def _tried(git: Path, commit: str, path: str, folder: Path) -> Tried:
    file = folder / path.replace("/", "__").replace(" ", "_")[-150:]
    shown = subprocess.run(
        ("git", "-C", str(git), "show", f"{commit}:{path}"), capture_output=True, check=True
    )
    file.write_bytes(shown.stdout)
    done = _run(("-m", "deploy", "verify", str(file), "--board", "host", "--json"))
    if done is None:
        return Tried(path, _REFUSED, f"it takes more than {_TIME_S} s")
    try:
        said = json.loads(done.stdout)
    except json.JSONDecodeError:
        other = _run(("-c", _RUNS_ELSEWHERE, str(file)))
        runs = other is not None and other.returncode == 0
        why = next(iter(done.stderr.splitlines()), "")
        return Tried(path, _REFUSED if runs else _NEITHER, why.partition(": ")[2])
    if said["equal"]:
        return Tried(path, _RIGHT if said["oracle"] else _ALONE, said["no_oracle"] or "")
    return Tried(path, _WRONG, done.stderr.partition("\n")[0].partition(": ")[2])


def _run(words: Sequence[str]) -> subprocess.CompletedProcess[str] | None:
    try:
        return subprocess.run(
            (sys.executable, *words), capture_output=True, text=True, check=False, timeout=_TIME_S
        )
    except subprocess.TimeoutExpired:
        return None
