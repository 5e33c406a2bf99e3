"""The kinds of files that people are handed: which whole ones are damaged, how, and how each is read."""

import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from fuzz_seeds import model_files
from mutations import mutated, mutated_text

from aot.frontend.load import parse_model
from aot.target import Target
from artifact.archive import METADATA, archive_bytes, read_archive, tar_bytes
from artifact.artifact import artifact_of
from codegen.compile import compile_job
from codegen.job import ImportedModel, Job
from codegen.kernels.tuning_records import read_records, select
from codegen.options import CompileOptions
from deploy.cli.project_file import NAME as PROJECT_FILE
from deploy.cli.project_file import read_project_file
from platforms.board_files import load_board
from platforms.folder import read_project
from platforms.layout import PROJECT_FILE as PROJECT_FACTS

_OWN_HASH = "metadata_sha256"
ROOT = Path(__file__).resolve().parents[2]
Files = list[tuple[str, bytes]]


@dataclass(frozen=True)
class Kind:
    """`share` of all damaged files; `read` gets the damaged bytes, the whole one's name and a folder."""

    share: int
    seeds: Callable[[Path], Files]
    damage: Callable[[bytes, np.random.Generator], bytes]
    read: Callable[[bytes, str, Path], object]


def _compiled(data: bytes, name: str) -> object:
    graph = parse_model(data, name, "tflm")
    return compile_job(Job(ImportedModel(graph, name, "00" * 32, "model"), Target("host"), CompileOptions()))


@cache
def _archive() -> bytes:
    """The bundled model's, without a runtime."""
    graph = parse_model((ROOT / "deploy" / "demo" / "digits.tflite").read_bytes(), "digits.tflite", "tflm")
    imported = ImportedModel(graph, "digits.tflite", "00" * 32, "digits")
    return archive_bytes(artifact_of(compile_job(Job(imported, Target("host"), CompileOptions()))), 0)


@cache
def _entries() -> Mapping[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(_archive())) as tar:
        files = [(info.name.removeprefix("./"), tar.extractfile(info)) for info in tar]
    return {name: file.read() for name, file in files if file is not None}


def _read_archive(data: bytes, _name: str, folder: Path) -> object:
    """Reads all that commands take from an archive."""
    path = folder / "some.tar"
    path.write_bytes(data)
    artifact = read_archive(path)
    return artifact.graph, artifact.sources, artifact.headers, artifact.runtime


def _read_made_anew(data: bytes, name: str, folder: Path) -> object:
    """An archive in which somebody changed one entry, and made the hashes right again."""
    entries = {**_entries(), name: data}
    try:
        facts = json.loads(entries[METADATA])
        if name != METADATA:
            facts["solder"]["files"][name] = hashlib.sha256(data).hexdigest()
        facts["solder"].pop(_OWN_HASH, None)
        digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
        facts["solder"][_OWN_HASH] = digest
        entries[METADATA] = json.dumps(facts).encode()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass  # it is not such a document any more
    return _read_archive(tar_bytes(entries, 0), name, folder)


def _parsed_entries(_shared: Path) -> Files:
    """Those that are not only copied: the metadata three times, whose rules are the most."""
    names = [name for name in _entries() if name.startswith(("src/", "parameters/"))]
    return [(name, _entries()[name]) for name in (METADATA, METADATA, METADATA, *names)]


def _in(name: str, read: Callable[[Path], object]) -> Callable[[bytes, str, Path], object]:
    """Reads the bytes as a file of this name."""

    def read_bytes(data: bytes, _name: str, folder: Path) -> object:
        (folder / name).write_bytes(data)
        return read(folder / name)

    return read_bytes


def _records(path: Path) -> object:
    return select(read_records(path), "cortex-m4")


_RECORD = (
    '{"task": "conv2d 3x3", "core": "cortex-m4", "knobs": {"pixels": 2, "channels": 4}, "cost": 1200, '
    '"default_cost": 1500, "error": "", "compiler": "gcc 12.2", "board": "b", "unit": "cycles", '
    '"seconds": 0.25, "tool": "1.0", "time": "2026-01-01T00:00:00Z"}\n'
)
_PROJECT = (
    '{"format": 1, "name": "kws", "platform": "baremetal", "board": "mps2-an386", "app": "rpc", '
    '"model_hash": "00", "build_id": "kws-0123"}\n'
)
_OPTIONS = """model = "models/kws.tflite"
board = "nucleo-l4r5zi"
optimize = "ram"
ram = "64K"
pool = ["SRAM1", "SRAM2"]
disable = ["fold-scales"]
rounding = "tflm"
level = 2
inputs = "samples.npz"
runner = "pyocd"
deadline = 5
"""


def _boards(_shared: Path) -> Files:
    files = sorted((ROOT / "boards").glob("*.toml"))
    return [(file.name, file.read_bytes()) for file in files]


KINDS: Mapping[str, Kind] = {
    "model": Kind(25, model_files, mutated, lambda data, name, _folder: _compiled(data, name)),
    "archive": Kind(15, lambda _: [("digits.tar", _archive())], mutated, _read_archive),
    "archive made anew": Kind(15, _parsed_entries, mutated_text, _read_made_anew),
    "board": Kind(15, _boards, mutated_text, _in("board.toml", lambda path: load_board(str(path)))),
    "project": Kind(
        10,
        lambda _: [(PROJECT_FACTS, _PROJECT.encode())],
        mutated_text,
        _in(PROJECT_FACTS, lambda path: read_project(path.parent)),
    ),
    "project file": Kind(
        10,
        lambda _: [(PROJECT_FILE, _OPTIONS.encode())],
        mutated_text,
        _in(PROJECT_FILE, read_project_file),
    ),
    "records": Kind(
        10, lambda _: [("tuned.jsonl", (_RECORD * 3).encode())], mutated_text, _in("r", _records)
    ),
}
