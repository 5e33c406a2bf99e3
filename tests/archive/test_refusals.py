"""An archive is read only where it is whole, known and as it was written; else it is said what is wrong."""

import hashlib
import io
import json
import random
import tarfile
from collections.abc import Callable
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
from error_facts import require_facts

from aot.errors import ModelError
from artifact.archive import read_archive
from artifact.artifact import Artifact

AGAIN = "compile the model again: deploy compile MODEL --board B -o OUT.tar"
WRITES_ONE = "create one with: deploy compile MODEL --board B -o OUT.tar"
Entries = list[tuple[tarfile.TarInfo, bytes]]


def refusal(path: Path) -> str:
    """The whole message, with the folder left out."""
    with pytest.raises(ModelError) as caught:
        read_archive(path)
    return str(caught.value).replace(f"{path.parent}/", "")


def entries(path: Path) -> Entries:
    with tarfile.open(path, "r:") as tar:
        return [(info, tar.extractfile(info).read()) for info in tar]  # type: ignore[union-attr]


def pack(path: Path, changed: Entries) -> None:
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for info, data in changed:
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


def with_metadata(path: Path, change: Callable[[Any], object], sign: bool = True) -> None:
    """Rewrites metadata.json; signed, it has the hash of what it now says."""
    (info, data), *others = entries(path)
    document = json.loads(data)
    change(document)
    if sign:
        ours = {key: value for key, value in document["solder"].items() if key != "metadata_sha256"}
        text = json.dumps({**document, "solder": ours}, sort_keys=True)
        document["solder"]["metadata_sha256"] = hashlib.sha256(text.encode()).hexdigest()
    pack(path, [(info, json.dumps(document).encode()), *others])


def add_entry(path: Path, name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> None:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    pack(path, [*entries(path), (info, b"")])


def test_a_file_that_is_not_there(tmp_path):
    require_facts(refusal(tmp_path / "x.tar"), f"not exist x.tar {WRITES_ONE}")


def test_a_folder(tmp_path):
    (tmp_path / "x.tar").mkdir()
    require_facts(refusal(tmp_path / "x.tar"), f"folder x.tar {WRITES_ONE}")


@pytest.mark.parametrize("data", [b"", b"no tar at all", bytes(range(256)) * 8, b"\x1f\x8b" + bytes(2000)])
def test_a_file_that_is_not_a_tar(data, tmp_path):
    (tmp_path / "x.tar").write_bytes(data)
    require_facts(refusal(tmp_path / "x.tar"), f"{len(data):,} bytes, not a tar x.tar {WRITES_ONE}")


def test_a_tar_of_something_else(tmp_path):
    pack(tmp_path / "x.tar", [(tarfile.TarInfo("photo.jpg"), b"smile")])
    require_facts(refusal(tmp_path / "x.tar"), f"no metadata.json x.tar {WRITES_ONE}")


def test_an_archive_of_another_tool(tmp_path):
    document = {"version": 7, "modules": {"default": {"model_name": "default"}}}
    pack(tmp_path / "x.tar", [(tarfile.TarInfo("./metadata.json"), json.dumps(document).encode())])
    require_facts(refusal(tmp_path / "x.tar"), f'not written by no "solder" x.tar {AGAIN}')


def test_a_version_of_the_library_format_that_is_not_known(archive_path):
    with_metadata(archive_path, lambda document: document.update(version=8))
    require_facts(refusal(archive_path), f"Model Library Format 8, reads 7 residual.tar {AGAIN}")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("stack_bytes_estimate", 10**4000),  # no float holds it, and pages divide by sizes
        ("cycles", {"cycles": 10**400, "measured": 0, "source": "x", "is_of_core": True}),
        ("board", "../elsewhere/board.toml"),  # a name, which must not become a path
    ],
)
def test_a_value_that_no_archive_has(key, value, archive_path):
    with_metadata(archive_path, lambda document: document["solder"].update({key: value}))
    assert key in refusal(archive_path)


def test_an_archive_of_an_older_format(archive_path, repo_root):
    with_metadata(archive_path, as_format_1_had_it)
    message = refusal(archive_path)
    require_facts(message, f"format 1, Solder 0.1.0 reads 3 residual.tar {AGAIN}")
    page = (repo_root / "docs" / "archives.md").read_text(encoding="utf-8")
    said = message.replace("error: ", "error[E209]: ").replace("residual", "kws")
    assert indent(said, "    ") in page


