"""Builds firmware with many candidates: the runtime once, the candidates in parallel."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from aot.errors import BuildError, OutputError
from artifact.whole_file import write_whole
from boards.board import Board
from codegen.c.arenas import Arena
from platforms.base import CompilerPlatform, Firmware
from platforms.build import (
    build_folder,
    compile_argv,
    link_argv,
    object_of,
    project_sources,
)
from platforms.elf import image, symbols
from platforms.project import App, ProjectSource
from platforms.templates import template_text
from platforms.toolchains import Toolchain, find_toolchain, spelling_of
from platforms.tuning.candidates import Batch

JOBS = 2
_PROFILED = True  # the layer hook times candidates
_STACK_BYTES = 8192
_MODEL_FLAGS = ("-std=c99", "-O2")
_PARTS = "src/model/candidates_"
_MODELS = "src/models.c"
_HEADER = "src/tuning.h"
_BLANK = f"{_PARTS}blank.c"
_MESSAGE = 200  # characters of a compiler error


class Workshop:
    """A project folder whose candidates change from batch to batch."""

    def __init__(
        self, board: Board, platform: CompilerPlatform, folder: Path, prefer: str | None, objects: Path | None
    ) -> None:
        self.board, self.folder, self.objects = board, folder / "project", objects
        self.toolchain: Toolchain = find_toolchain(board.target, prefer)
        self.platform = platform
        self._arena_bytes = 0

    def build(self, batch: Batch) -> Firmware:
        """Builds firmware with all candidates. Raises ToolError if one of them does not build."""
        self._prepare(batch.places.arena_bytes)
        names = self._compile_candidates(batch)
        self._compile(_MODELS)
        return self._linked([*self._runtime(), _MODELS, *names])

    def candidate_objects(self, batch: Batch) -> list[Path]:
        """Returns the object files of the batch built last."""
        return [self.folder / object_of(f"{_PARTS}{n}.c", _PROFILED) for n in range(len(batch.parts))]

    def loadable(self, batch: Batch, address: int) -> tuple[bytes, Mapping[str, int]]:
        """Links code for `address`. Returns it with the offset of each function. Raises ToolError."""
        if not self.folder.exists():  # the board runs other firmware
            self._make_project(batch.places.arena_bytes)
        objects = [object_of(name, _PROFILED) for name in self._compile_candidates(batch)]
        program = self.folder / build_folder(_PROFILED) / "loadable.elf"
        cpu = f"@flags/{spelling_of(self.toolchain.family)}/cpu"
        place = (f"-Wl,-Ttext={address:#x}", "-Wl,-e,blank", "-Wl,--build-id=none", "-Wl,--nmagic")
        self._run((*self.toolchain.argv, cpu, *objects, "-nostartfiles", *place, "-o", str(program)))
        first, code = image(program)
        entries = {s.name: s.address - address for s in symbols(program) if s.kind == "STT_FUNC"}
        return bytes(first - address) + code, entries

    def _compile_candidates(self, batch: Batch) -> list[str]:
        """Compiles files in parallel, one per job."""
        (self.folder / _HEADER).write_text(batch.header)
        (self.folder / _MODELS).write_text(batch.models)
        names = [f"{_PARTS}{n}.c" for n in range(len(batch.parts))]
        for name, text in zip(names, batch.parts, strict=True):
            (self.folder / name).write_text(text)
        with ThreadPoolExecutor(JOBS) as pool:
            list(pool.map(self._compile, names))
        return [*names, self._compile_blank()]

    def _compile_blank(self) -> str:
        """Compiles the layer that runs before each candidate."""
        (self.folder / _BLANK).write_text(template_text("tuning", "blank.c"))
        self._compile(_BLANK)
        return _BLANK

    def _linked(self, sources: Sequence[str]) -> Firmware:
        program = self.platform.program_name
        self._run(link_argv(self.toolchain, sources, program, _PROFILED))
        elf = self.folder / build_folder(_PROFILED) / program
        return Firmware(elf, self.folder, self.toolchain, _PROFILED)

    def _runtime(self) -> list[str]:
        return [s for s in project_sources(self.folder) if s != _MODELS and not s.startswith(_PARTS)]

    def _prepare(self, arena_bytes: int) -> None:
        """Creates the project and its runtime once, and again only for a larger arena."""
        if self.folder.exists() and arena_bytes <= self._arena_bytes:
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        self._make_project(arena_bytes)
        with ThreadPoolExecutor(JOBS) as pool:
            list(pool.map(lambda s: self._run(compile_argv(self.toolchain, s, _PROFILED)), self._runtime()))

    def _make_project(self, arena_bytes: int) -> None:
        self._arena_bytes = arena_bytes
        self.platform.generate(_source(arena_bytes), self.folder, self.board, App.RPC)
        (self.folder / _PARTS).parent.mkdir(exist_ok=True)
        for source in (*self._runtime(), _MODELS, f"{_PARTS}0.c"):
            (self.folder / object_of(source, _PROFILED)).parent.mkdir(parents=True, exist_ok=True)

    def _compile(self, source: str) -> None:
        """Compiles a file, or copies the object of an equal one from the cache."""
        argv = compile_argv(self.toolchain, source, _PROFILED)
        made = self.folder / object_of(source, _PROFILED)
        kept = self._kept(argv, source)
        if kept is not None and kept.is_file():
            shutil.copyfile(kept, made)
            return
        self._run(argv)
        if kept is not None:
            keep_object(kept, made.read_bytes())

    def _kept(self, argv: Sequence[str], source: str) -> Path | None:
        if self.objects is None:
            return None
        flags = [(self.folder / word[1:]).read_text() for word in argv if word.startswith("@")]
        texts = [(self.folder / name).read_text() for name in (source, _HEADER)]
        known = json.dumps([argv, flags, self.toolchain.version, texts])
        return self.objects / f"{hashlib.sha256(known.encode()).hexdigest()[:32]}.o"

    def _run(self, argv: Sequence[str]) -> None:
        done = subprocess.run(argv, cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            lines = done.stderr.splitlines()
            first = next((line for line in lines if "error" in line), done.stderr[:_MESSAGE])
            raise BuildError(f"the compiler failed with exit status {done.returncode}", first)


def keep_object(kept: Path, data: bytes) -> None:
    """Writes the whole file or nothing. Raises OutputError."""
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(
            f"the folder for compiled kernels cannot be created: {error.strerror}",
            str(kept.parent),
            "set XDG_CACHE_HOME to a writable folder",
        ) from None
    write_whole(kept, data, "the object file")


def _source(arena_bytes: int) -> ProjectSource:
    """Returns the source of a project in which candidates replace the model."""
    return ProjectSource(
        name="tuning",
        sources={},
        headers={},
        arenas=(Arena("arena", "", arena_bytes),),
        is_streamed=False,
        keeps_state=False,
        constants_bytes=0,
        constants_in={},
        stack_bytes=_STACK_BYTES,
        inputs=(),
        outputs=(),
        c_flags=_MODEL_FLAGS,
        model_hash="",
        tool_version="",
        accepts_code=True,
    )
