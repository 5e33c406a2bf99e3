"""Makes a cartridge of a compiled model: its code or its weights, what it needs, and what it must compute."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from aot.errors import InputError
from aot.ir.graph import Graph
from aot.printable import printable
from artifact.artifact import Artifact
from boards.board import Board
from codegen.model import ExternalWeights, PackedTable
from deploy.compare import reference_outputs
from deploy.samples import Samples
from platforms.cartridge.code import cartridge_image
from platforms.cartridge.header import (
    HEADER,
    MAGIC,
    MOST_ARENAS,
    Image,
    Needs,
    core_text,
    packed,
    structure_text,
    tables_text,
)
from platforms.cartridge.self_test import outputs_crc, self_test_inputs
from platforms.cartridge.signing import sign
from platforms.project import project_source
from platforms.rpc.cartridges import BUILT_IN, CartridgeSupport
from platforms.rpc.failures import RequestRefusedError
from platforms.rpc.protocol import Status
from platforms.rpc.session import Session


def weights_of(weights: ExternalWeights, artifact: Artifact, graph: Graph, key: Path | None = None) -> bytes:
    """The bytes of a cartridge without code, for firmware whose model has the same structure."""
    test_crc = _expected(artifact, graph)
    needs = Needs(structure_text(weights.structure), (), alignment=1, stack_bytes=0, test_crc=test_crc)
    return _signed(packed(Image(weights.data), needs, is_signed=key is not None), key)


def table_of(table: PackedTable, artifact: Artifact, graph: Graph, board: Board, key: Path | None) -> bytes:
    """The bytes of a cartridge with a table, for firmware that has its kernels."""
    source = project_source(artifact)
    needs = Needs(
        core=tables_text(board.target),
        arena_bytes=tuple(arena.bytes for arena in source.arenas),
        alignment=_ALIGNMENT,
        stack_bytes=source.stack_bytes + _TABLE_STACK_BYTES,
        test_crc=_expected(artifact, graph),
    )
    return _signed(packed(Image(table.data), needs, is_signed=key is not None), key)


def cartridge_of(
    artifact: Artifact, graph: Graph, board: Board, key: Path | None = None, toolchain: str | None = None
) -> bytes:
    """The bytes of a cartridge, signed where a private key is named. `graph` is what the model means."""
    source = project_source(artifact)
    with tempfile.TemporaryDirectory() as folder:
        image = cartridge_image(source, board, Path(folder), toolchain)
    needs = Needs(
        core=core_text(board.target),
        arena_bytes=tuple(arena.bytes for arena in source.arenas),
        alignment=_ALIGNMENT,
        stack_bytes=source.stack_bytes,
        test_crc=_expected(artifact, graph),
    )
    return _signed(packed(image, needs, is_signed=key is not None), key)


def _expected(artifact: Artifact, graph: Graph) -> int:
    """The checksum that the self-test must give."""
    inputs = self_test_inputs(artifact.facts.inputs)
    (expected,) = reference_outputs(graph, Samples((inputs,), is_series=False))
    return outputs_crc(artifact.facts.outputs, expected)


def _signed(made: bytes, key: Path | None) -> bytes:
    return sign(made, key) if key else made


_ALIGNMENT = 16  # of arenas: the most that generated code asks for
_TABLE_STACK_BYTES = 256  # of solder_table.c: the pointers of a call, and what it is called by


def read_cartridge(path: Path) -> bytes:
    """The bytes of a cartridge's file. Raises InputError where it is none."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"the cartridge cannot be read: {error.strerror}", str(path)) from error
    if len(data) < HEADER.size or HEADER.unpack_from(data)[0] != MAGIC:
        raise InputError(
            "this is not a cartridge",
            str(path),
            "deploy compile MODEL --board B --cartridge -o OUT.cart makes one",
        )
    return data


def load_into(session: Session, cartridge: bytes) -> None:
    """Replaces the model of running firmware. Raises InputError, DeviceError; the old model then runs on."""
    if not session.takes_cartridges:
        raise InputError(
            "this firmware takes no cartridges: it was made without slots for them",
            session.line_name,
            "deploy new OUT.tar DIR --board B --slots 128K makes firmware that does",
        )
    takes = session.cartridges()
    if len(cartridge) > takes.slot_bytes:
        raise InputError(
            f"the cartridge has {len(cartridge):,} bytes, a slot of the firmware {takes.slot_bytes:,}",
            session.line_name,
            "deploy new --slots with more, or deploy compile --optimize size",
        )
    try:
        session.load_cartridge(cartridge)
    except RequestRefusedError as refused:
        raise RequestRefusedError(
            refused.what,
            f"{refused.where}{_numbers(refused.status, cartridge, session)}",
            _stays(takes) + _WAYS_OUT.get(refused.status, ""),
            refused.status,
        ) from None


_WAYS_OUT: Mapping[int, str] = {
    Status.CARTRIDGE_STRUCTURE: "\ndeploy diff FIRST.tar OTHER.tar   shows what differs, of archives with "
    "--weights external",
    Status.CARTRIDGE_KERNEL: "\ndeploy compile --tables --cartridge --firmware DIR   names these layers",
}


def _stays(takes: CartridgeSupport) -> str:
    if not takes.are_weights:
        return "the model that ran before runs on"
    return "the model has no weights yet" if takes.slot == BUILT_IN else "the model keeps the weights before"


def _numbers(status: int, cartridge: bytes, session: Session) -> str:
    """The numbers of both sides, where they are why."""
    words = HEADER.unpack_from(cartridge)
    arenas, stack = words[9 : 9 + min(words[8], MOST_ARENAS)], words[14]
    if status in (Status.CARTRIDGE_CORE, Status.CARTRIDGE_STRUCTURE):
        core = printable(words[16].rstrip(b"\0").decode("utf-8", "replace"))
        return f'\nit is for "{core}", the firmware for "{session.cartridges().core}"'
    if status == Status.CARTRIDGE_NEEDS:
        asked = " and ".join(f"{each:,}" for each in arenas)
        return (
            f"\nit needs {asked} bytes of arena and {stack:,} of stack; "
            f"the firmware has {session.arena_bytes:,} of arena and {session.stats().stack_bytes:,} of stack"
        )
    return ""
