"""Cartridges in the loader's own code: taken, refused by name, and power lost at any byte of an update."""

from __future__ import annotations

import hashlib
import re
import struct
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest

from aot.errors import DeployError
from codegen.tables.kernels import PointerLimits, TableKernel
from codegen.tables.packed import pack_table
from codegen.tables.rule import Rule
from codegen.tables.table import Action, Filling, ModelTable, Passage
from platforms.board_files import load_board
from platforms.cartridge.code import cartridge_image
from platforms.cartridge.header import (
    DIGEST_BYTES,
    HEADER,
    Image,
    Needs,
    core_text,
    packed,
    structure_text,
    tables_text,
)
from platforms.cartridge.self_test import self_test_inputs
from platforms.cartridge.signing import public_key, sign
from platforms.project import ProjectSource
from platforms.rpc.protocol import Status

HOST = load_board("host")
CORE = core_text(HOST.target)
STRUCTURE = structure_text("ab" * 11)
TABLES = tables_text(HOST.target)
ADDS = "0123456789abcdef"  # the name of the kernel in update_main.c
UPDATE = Path(__file__).parent / "cartridge_update" / "update_main.c"
FLAGS = ("-std=c99", "-O2", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-DSOLDER_CARTRIDGES")

pytestmark = pytest.mark.cc


def wanted_crc(source: ProjectSource, added: int) -> int:
    """What a tiny model that adds this gives in its self-test."""
    (x,) = self_test_inputs(source.inputs)
    return crc32((x + np.int8(added)).tobytes())


class Press:
    """Makes cartridges of tiny models, and runs the loader on them."""

    flags: tuple[str, ...] = ()

    def __init__(self, tiny: ProjectSource, folder: Path, runtime: Path) -> None:
        self.tiny, self.folder, self.runtime = tiny, folder, runtime
        self.images = {added: self.image(added) for added in (1, 2)}

    def needs(self, added: int) -> Needs:
        return Needs(CORE, (8,), 16, 64, wanted_crc(self.tiny, added))

    def image(self, added: int) -> Image:
        text = self.tiny.sources["tiny_weights.c"].replace(
            "{1, 1, 1, 1}", f"{{{added}, {added}, {added}, {added}}}"
        )
        source = replace(self.tiny, sources={**self.tiny.sources, "tiny_weights.c": text})
        folder = self.folder / f"adds-{added}"
        folder.mkdir()
        return cartridge_image(source, HOST, folder)

    def made(self, added: int, key: Path | None = None, **other: object) -> bytes:
        needs = replace(self.needs(added), **other)  # type: ignore[arg-type]
        data = packed(self.images[added], needs, key is not None)
        return sign(data, key) if key else data

    def write(self, name: str, data: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(data)
        return path

    def program(self, *more: str) -> Path:
        built = self.folder / f"update{len(more)}"
        files = [UPDATE, *sorted(self.runtime.glob("*.c"))]
        flags = (*FLAGS, *self.flags, f'-DCORE="{self.needs(1).core}"', f"-I{self.runtime}")
        subprocess.run(["gcc", *flags, *map(str, files), "-o", str(built), *more], check=True)
        return built

    def said(self, program: Path, mode: str, *files: Path) -> list[str]:
        done = subprocess.run(
            [str(program), mode, *map(str, files)], capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, (done.stdout, done.stderr)
        return done.stdout.splitlines()

    def taken(self, program: Path, old: Path, files: Sequence[bytes]) -> list[tuple[Status, int]]:
        """What is said of each file, and what the model that runs then adds."""
        paths = [self.write(f"{n}.cart", data) for n, data in enumerate(files)]
        lines = [line.split() for line in self.said(program, "take", old, *paths)]
        return [(Status(int(status)), int(added)) for status, added in lines]


class WeightPress(Press):
    """The same of weights alone."""

    flags = ("-DSOLDER_WEIGHTS",)

    def needs(self, added: int) -> Needs:
        return Needs(STRUCTURE, (), 1, 0, wanted_crc(self.tiny, added))

    def image(self, added: int) -> Image:
        return Image(bytes([added] * 40))


class TablePress(Press):
    """The same of tables, for a kernel that adds four bytes."""

    flags = ("-DSOLDER_TABLES",)

    def needs(self, added: int) -> Needs:
        return Needs(TABLES, (8,), 16, 64, wanted_crc(self.tiny, added))

    def image(self, added: int) -> Image:
        return Image(pack_table(self.table(added), "tiny", "00" * 32))

    def table(self, added: int, kernel: str = ADDS) -> ModelTable:
        four = PointerLimits(1, 4, 4, is_written=False)
        kernels = (TableKernel(kernel, "add_4", {}, (four, replace(four, is_written=True), four), "adds"),)
        rules = (Rule(1, 0), Rule(1, 4), Rule(0, 0))
        layers = ((Action(0, 1, 0, rules),),)
        inputs, outputs = self.tiny.inputs, self.tiny.outputs
        return ModelTable(kernels, layers, (0,), (Passage(0, 1, 1),), bytes([added] * 4), inputs, outputs)


PRESSES = {"code": Press, "weights": WeightPress, "tables": TablePress}


@pytest.fixture(scope="module", params=list(PRESSES.values()), ids=list(PRESSES))
def press(
    request: pytest.FixtureRequest,
    tiny: ProjectSource,
    repo_root: Path,
    require_tool: Callable[..., None],
    tmp_path_factory: pytest.TempPathFactory,
) -> Press:
    require_tool("gcc")
    made: Press = request.param(
        tiny, tmp_path_factory.mktemp("press"), repo_root / "project_templates" / "common"
    )
    return made


def only(kind: str) -> pytest.MarkDecorator:
    """A test of one kind of cartridge."""
    return pytest.mark.parametrize("press", [PRESSES[kind]], indirect=True, ids=[kind])


@pytest.fixture(scope="module")
def loader(press: Press) -> Path:
    return press.program()


@pytest.fixture(scope="module")
def old(press: Press) -> Path:
    return press.write("old.cart", press.made(1))


def again_hashed(cartridge: bytes, word: int, value: int) -> bytes:
    """A cartridge with another number in its header, and a SHA-256 that fits."""
    body = cartridge[: 4 * word] + struct.pack("<I", value) + cartridge[4 * word + 4 : -DIGEST_BYTES]
    return body + hashlib.sha256(body).digest()


def test_power_lost_at_any_byte_leaves_a_model_that_runs(press: Press, loader: Path, old: Path) -> None:
    """The first cartridge is written over what is built in, the second over the first."""
    first, second = press.said(loader, "power", old, press.write("new.cart", press.made(2)))
    for line in (first, second):
        places, kept, swapped = map(int, re.findall(r"\d+", line))
        assert places == kept + swapped
        assert kept > 8192  # a slot is erased, and the cartridge written
        assert swapped >= 1


def test_every_flipped_bit_is_refused_by_name_and_the_old_model_runs_on(
    press: Press, loader: Path, old: Path
) -> None:
    data = press.made(2)
    lines = press.said(loader, "flip", old, press.write("new.cart", data))
    counts = {Status(int(status)): int(count) for status, count in (line.split(": ") for line in lines)}
    assert set(counts) == {Status.NO_CARTRIDGE, Status.CARTRIDGE_CUT, Status.CARTRIDGE_DAMAGED}
    assert counts[Status.NO_CARTRIDGE] == 32  # of the first word
    assert sum(counts.values()) == 8 * len(data)


def test_memory_that_fails_to_be_written_is_reported_and_a_model_runs(
    press: Press, loader: Path, old: Path
) -> None:
    (line,) = press.said(loader, "fail", old, press.write("new.cart", press.made(2)))
    count, _, told = line.partition(" ")
    assert told == "failures, each told, and a model runs"
    assert int(count) > 5  # erasing, each piece, and the three records


def test_no_byte_is_taken_outside_an_update(press: Press, loader: Path, old: Path) -> None:
    """Nor while a request is being carried out; and what runs is never written to."""
    assert press.said(loader, "gate", old, press.write("new.cart", press.made(2))) == ["refused"]


def test_the_page_shows_the_table_that_the_loader_follows(repo_root: Path) -> None:
    loader = (repo_root / "project_templates" / "common" / "solder_cartridge.c").read_text(encoding="utf-8")
    table = loader.partition("static const uint8_t next[REQUESTS][STATES] = {")[2].partition("};")[0]
    (states,) = re.findall(r"/\* +(.*?) \*/", table)
    rows = dict(re.findall(r"\[(\w+)\] += \{(.*?)\}", table))
    page = (repo_root / "docs" / "cartridges.md").read_text(encoding="utf-8")
    shown = page.partition("## What may come when")[2].partition("\n## ")[0]
    wanted = [f"| request | {' | '.join(states.split())} |", "|---|---|---|---|---|"]
    for request, cells in rows.items():
        after = ["refused" if cell.strip() == "OFF" else cell.strip() for cell in cells.split(",")]
        wanted.append(f"| {request} | {' | '.join(after)} |")
    assert [line for line in shown.splitlines() if line.startswith("|")] == wanted
    assert len(rows) > 3


def test_what_ran_before_is_checked_before_it_runs_again(press: Press, loader: Path, old: Path) -> None:
    bad = press.write("bad.cart", press.made(2, test_crc=1))
    assert press.said(loader, "rot", old, bad) == ["built in"]


def test_every_cut_is_refused_by_name_and_the_old_model_runs_on(
    press: Press, loader: Path, old: Path
) -> None:
    data = press.made(2)
    lines = press.said(loader, "cut", old, press.write("new.cart", data))
    counts = {Status(int(status)): int(count) for status, count in (line.split(": ") for line in lines)}
    assert set(counts) == {Status.NO_CARTRIDGE, Status.CARTRIDGE_CUT}
    assert sum(counts.values()) == len(data)


@only("weights")
def test_weights_of_another_structure_are_refused_and_so_is_code(
    press: Press, loader: Path, old: Path
) -> None:
    new = press.made(2)
    cases = {
        "another structure": (press.made(2, core=structure_text("ac" * 11)), Status.CARTRIDGE_STRUCTURE),
        "code": (press.made(2, core=CORE), Status.CARTRIDGE_STRUCTURE),
        "weights without their end": (
            packed(Image(b""), press.needs(2), is_signed=False),
            Status.CARTRIDGE_STRUCTURE,
        ),
        "a version to come": (again_hashed(new, 1, 2), Status.CARTRIDGE_VERSION),
        "text": (b"hello" * 100, Status.NO_CARTRIDGE),
        "another result than promised": (press.made(2, test_crc=1), Status.CARTRIDGE_TEST),
        "more than a slot": (new + bytes(8192 - len(new)), Status.CARTRIDGE_SIZE),
    }
    found = press.taken(loader, old, [data for data, _ in cases.values()])
    assert dict(zip(cases, found, strict=True)) == {name: (status, 1) for name, (_, status) in cases.items()}
    both = [new, press.made(1), new]
    wanted = [(Status.OK, 2), (Status.OK, 1), (Status.OK, 2)]
    assert press.taken(loader, old, both) == wanted
    assert press.taken(press.program("-DCOPIED"), old, both) == wanted


@only("code")
def test_code_firmware_refuses_weights_and_tables(press: Press, loader: Path, old: Path) -> None:
    for other in (Needs(STRUCTURE, (), 1, 0, 0), Needs(TABLES, (8,), 16, 64, 0)):
        cartridge = packed(Image(bytes([2] * 40)), other, is_signed=False)
        assert press.taken(loader, old, [cartridge]) == [(Status.CARTRIDGE_CORE, 1)]


@only("tables")
def test_each_reason_against_a_table_has_its_name(press: TablePress, loader: Path, old: Path) -> None:
    right = press.table(2)
    ((action,),) = right.layers

    def of(table: ModelTable) -> bytes:
        return packed(Image(pack_table(table, "tiny", "00" * 32)), press.needs(2), is_signed=False)

    def pointing(*rules: Rule) -> bytes:
        return of(replace(right, layers=((replace(action, rules=rules),),)))

    x, y, constant = action.rules
    beyond = replace(press.tiny.outputs[0], arena_offset=8)
    cases = {
        "code": (press.made(2, core=CORE), Status.CARTRIDGE_CORE),
        "weights": (press.made(2, core=STRUCTURE), Status.CARTRIDGE_CORE),
        "a version to come": (again_hashed(press.made(2), 1, 2), Status.CARTRIDGE_VERSION),
        "more arena than there is": (press.made(2, arena_bytes=(65,)), Status.CARTRIDGE_NEEDS),
        "more stack": (press.made(2, stack_bytes=4000), Status.CARTRIDGE_NEEDS),
        "another result than promised": (press.made(2, test_crc=1), Status.CARTRIDGE_TEST),
        "more than a slot": (press.made(2) + bytes(8192), Status.CARTRIDGE_SIZE),
        "no table": (packed(Image(b""), press.needs(2), is_signed=False), Status.CARTRIDGE_TABLE),
        "another kernel": (of(press.table(2, "0123456789abcdee")), Status.CARTRIDGE_KERNEL),
        "a row beyond the arena": (pointing(x, Rule(1, 8), constant), Status.CARTRIDGE_TABLE),
        "rows that go beyond it": (
            of(replace(right, layers=((Action(0, 3, 0, (x, Rule(1, 0, 4, 1), constant)),),))),
            Status.CARTRIDGE_TABLE,
        ),
        "an arena that it has not": (pointing(Rule(2, 0), y, constant), Status.CARTRIDGE_TABLE),
        "a place between words": (pointing(x, Rule(1, 2), constant), Status.CARTRIDGE_TABLE),
        "constants beyond the last": (pointing(x, y, Rule(0, 8)), Status.CARTRIDGE_TABLE),
        "constants that are written": (pointing(x, Rule(0, 0), constant), Status.CARTRIDGE_TABLE),
        "a fill beyond the arena": (
            of(replace(right, layers=((Action(0, 1, Filling(b"\0", 2, 4, 4), (y,)),),))),
            Status.CARTRIDGE_TABLE,
        ),
        "a kernel of no number": (
            of(replace(right, layers=((replace(action, kernel=1),),))),
            Status.CARTRIDGE_TABLE,
        ),
        "a layer of no number": (of(replace(right, order=(1,))), Status.CARTRIDGE_TABLE),
        "an order beyond its end": (
            of(replace(right, segments=(Passage(0, 2, 1),))),
            Status.CARTRIDGE_TABLE,
        ),
        "a result beyond the arena": (of(replace(right, outputs=(beyond,))), Status.CARTRIDGE_TABLE),
    }
    found = press.taken(loader, old, [data for data, _ in cases.values()])
    assert dict(zip(cases, found, strict=True)) == {name: (status, 1) for name, (_, status) in cases.items()}
    taken = press.taken(loader, old, [press.made(2), press.made(1), press.made(2)])
    assert taken == [(Status.OK, 2), (Status.OK, 1), (Status.OK, 2)]


@only("code")
def test_each_reason_has_its_name(press: Press, loader: Path, old: Path) -> None:
    new = press.made(2)
    cases = {
        "another core": (press.made(2, core="cortex-m4"), Status.CARTRIDGE_CORE),
        "a version to come": (again_hashed(new, 1, 2), Status.CARTRIDGE_VERSION),
        "more arena than there is": (press.made(2, arena_bytes=(65,)), Status.CARTRIDGE_NEEDS),
        "more arenas": (press.made(2, arena_bytes=(8, 8)), Status.CARTRIDGE_NEEDS),
        "an alignment": (press.made(2, alignment=1 << 20), Status.CARTRIDGE_NEEDS),
        "more stack": (press.made(2, stack_bytes=4000), Status.CARTRIDGE_NEEDS),
        "a description without room": (again_hashed(new, 4, 513), Status.CARTRIDGE_NEEDS),
        "something behind it": (new + b"\0", Status.CARTRIDGE_CUT),
        "nothing": (b"", Status.NO_CARTRIDGE),
        "text": (b"hello" * 100, Status.NO_CARTRIDGE),
        "another result than promised": (press.made(2, test_crc=1), Status.CARTRIDGE_TEST),
        "a length beyond the slot": (again_hashed(new, 2, 64 * 1000), Status.CARTRIDGE_CUT),
        "more than a slot": (new + bytes(8192 - len(new)), Status.CARTRIDGE_SIZE),
    }
    found = press.taken(loader, old, [data for data, _ in cases.values()])
    assert dict(zip(cases, found, strict=True)) == {name: (status, 1) for name, (_, status) in cases.items()}
    assert press.taken(loader, old, [new, press.made(1), new]) == [
        (Status.OK, 2),
        (Status.OK, 1),
        (Status.OK, 2),
    ]
    unpromised = press.made(2, test_crc=0)  # floats may differ: it runs, and that is all
    assert press.taken(loader, old, [unpromised]) == [(Status.OK, 2)]


def test_firmware_with_a_key_takes_what_was_signed_with_it_only(
    press: Press, require_package: Callable[..., None], tmp_path: Path, require_tool: Callable[..., None]
) -> None:
    require_package("cryptography")
    if not Path("/usr/include/sodium.h").is_file():
        require_tool("libsodium-dev")  # says so by its name
    keys = [tmp_path / f"{name}.pem" for name in ("mine", "theirs")]
    for key in keys:
        write_key(key)
    mine, theirs = keys
    number = ", ".join(str(byte) for byte in public_key(mine))
    program = press.program("-DSOLDER_CARTRIDGE_KEY", f"-DKEY={number}", "-lsodium")
    old = press.write("signed.cart", press.made(1, mine))
    signed = press.made(2, mine)
    cases = (
        (press.made(2), Status.CARTRIDGE_OTHER_KEY),
        (press.made(2, theirs), Status.CARTRIDGE_OTHER_KEY),
        (signed[:-1] + bytes([signed[-1] ^ 1]), Status.CARTRIDGE_OTHER_KEY),
        (signed[:-64] + press.made(1, mine)[-64:], Status.CARTRIDGE_OTHER_KEY),
        (signed[:-1], Status.CARTRIDGE_CUT),
    )
    found = press.taken(program, old, [data for data, _ in cases])
    assert found == [(status, 1) for _, status in cases]
    assert press.taken(program, old, [signed]) == [(Status.OK, 2)]


def write_key(path: Path) -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    path.write_bytes(
        Ed25519PrivateKey.generate().private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )


def test_a_file_that_holds_no_key_is_named(require_package: Callable[..., None], tmp_path: Path) -> None:
    require_package("cryptography")
    path = tmp_path / "key.pem"
    path.write_text("-----BEGIN NONSENSE-----")
    with pytest.raises(DeployError, match="the file holds no public key of Ed25519"):
        public_key(path)
    with pytest.raises(DeployError, match="the file holds no private key of Ed25519"):
        sign(bytes(64), path)
    with pytest.raises(DeployError, match="the key cannot be read"):
        public_key(tmp_path / "absent.pem")


@only("code")
def test_code_that_needs_a_fixed_place_is_refused_by_the_name_of_its_part(
    press: Press, tmp_path: Path
) -> None:
    extra = (
        "\nstatic int counted;\nint32_t tiny_count(void);\nint32_t tiny_count(void) { return ++counted; }\n"
    )
    text = press.tiny.sources["tiny.c"].replace("row[i] + tiny", "row[i] + tiny_count() + tiny") + extra
    text = text.replace('#include "tiny.h"', '#include "tiny.h"\nint32_t tiny_count(void);', 1)
    source = replace(press.tiny, sources={**press.tiny.sources, "tiny.c": text})
    with pytest.raises(DeployError) as caught:
        cartridge_image(source, HOST, tmp_path)
    assert str(caught.value).splitlines()[0] == (
        "error: tiny cannot be a cartridge: variables (what a library keeps from call to call) "
        "would have to lie at a fixed address"
    )


def test_a_header_has_the_layout_of_the_loaders(press: Press) -> None:
    data = press.made(1)
    assert HEADER.size == 96
    assert data[:4] == b"CART"
    assert len(data) % 64 == DIGEST_BYTES
    assert hashlib.sha256(data[:-DIGEST_BYTES]).digest() == data[-DIGEST_BYTES:]


@only("code")
def test_a_compiler_without_that_linker_is_named(
    press: Press, tmp_path: Path, require_package: Callable[..., None]
) -> None:
    require_package("ziglang")
    with pytest.raises(DeployError, match="cartridges are linked by GNU's linker, which zig has not"):
        cartridge_image(press.tiny, HOST, tmp_path, "zig")
