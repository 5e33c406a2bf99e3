"""Cartridges in the loader's own code: taken, refused by name, and power lost at any byte of an update."""

import hashlib
import re
import struct
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from cartridge_press import (
    CORE,
    HOST,
    MODEL,
    PRESSES,
    STRUCTURE,
    TABLES,
    VERIFY,
    Press,
    key_flags,
    public_pem,
    write_key,
)
from error_facts import require_facts

from aot.errors import DeployError
from codegen.tables.packed import pack_table
from codegen.tables.rule import Rule
from codegen.tables.table import Action, Filling, ModelTable, Passage
from platforms.cartridge.code import cartridge_image
from platforms.cartridge.header import (
    DIGEST_BYTES,
    HEADER,
    Identity,
    Image,
    Needs,
    packed,
    structure_text,
)
from platforms.cartridge.signing import public_key, sign
from platforms.rpc.protocol import CARTRIDGE_FORMAT, Status

pytestmark = pytest.mark.cc


@pytest.fixture(scope="module", params=list(PRESSES.values()), ids=list(PRESSES))
def press(request, tiny, tmp_path_factory):
    made: Press = request.param(tiny, tmp_path_factory.mktemp("press"))
    return made


def taken(press: Press, program: Path, old: Path, files: Sequence[bytes]) -> list[tuple[Status, int]]:
    """What is said of each file, and what the model that runs then adds."""
    paths = [press.write(f"{n}.cart", data) for n, data in enumerate(files)]
    lines = [line.split() for line in press.said(program, "take", old, *paths)]
    return [(Status(int(status)), int(added)) for status, added in lines]


def only(kind: str) -> pytest.MarkDecorator:
    """A test of one kind of cartridge."""
    return pytest.mark.parametrize("press", [PRESSES[kind]], indirect=True, ids=[kind])


@pytest.fixture(scope="module")
def loader(press):
    return press.program()


@pytest.fixture(scope="module")
def old(press):
    return press.write("old.cart", press.made(1))


def again_hashed(cartridge: bytes, word: int, value: int) -> bytes:
    """A cartridge with another number in its header, and a SHA-256 that fits."""
    body = cartridge[: 4 * word] + struct.pack("<I", value) + cartridge[4 * word + 4 : -DIGEST_BYTES]
    return body + hashlib.sha256(body).digest()


def test_power_lost_at_any_byte_leaves_a_model_that_runs(press, loader, old):
    """The first cartridge is written over what is built in, the second over the first."""
    first, second = press.said(loader, "power", old, press.write("new.cart", press.made(2)))
    for line in (first, second):
        places, kept, swapped = map(int, re.findall(r"\d+", line))
        assert places == kept + swapped
        assert kept > 8192  # a slot is erased, and the cartridge written
        assert swapped >= 1


def test_every_flipped_bit_is_refused_by_name_and_the_old_model_runs_on(press, loader, old):
    data = press.made(2)
    lines = press.said(loader, "flip", old, press.write("new.cart", data))
    counts = {Status(int(status)): int(count) for status, count in (line.split(": ") for line in lines)}
    assert set(counts) == {Status.NO_CARTRIDGE, Status.CARTRIDGE_CUT, Status.CARTRIDGE_DAMAGED}
    assert counts[Status.NO_CARTRIDGE] == 32  # of the first word
    assert sum(counts.values()) == 8 * len(data)


def test_memory_that_fails_to_be_written_is_reported_and_a_model_runs(press, loader, old):
    (line,) = press.said(loader, "fail", old, press.write("new.cart", press.made(2)))
    count, _, told = line.partition(" ")
    assert told == "failures, each told, and a model runs"
    assert int(count) > 5  # erasing, each piece, and the three records


def test_no_byte_is_taken_outside_an_update(press, loader, old):
    """Nor while a request is being carried out; and what runs is never written to."""
    assert press.said(loader, "gate", old, press.write("new.cart", press.made(2))) == ["refused"]