def as_format_1_had_it(document: Any) -> None:
    """Steps had another name in the keys of buffers."""
    document["solder"].update(format=1, tool_version="0.1.0")
    for buffer in document["solder"]["memory"]["buffers"]:
        for end in ("first", "last"):
            buffer[f"{end}_firing"] = buffer.pop(f"{end}_step")


def test_an_archive_of_a_newer_format(archive_path):
    with_metadata(archive_path, lambda document: document["solder"].update(format=4, tool_version="9.1"))
    require_facts(refusal(archive_path), f"format 4, reads 3 residual.tar use Solder 9.1, {AGAIN}")


@pytest.mark.parametrize("stated", ["1", None, [2]])
def test_a_format_that_is_not_a_number(stated, archive_path):
    with_metadata(archive_path, lambda document: document["solder"].update(format=stated, tool_version="0.9"))
    require_facts(refusal(archive_path), f"format {stated}, Solder 0.9 reads 3 residual.tar {AGAIN}")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"{", "is not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        (b"[" * 100_000, "is not JSON"),
        (b"\xff{}", "is not JSON"),
        (b"[7]", "holds no JSON object"),
    ],
)
def test_metadata_that_is_not_a_json_object(text, says, archive_path):
    (info, _), *others = entries(archive_path)
    pack(archive_path, [(info, text), *others])
    assert refusal(archive_path).startswith(f"error: the archive's metadata.json {says}")


SCHEMA_VIOLATIONS = {
    "a key too few": (
        lambda document: document["solder"].pop("arena_bytes"),
        "solder: 'arena_bytes' is a required property",
    ),
    "a key too many": (
        lambda document: document["solder"].update(arena_size=1),
        "solder: Additional properties are not allowed ('arena_size' was unexpected)",
    ),
    "a negative size": (
        lambda document: document["solder"]["inputs"][0].update(arena_offset=-4),
        "solder.inputs[0].arena_offset: -4 is less than the minimum of 0",
    ),
    "a text for a number": (
        lambda document: document["solder"]["layers"][1].update(macs="many"),
        "solder.layers[1].macs: 'many' is not of type 'integer'",
    ),
    "a name that is not an identifier": (
        lambda document: document["solder"].update(name="../kws"),
        "solder.name: '../kws' does not match '^[a-z_][a-z0-9_]*$'",
    ),
    "a buffer without a row": (
        lambda document: document["solder"]["memory"]["buffers"][0].update(rows=0),
        "solder.memory.buffers[0].rows: 0 is less than the minimum of 1",
    ),
    "a memory without a byte": (
        lambda document: document["solder"]["target"]["regions"][0].update(bytes=0),
        "solder.target.regions[0].bytes: 0 is less than the minimum of 1",
    ),
    "a window without a row": (
        lambda document: document["solder"].update(window={"rows": 0, "hop": 1, "macs": 1, "states": 0}),
        "solder.window.rows: 0 is less than the minimum of 1",
    ),
    "a part of the library format too few": (
        lambda document: document["modules"]["residual"].pop("memory"),
        "modules.residual: 'memory' is a required property",
    ),
}


@pytest.mark.parametrize("kind", SCHEMA_VIOLATIONS)
def test_metadata_that_breaks_the_schema(kind, archive_path):
    change, says = SCHEMA_VIOLATIONS[kind]
    with_metadata(archive_path, change)
    version = json.loads(entries(archive_path)[0][1])["solder"]["tool_version"]
    require_facts(refusal(archive_path), f"another version {version} residual.tar {says} {AGAIN}")


def test_metadata_that_breaks_the_schema_and_was_changed_is_no_other_version(archive_path):
    with_metadata(archive_path, lambda document: document["solder"].pop("arena_bytes"), sign=False)
    assert refusal(archive_path).startswith("error: the archive's metadata.json was changed after it was")


def test_a_long_value_is_not_quoted_whole(archive_path):
    with_metadata(archive_path, lambda document: document["solder"].update(name="x" * 5000 + "!"))
    assert len(refusal(archive_path)) < 400


