"""Creates a cartridge from a compiled model: code or weights, requirements, and self-test checksum."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

from aot.errors import InputError
from aot.ir.graph import Graph
from aot.wording import printable
from artifact.artifact import Artifact
from boards.board import Board
from codegen.model import ExternalWeights, PackedTable
from deploy.inputs.samples import Samples
from deploy.verification.compare_layers import reference_outputs
from platforms.cartridge.code import cartridge_image
from platforms.cartridge.header import (
    HEADER,
    MAGIC,
    NO_PRODUCT,
    Identity,
    Image,
    Needs,
    core_text,
    packed,
    read_header,
    structure_text,
    tables_text,
)
from platforms.cartridge.in_firmware import KERNELS_FILE
from platforms.cartridge.self_test import outputs_crc, self_test_inputs
from platforms.cartridge.signing import sign
from platforms.project import project_source
from platforms.rpc.cartridges import BUILT_IN, CartridgeSupport
from platforms.rpc.failures import RequestRefusedError
from platforms.rpc.protocol import CARTRIDGE_FORMAT, Status
from platforms.rpc.session import Session

# Checks whether firmware has the kernels that a table cartridge needs.

_MOST_NAMED = 8


def require_kernels(table: PackedTable, project: Path) -> None:
    """Raises InputError with the kernels of a table that a project's firmware lacks."""
    held = _held(project)
    lacks = [said for name, said in table.kernels.items() if name not in held]
    if lacks:
        more = [f"and {len(lacks) - _MOST_NAMED} more"] if len(lacks) > _MOST_NAMED else []
        raise InputError(
            f"the firmware lacks {len(lacks)} of the {len(table.kernels)} kernels that the model needs",
            "\n".join((str(project), *lacks[:_MOST_NAMED], *more)),
            "create firmware with them: deploy new --kernels THIS.tar; it accepts models whose layers have "
            "the same sizes",
        )


def _held(project: Path) -> frozenset[str]:
    path = project / KERNELS_FILE
    try:
        lenders = json.loads(path.read_text(encoding="utf-8"))["kernels"]
        return frozenset(name for each in lenders.values() for name in each)
    except FileNotFoundError as error:
        raise InputError(
            "this project's firmware does not support tables",
            str(path),
            "use deploy compile --tables -o OUT.tar, then deploy new OUT.tar DIR --slots 128K",
        ) from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError("the list of kernels cannot be read", str(path)) from error


def weights_of(
    weights: ExternalWeights,
    artifact: Artifact,
    graph: Graph,
    key: Path | None = None,
    model: Identity = NO_PRODUCT,
) -> bytes:
    """Returns a cartridge without code, for firmware whose model has the same structure."""
    test_crc = _expected(artifact, graph)
    needs = Needs(structure_text(weights.structure), (), alignment=1, stack_bytes=0, test_crc=test_crc)
    return _signed(packed(Image(weights.data), needs, key is not None, model), key)


def table_of(
    table: PackedTable,
    artifact: Artifact,
    graph: Graph,
    board: Board,
    key: Path | None = None,
    model: Identity = NO_PRODUCT,
) -> bytes:
    """Returns a cartridge with a table, for firmware that has its kernels."""
    source = project_source(artifact)
    needs = Needs(
        core=tables_text(board.target),
        arena_bytes=tuple(arena.bytes for arena in source.arenas),
        alignment=_ALIGNMENT,
        stack_bytes=source.stack_bytes + _TABLE_STACK_BYTES,
        test_crc=_expected(artifact, graph),
    )
    return _signed(packed(Image(table.data), needs, key is not None, model), key)


def cartridge_of(
    artifact: Artifact,
    graph: Graph,
    board: Board,
    key: Path | None = None,
    model: Identity = NO_PRODUCT,
    toolchain: str | None = None,
) -> bytes:
    """Returns a cartridge, signed if a key is given. `graph` defines the expected results."""
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
    return _signed(packed(image, needs, key is not None, model), key)


def _expected(artifact: Artifact, graph: Graph) -> int:
    """Returns the expected checksum of the self-test."""
    inputs = self_test_inputs(artifact.facts.inputs)
    (expected,) = reference_outputs(graph, Samples((inputs,), is_series=False))
    return outputs_crc(artifact.facts.outputs, expected)


def _signed(made: bytes, key: Path | None) -> bytes:
    return sign(made, key) if key else made


_ALIGNMENT = 16  # of arenas: the strictest in generated code
_TABLE_STACK_BYTES = 256  # for solder_table.c: pointers and call frames