def test_the_page_shows_the_table_that_the_loader_follows(repo_root):
    loader = (repo_root / "project_templates" / "common" / "solder_cartridge.c").read_text(encoding="utf-8")
    table = loader.partition("static const uint8_t next[REQUESTS][STATES] = {")[2].partition("};")[0]
    (states,) = re.findall(r"/\* +(.*?) \*/", table)
    rows = dict(re.findall(r"\[(\w+)\] += \{(.*?)\}", table))
    page = (repo_root / "docs" / "cartridges.md").read_text(encoding="utf-8")
    shown = page.partition("## Loader states")[2].partition("\n## ")[0]
    wanted = [f"| request | {' | '.join(states.split())} |", "|---|---|---|---|---|"]
    for request, cells in rows.items():
        after = ["refused" if cell.strip() == "OFF" else cell.strip() for cell in cells.split(",")]
        wanted.append(f"| {request} | {' | '.join(after)} |")
    assert [line for line in shown.splitlines() if line.startswith("|")] == wanted
    assert len(rows) > 3


def test_slots_that_lose_the_active_model_take_a_version_from_before(press, loader, old):
    """In RAM they lose it with the power: then the built-in model's version counts again."""
    newer, older = (press.made(2, model=Identity("tiny", version)) for version in (9, 3))
    assert taken(press, loader, old, [newer, older]) == [(Status.OK, 2), (Status.CARTRIDGE_OLDER, 2)]
    assert taken(press, loader, old, [older]) == [(Status.OK, 2)]


def test_other_products_and_older_versions_are_refused(press, loader, old):
    """What counts is the version that runs; equal ones take each other's place."""

    def of(added: int, version: int, product: str = "tiny") -> bytes:
        return press.made(added, model=Identity(product, version))

    cases = (
        (of(2, 0), Status.CARTRIDGE_OLDER, 1),
        (of(2, 1, "tin"), Status.CARTRIDGE_PRODUCT, 1),
        (of(2, 9, "tiny 2"), Status.CARTRIDGE_PRODUCT, 1),
        (of(2, 9, ""), Status.CARTRIDGE_PRODUCT, 1),
        (of(2, 3), Status.OK, 2),
        (of(1, 2), Status.CARTRIDGE_OLDER, 2),
        (of(1, 3), Status.OK, 1),
        (of(2, 0xFFFFFFFF), Status.OK, 2),
        (of(1, 0x7FFFFFFF), Status.CARTRIDGE_OLDER, 2),
    )
    found = taken(press, loader, old, [data for data, _, _ in cases])
    assert found == [(status, added) for _, status, added in cases]
    back = press.program("-DSOLDER_DOWNGRADES")
    found = taken(press, back, old, [data for data, _, _ in cases])
    assert found == [
        (status, adds)
        for status, adds in (
            (Status.OK, 2),
            (Status.CARTRIDGE_PRODUCT, 2),
            (Status.CARTRIDGE_PRODUCT, 2),
            (Status.CARTRIDGE_PRODUCT, 2),
            (Status.OK, 2),
            (Status.OK, 1),
            (Status.OK, 1),
            (Status.OK, 2),
            (Status.OK, 1),
        )
    ]


def test_the_way_back_is_to_the_cartridge_before(press, loader, old):
    """And stays so after a reset. A smaller version runs again only where firmware allows it."""
    equal, later = (
        press.write(f"back{version}.cart", press.made(2, model=Identity("tiny", version)))
        for version in (1, 2)
    )
    assert press.said(loader, "back", old, equal) == [f"{Status.OK:d} 1 1 {Status.NO_PREVIOUS:d}"]
    refused = f"{Status.CARTRIDGE_OLDER:d} 2 2 {Status.CARTRIDGE_OLDER:d}"
    assert press.said(loader, "back", old, later) == [refused]
    back = press.program("-DSOLDER_DOWNGRADES")
    assert press.said(back, "back", old, later) == [f"{Status.OK:d} 1 1 {Status.NO_PREVIOUS:d}"]


def test_what_ran_before_is_checked_before_it_runs_again(press, loader, old):
    bad = press.write("bad.cart", press.made(2, test_crc=1))
    assert press.said(loader, "rot", old, bad) == ["built in"]