def test_a_number_in_the_metadata_was_changed(archive_path):
    with_metadata(archive_path, lambda d: d["solder"]["outputs"][0].update(arena_offset=4), sign=False)
    require_facts(refusal(archive_path), f"metadata.json changed SHA-256 residual.tar {AGAIN}")


def test_a_source_was_changed(archive_path):
    changed = [
        (info, data.replace(b"row", b"ROW") if info.name.endswith("src/residual.c") else data)
        for info, data in entries(archive_path)
    ]
    pack(archive_path, changed)
    require_facts(refusal(archive_path), f"src/residual.c changed SHA-256 residual.tar {AGAIN}")


def test_a_source_that_was_changed_with_its_hash_is_not_told_apart(archive_path):
    """Hashes show damage and not an author."""
    name, changed = "codegen/host/src/residual.c", b"int evil;\n"
    others = [(i, changed if i.name.endswith(name) else data) for i, data in entries(archive_path)]
    pack(archive_path, others)
    digest = hashlib.sha256(changed).hexdigest()
    with_metadata(archive_path, lambda document: document["solder"]["files"].update({name: digest}))
    assert read_archive(archive_path).sources["residual.c"] == changed.decode()


def test_a_file_is_missing(archive_path):
    pack(archive_path, [entry for entry in entries(archive_path) if "weights.c" not in entry[0].name])
    require_facts(refusal(archive_path), f"1 of its 10 files missing, src/residual_weights.c {AGAIN}")


def test_a_file_was_added(archive_path):
    add_entry(archive_path, "./codegen/host/src/more.c")
    require_facts(refusal(archive_path), f"src/more.c, metadata.json not list residual.tar {AGAIN}")


@pytest.mark.parametrize(
    "name", ["../x.c", "/x.c", "./codegen/../../x.c", "a\\..\\x.c", "C:/x.c", "./codegen/host/src/.."]
)
def test_an_entry_that_would_lie_outside(name, archive_path):
    add_entry(archive_path, name)
    require_facts(refusal(archive_path), f"{name!r}, outside residual.tar untrusted compile again")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_an_entry_that_is_not_a_plain_file(kind, archive_path):
    add_entry(archive_path, "./runtime/x", kind, "./metadata.json")
    assert "'./runtime/x', which is not a plain file" in refusal(archive_path)


def test_an_entry_that_is_there_twice(archive_path):
    add_entry(archive_path, "./metadata.json")
    assert "'./metadata.json', which occurs twice" in refusal(archive_path)


def test_a_graph_of_a_later_version_is_named(archive_path):
    archive = read_archive(archive_path)
    later = archive.graph_text.replace("= conv2d(", "= conv5d(").encode()
    changed = Artifact(archive.facts, {**archive.files, "src/residual.graph": later})
    with pytest.raises(
        ModelError, match=r"residual.graph in the archive cannot be read: line \d+: conv5d is not an op"
    ):
        _ = changed.graph


def read_or_refuse(path: Path) -> Artifact | None:
    try:
        return read_archive(path)
    except ModelError:
        return None


def test_a_cut_archive_is_refused_wherever_it_is_cut(archive_path):
    whole, data = read_archive(archive_path), archive_path.read_bytes()
    with tarfile.open(archive_path, "r:") as tar:
        last = tar.getmembers()[-1]
    end = last.offset_data + last.size
    for cut in (0, 1, 511, 512, 513, *range(600, end, end // 40), end - 1):
        archive_path.write_bytes(data[:cut])
        assert read_or_refuse(archive_path) is None, f"cut at {cut} of {len(data)}"
    archive_path.write_bytes(data[: -(-end // 512) * 512])  # only the tar's closing zeros are gone
    assert read_archive(archive_path) == whole


@pytest.mark.slow
def test_a_changed_byte_is_refused_or_without_effect(archive_path):
    """Bytes between the files, and those that date and own them, mean nothing to the model."""
    whole, data = read_archive(archive_path), archive_path.read_bytes()
    places = random.Random(1)
    refused = 0
    for place in (*range(0, 512, 8), *places.sample(range(len(data)), 80)):
        changed = bytearray(data)
        changed[place] ^= 1 << places.randrange(8)
        archive_path.write_bytes(changed)
        found = read_or_refuse(archive_path)
        refused += found is None
        assert found is None or found == whole, f"byte {place} was changed and not noticed"
    assert refused > 40
