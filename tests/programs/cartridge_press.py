"""Makes cartridges of a tiny model of each kind, and firmware in a process that takes them."""

import subprocess
from dataclasses import replace
from pathlib import Path
from zlib import crc32

import numpy as np

from aot.ir.types import DType, TensorType
from codegen.c.arenas import Arena
from codegen.model import TensorInfo
from codegen.tables.kernels import PointerLimits, TableKernel
from codegen.tables.packed import pack_table
from codegen.tables.rule import Rule
from codegen.tables.table import Action, ModelTable, Passage
from platforms.board_files import load_board
from platforms.cartridge.code import cartridge_image
from platforms.cartridge.header import (
    Identity,
    Image,
    Needs,
    core_text,
    packed,
    structure_text,
    tables_text,
)
from platforms.cartridge.self_test import self_test_inputs
from platforms.cartridge.signing import sign
from platforms.project import ProjectSource

ROOT = Path(__file__).resolve().parents[2]
RUNTIME = ROOT / "project_templates" / "common"
FIRMWARE = ROOT / "tests" / "platforms" / "cartridge_update"
VERIFY = ROOT / "project_templates" / "verify"
TINY = ROOT / "tests" / "platforms" / "tiny_model"
HOST = load_board("host")
CORE = core_text(HOST.target)
STRUCTURE = structure_text("ab" * 11)
TABLES = tables_text(HOST.target)
FOUR_BYTES = TensorType(DType.I8, (1, 4))
MODEL = Identity("tiny", 1)  # as the one that is built into firmware.c
ADDS = "0123456789abcdef"  # the name of the kernel in firmware.c
FLAGS = ("-std=c99", "-O2", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-DSOLDER_CARTRIDGES")


def tiny_source() -> ProjectSource:
    """y = x + 1 on four int8, written by hand."""
    files = {path.name: path.read_text(encoding="utf-8") for path in sorted(TINY.iterdir())}
    return ProjectSource(
        name="tiny",
        sources={name: text for name, text in files.items() if name.endswith(".c")},
        headers={name: text for name, text in files.items() if name.endswith(".h")},
        arenas=(Arena("arena", "", 8),),
        is_streamed=False,
        keeps_state=False,
        constants_bytes=0,
        constants_in={},
        stack_bytes=64,
        inputs=(TensorInfo("x", FOUR_BYTES, 0, 0, "x"),),
        outputs=(TensorInfo("y", FOUR_BYTES, 4, 0, "y"),),
        c_flags=("-O2",),
        model_hash="0102030405060708",
        tool_version="1.2.3",
    )


def wanted_crc(source: ProjectSource, added: int) -> int:
    """What a tiny model that adds this gives in its self-test."""
    (x,) = self_test_inputs(source.inputs)
    return crc32((x + np.int8(added)).tobytes())


class Press:
    """Makes cartridges of tiny models, and runs the loader on them."""

    flags: tuple[str, ...] = ()

    def __init__(self, tiny: ProjectSource, folder: Path, runtime: Path = RUNTIME) -> None:
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

    def made(self, added: int, key: Path | None = None, model: Identity = MODEL, **other: object) -> bytes:
        needs = replace(self.needs(added), **other)  # type: ignore[arg-type]
        data = packed(self.images[added], needs, key is not None, model)
        return sign(data, key) if key else data

    def write(self, name: str, data: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(data)
        return path

    def program(
        self, *more: str, name: str = "update", runtime: Path | None = None, verify: Path | None = None
    ) -> Path:
        """Builds <name>_main.c with the loader of this runtime, and what verifies signatures."""
        built = self.folder / f"{name}{len(more)}"
        of = runtime or self.runtime
        files = [FIRMWARE / f"{name}_main.c", FIRMWARE / "firmware.c", *sorted(of.glob("*.c"))]
        files += [verify] if verify else []
        flags = (*FLAGS, *self.flags, f'-DCORE="{self.needs(1).core}"', f"-I{of}")
        subprocess.run(["gcc", *flags, *map(str, files), "-o", str(built), *more], check=True)
        return built

    def said(self, program: Path, mode: str, *files: Path | str) -> list[str]:
        done = subprocess.run(
            [str(program), mode, *map(str, files)], capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, (done.stdout, done.stderr)
        return done.stdout.splitlines()


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


def write_key(path: Path, kind: str = "ed25519") -> Path:
    """A new private key of Ed25519, or of P-256."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519

    makes = {
        "ed25519": ed25519.Ed25519PrivateKey.generate,
        "p256": lambda: ec.generate_private_key(ec.SECP256R1()),
    }
    path.write_bytes(
        makes[kind]().private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return path


def public_pem(private: Path) -> bytes:
    """The public key's file."""
    from cryptography.hazmat.primitives import serialization

    key = serialization.load_pem_private_key(private.read_bytes(), None)
    encoding, form = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    return bytes(key.public_key().public_bytes(encoding, form))


def key_flags(key: bytes) -> tuple[str, ...]:
    """How firmware.c gets a public key."""
    return (f"-DSOLDER_CARTRIDGE_KEY={len(key)}", f"-DKEY={', '.join(str(byte) for byte in key)}")