def test_every_cut_is_refused_by_name_and_the_old_model_runs_on(press, loader, old):
    data = press.made(2)
    lines = press.said(loader, "cut", old, press.write("new.cart", data))
    counts = {Status(int(status)): int(count) for status, count in (line.split(": ") for line in lines)}
    assert set(counts) == {Status.NO_CARTRIDGE, Status.CARTRIDGE_CUT}
    assert sum(counts.values()) == len(data)


@only("weights")
def test_weights_of_another_structure_are_refused_and_so_is_code(press, loader, old):
    new = press.made(2)
    cases = {
        "another structure": (press.made(2, core=structure_text("ac" * 11)), Status.CARTRIDGE_STRUCTURE),
        "code": (press.made(2, core=CORE), Status.CARTRIDGE_STRUCTURE),
        "weights without their end": (
            packed(Image(b""), press.needs(2), is_signed=False, model=MODEL),
            Status.CARTRIDGE_STRUCTURE,
        ),
        "a version to come": (again_hashed(new, 1, CARTRIDGE_FORMAT + 1), Status.CARTRIDGE_VERSION),
        "text": (b"hello" * 100, Status.NO_CARTRIDGE),
        "another result than promised": (press.made(2, test_crc=1), Status.CARTRIDGE_TEST),
        "more than a slot": (new + bytes(8192 - len(new)), Status.CARTRIDGE_SIZE),
    }
    found = taken(press, loader, old, [data for data, _ in cases.values()])
    assert dict(zip(cases, found, strict=True)) == {name: (status, 1) for name, (_, status) in cases.items()}
    both = [new, press.made(1), new]
    wanted = [(Status.OK, 2), (Status.OK, 1), (Status.OK, 2)]
    assert taken(press, loader, old, both) == wanted
    assert taken(press, press.program("-DCOPIED"), old, both) == wanted


@only("code")
def test_code_firmware_refuses_weights_and_tables(press, loader, old):
    for other in (Needs(STRUCTURE, (), 1, 0, 0), Needs(TABLES, (8,), 16, 64, 0)):
        cartridge = packed(Image(bytes([2] * 40)), other, is_signed=False, model=MODEL)
        assert taken(press, loader, old, [cartridge]) == [(Status.CARTRIDGE_CORE, 1)]