def read_cartridge(path: Path) -> bytes:
    """Reads a cartridge file. Raises InputError if it is not a cartridge."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"the cartridge cannot be read: {error.strerror}", str(path)) from error
    if len(data) < HEADER.size or HEADER.unpack_from(data)[0] != MAGIC:
        raise InputError(
            "this is not a cartridge",
            str(path),
            "create one with: deploy compile MODEL --board B --cartridge -o OUT.cart",
        )
    return data


def load_into(session: Session, cartridge: bytes) -> None:
    """Replaces the model of running firmware. Raises InputError or DeviceError; the old model then stays."""
    takes = _require_slots(session)
    if len(cartridge) > takes.slot_bytes:
        raise InputError(
            f"the cartridge has {len(cartridge):,} bytes, a slot of the firmware {takes.slot_bytes:,}",
            session.line_name,
            "use deploy new with larger --slots, or deploy compile --optimize size",
        )
    _require_fitting(cartridge, takes, session.line_name)
    try:
        session.load_cartridge(cartridge)
    except RequestRefusedError as refused:
        raise RequestRefusedError(
            refused.what,
            f"{refused.where}{_numbers(refused.status, cartridge, session)}",
            _stays(takes) + _HINTS.get(refused.status, ""),
            refused.status,
        ) from None


def go_back(session: Session) -> None:
    """Reverts to the cartridge before the last one. Raises InputError, RequestRefusedError."""
    _require_slots(session)
    try:
        session.previous_cartridge()
    except RequestRefusedError as refused:
        stays = "the model keeps running" + _HINTS.get(refused.status, "")
        raise RequestRefusedError(refused.what, refused.where, stays, refused.status) from None


def _require_slots(session: Session) -> CartridgeSupport:
    if not session.accepts_cartridges:
        raise InputError(
            "this firmware has no slots for cartridges",
            session.line_name,
            "create firmware with slots: deploy new OUT.tar DIR --board B --slots 128K",
        )
    return session.cartridges()


def _require_fitting(cartridge: bytes, takes: CartridgeSupport, line_name: str) -> None:
    """Raises InputError for models of another product or an older version, which the device rejects, too."""
    header, running = read_header(cartridge), takes.running
    if header.format != CARTRIDGE_FORMAT or running is None:
        return  # the device reports the mismatch
    model = header.identity
    if model.product != running.product:
        raise InputError(
            f"the cartridge is for {_product(model)}, the firmware for {_product(running)}",
            line_name,
            f'deploy compile --cartridge --product "{printable(running.product)}"   '
            "creates one for this firmware",
        )
    if model.version < running.version and not takes.accepts_older:
        raise InputError(
            f"the cartridge has version {model.version:,}, older than the running version "
            f"{running.version:,}",
            line_name,
            f"deploy compile --cartridge --model-version {running.version}, or more; only firmware created "
            "with deploy new --allow-downgrades accepts older ones",
        )


def _product(model: Identity) -> str:
    return f'the product "{printable(model.product)}"' if model.product else "no product"


_OLDER = (
    "\ndeploy compile --cartridge --model-version N   creates a newer one; older ones are taken by firmware "
    "that was made with deploy new --allow-downgrades"
)
_HINTS: Mapping[int, str] = {
    Status.CARTRIDGE_STRUCTURE: "\ndeploy diff FIRST.tar OTHER.tar   shows the difference of archives with "
    "--weights external",
    Status.CARTRIDGE_OLDER: _OLDER,
    Status.NO_VERIFIER: "\ndeploy new --verify LIBRARY creates firmware that can: libsodium and monocypher "
    "with an Ed25519 key, psa with P-256",
    Status.NO_PREVIOUS: "\ndeploy load IN.cart   loads any other",
    Status.CARTRIDGE_KERNEL: "\ndeploy compile --tables --cartridge --firmware DIR   lists these layers",
}


def _stays(takes: CartridgeSupport) -> str:
    if not takes.are_weights:
        return "the previous model keeps running"
    return (
        "the model has no weights yet" if takes.slot == BUILT_IN else "the model keeps its previous weights"
    )


def _numbers(status: int, cartridge: bytes, session: Session) -> str:
    """Returns the values of both sides, if they caused the error."""
    header = read_header(cartridge)
    if status in (Status.CARTRIDGE_CORE, Status.CARTRIDGE_STRUCTURE):
        core = printable(header.core)
        return f'\nit is for "{core}", the firmware is for "{session.cartridges().core}"'
    if status == Status.CARTRIDGE_NEEDS:
        asked = " and ".join(f"{each:,}" for each in header.arena_bytes)
        return (
            f"\nit needs {asked} bytes of arena and {header.stack_bytes:,} of stack; "
            f"the firmware has {session.arena_bytes:,} of arena and {session.stats().stack_bytes:,} of stack"
        )
    return ""