@only("tables")
def test_each_reason_against_a_table_has_its_name(press, loader, old):
    right = press.table(2)
    ((action,),) = right.layers

    def of(table: ModelTable) -> bytes:
        return packed(
            Image(pack_table(table, "tiny", "00" * 32)), press.needs(2), is_signed=False, model=MODEL
        )

    def pointing(*rules: Rule) -> bytes:
        return of(replace(right, layers=((replace(action, rules=rules),),)))

    x, y, constant = action.rules
    beyond = replace(press.tiny.outputs[0], arena_offset=8)
    cases = {
        "code": (press.made(2, core=CORE), Status.CARTRIDGE_CORE),
        "weights": (press.made(2, core=STRUCTURE), Status.CARTRIDGE_CORE),
        "a version to come": (again_hashed(press.made(2), 1, CARTRIDGE_FORMAT + 1), Status.CARTRIDGE_VERSION),
        "more arena than there is": (press.made(2, arena_bytes=(65,)), Status.CARTRIDGE_NEEDS),
        "more stack": (press.made(2, stack_bytes=4000), Status.CARTRIDGE_NEEDS),
        "another result than promised": (press.made(2, test_crc=1), Status.CARTRIDGE_TEST),
        "more than a slot": (press.made(2) + bytes(8192), Status.CARTRIDGE_SIZE),
        "no table": (
            packed(Image(b""), press.needs(2), is_signed=False, model=MODEL),
            Status.CARTRIDGE_TABLE,
        ),
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
    found = taken(press, loader, old, [data for data, _ in cases.values()])
    assert dict(zip(cases, found, strict=True)) == {name: (status, 1) for name, (_, status) in cases.items()}
    both = taken(press, loader, old, [press.made(2), press.made(1), press.made(2)])
    assert both == [(Status.OK, 2), (Status.OK, 1), (Status.OK, 2)]


@only("code")
def test_each_reason_has_its_name(press, loader, old):
    new = press.made(2)
    cases = {
        "another core": (press.made(2, core="cortex-m4"), Status.CARTRIDGE_CORE),
        "a version to come": (again_hashed(new, 1, CARTRIDGE_FORMAT + 1), Status.CARTRIDGE_VERSION),
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
    found = taken(press, loader, old, [data for data, _ in cases.values()])
    assert dict(zip(cases, found, strict=True)) == {name: (status, 1) for name, (_, status) in cases.items()}
    assert taken(press, loader, old, [new, press.made(1), new]) == [
        (Status.OK, 2),
        (Status.OK, 1),
        (Status.OK, 2),
    ]
    unpromised = press.made(2, test_crc=0)  # floats may differ: it runs, and that is all
    assert taken(press, loader, old, [unpromised]) == [(Status.OK, 2)]


def test_firmware_with_a_key_takes_what_was_signed_with_it_only(
    press, require_package, tmp_path, require_tool
):
    require_package("cryptography")
    if not Path("/usr/include/sodium.h").is_file():
        require_tool("libsodium-dev")  # says so by its name
    keys = [tmp_path / f"{name}.pem" for name in ("mine", "theirs")]
    for key in keys:
        write_key(key)
    mine, theirs = keys
    program = press.program(*key_flags(public_key(mine)), "-lsodium", verify=VERIFY / "libsodium.c")
    old = press.write("signed.cart", press.made(1, mine))
    signed = press.made(2, mine)
    cases = (
        (press.made(2), Status.CARTRIDGE_OTHER_KEY),
        (press.made(2, theirs), Status.CARTRIDGE_OTHER_KEY),
        (signed[:-1] + bytes([signed[-1] ^ 1]), Status.CARTRIDGE_OTHER_KEY),
        (signed[:-64] + press.made(1, mine)[-64:], Status.CARTRIDGE_OTHER_KEY),
        (signed[:-1], Status.CARTRIDGE_CUT),
    )
    found = taken(press, program, old, [data for data, _ in cases])
    assert found == [(status, 1) for _, status in cases]
    assert taken(press, program, old, [signed]) == [(Status.OK, 2)]


MONOCYPHER = """
#ifndef STAND_IN
#define STAND_IN
#include <stddef.h>
#include <stdint.h>
/* As Monocypher 4 declares it: 0 if the signature holds. */
int crypto_ed25519_check(const uint8_t *signature, const uint8_t *key, const uint8_t *message, size_t count);
#endif
"""
STAND_IN = """
#include <monocypher-ed25519.h>
#include <sodium.h>
int crypto_ed25519_check(const uint8_t *signature, const uint8_t *key, const uint8_t *message, size_t count)
{
    return crypto_sign_verify_detached(signature, message, count, key);
}
"""
# What is linked, and whether the library verifies keys of this kind.
LIBRARIES = {
    "libsodium": (("-lsodium",), "ed25519", Status.OK),
    "monocypher": (("-lsodium",), "ed25519", Status.OK),  # whose function the other's stands in for
    "psa": (("-lmbedcrypto",), "p256", Status.OK),
    "psa without Ed25519": (("-lmbedcrypto",), "ed25519", Status.NO_VERIFIER),
    "own": ((), "ed25519", Status.NO_VERIFIER),
}


@only("weights")
@pytest.mark.parametrize("library", LIBRARIES)
def test_each_body_that_projects_get_verifies_or_refuses(library, press, require_package, require_tool):
    require_package("cryptography")
    for header in ("sodium.h", "psa/crypto.h"):
        if not (Path("/usr/include") / header).is_file():
            require_tool(f"{header}, by libsodium-dev or libmbedtls-dev")
    libraries, kind, expected = LIBRARIES[library]
    folder = press.folder / library.replace(" ", "-")
    folder.mkdir()
    (folder / "monocypher-ed25519.h").write_text(MONOCYPHER)
    mine, theirs = (write_key(folder / f"{name}.pem", kind) for name in ("mine", "theirs"))
    verify = folder / "verify.c"
    body = (VERIFY / f"{library.split()[0]}.c").read_text(encoding="utf-8")
    verify.write_text(body + (STAND_IN if library == "monocypher" else ""))
    program = press.program(*key_flags(public_key(mine)), f"-I{folder}", *libraries, verify=verify)
    signed = press.made(2, mine)
    wrong = Status.NO_VERIFIER if expected != Status.OK else Status.CARTRIDGE_OTHER_KEY
    cases = (
        (press.made(2), Status.CARTRIDGE_OTHER_KEY),
        (press.made(2, theirs), wrong),
        (signed[:-1] + bytes([signed[-1] ^ 1]), wrong),
        (signed[:-64] + bytes(64), wrong),
        (signed, expected),
    )
    paths = [press.write(f"body{n}.cart", data) for n, (data, _) in enumerate(cases)]
    found = [line.split()[0] for line in press.said(program, "try", *paths)]
    assert found == [f"{status:d}" for _, status in cases]


def test_no_code_of_a_library_means_valid(repo_root):
    """Bodies that hand on 0, 1, -1 or whatever else a library returns accept nothing."""
    text = (repo_root / "project_templates" / "common" / "solder_cartridge.h").read_text(encoding="utf-8")
    values = [int(value, 16) for value in re.findall(r"SOLDER_SIGNATURE_\w+ = (0x[0-9A-F]+)", text)]
    assert len(set(values)) == 3
    assert min(values) > 0x1000
    assert all(bin(a ^ b).count("1") >= 4 for a in values for b in values if a != b)


def test_a_public_key_is_read_without_the_package(require_package, tmp_path, monkeypatch):
    require_package("cryptography")
    for kind, size in (("ed25519", 32), ("p256", 65)):
        private = write_key(tmp_path / f"{kind}.pem", kind)
        public = tmp_path / f"{kind}-public.pem"
        public.write_bytes(public_pem(private))
        key = public_key(private)
        assert len(key) == size
        with monkeypatch.context() as without:
            without.setitem(sys.modules, "cryptography", None)
            without.setitem(sys.modules, "cryptography.hazmat.primitives", None)
            assert public_key(public) == key
            with pytest.raises(DeployError, match="private keys need the Python package cryptography"):
                public_key(private)


def test_a_file_that_holds_no_key_is_named(require_package, tmp_path):
    require_package("cryptography")
    path = tmp_path / "key.pem"
    path.write_text("-----BEGIN NONSENSE-----")
    with pytest.raises(DeployError, match="the file holds no public Ed25519 or P-256 key"):
        public_key(path)
    with pytest.raises(DeployError, match="the file holds no private Ed25519 or P-256 key"):
        sign(bytes(64), path)
    with pytest.raises(DeployError, match="the key cannot be read"):
        public_key(tmp_path / "absent.pem")


@only("code")
def test_code_that_needs_a_fixed_place_is_refused_by_the_name_of_its_part(press, tmp_path):
    extra = (
        "\nstatic int counted;\nint32_t tiny_count(void);\nint32_t tiny_count(void) { return ++counted; }\n"
    )
    text = press.tiny.sources["tiny.c"].replace("row[i] + tiny", "row[i] + tiny_count() + tiny") + extra
    text = text.replace('#include "tiny.h"', '#include "tiny.h"\nint32_t tiny_count(void);', 1)
    source = replace(press.tiny, sources={**press.tiny.sources, "tiny.c": text})
    with pytest.raises(DeployError) as caught:
        cartridge_image(source, HOST, tmp_path)
    require_facts(str(caught.value).splitlines()[0], "tiny cartridge variables")


def test_a_header_has_the_layout_of_the_loaders(press):
    data = press.made(1)
    assert HEADER.size == 128
    assert data[:4] == b"CART"
    assert len(data) % 64 == DIGEST_BYTES
    assert hashlib.sha256(data[:-DIGEST_BYTES]).digest() == data[-DIGEST_BYTES:]


@only("code")
def test_a_compiler_without_that_linker_is_named(press, tmp_path, require_package):
    require_package("ziglang")
    with pytest.raises(DeployError, match="position-independent code needs the GNU linker"):
        cartridge_image(press.tiny, HOST, tmp_path, "zig")
