"""Builds firmware that holds many candidates: the runtime once, the candidates by several compilers."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from aot.errors import ToolError
from boards.board import Board
from codegen.kernels.kernel import Kernel
from platforms.base import Firmware, Platform
from platforms.build import build_folder, compile_argv, link_argv, object_of, project_sources
from platforms.project import App, ProjectSource
from platforms.toolchains import Toolchain, find_toolchain
from platforms.tuning.candidates import Places, candidates_text, models_text, tuning_header
from platforms.tuning.tasks import Experiment, Task
from platforms.tuning.trial import MeasureChoices

JOBS = 2
_PROFILED = True  # the layer hook is what times a candidate
_STACK_BYTES = 8192
_MODEL_FLAGS = ("-std=c99", "-O2")
_PARTS = "src/model/candidates_"
_MODELS = "src/models.c"


class Workshop:
    """One folder with a project, whose candidates change from batch to batch."""

    def __init__(
        self, board: Board, platform: Platform, folder: Path, prefer: str | None, objects: Path | None
    ) -> None:
        self.board, self.folder, self.objects = board, folder / "project", objects
        self.toolchain: Toolchain = find_toolchain(board.target, prefer)
        self.platform = platform
        self._arena_bytes = 0

    def build(
        self,
        task: Task,
        experiment: Experiment,
        places: Places,
        kernels: Mapping[int, Kernel],
        choices: MeasureChoices,
    ) -> Firmware:
        """Firmware with all of the kernels. Raises ToolError where one of them does not build."""
        self._prepare(places)
        header = tuning_header(experiment, places, list(kernels), choices.number, choices.warm_up)
        parts = [part for part in (dict(list(kernels.items())[n::JOBS]) for n in range(JOBS)) if part]
        texts = {f"{_PARTS}{n}.c": candidates_text(task, experiment, places, p) for n, p in enumerate(parts)}
        texts[_MODELS] = models_text(experiment, list(kernels))
        (self.folder / "src/tuning.h").write_text(header)
        for old in self.folder.glob(f"{_PARTS}*.c"):
            old.unlink()
        for name, text in texts.items():
            (self.folder / name).write_text(text)
        with ThreadPoolExecutor(JOBS) as pool:
            list(pool.map(lambda name: self._compile(name, header + texts[name]), texts))
        elf = self.folder / build_folder(_PROFILED) / self.platform.program
        self._run(link_argv(self.toolchain, self._sources(), self.platform.program, _PROFILED))
        return Firmware(elf, self.folder, self.toolchain, _PROFILED)

    def _sources(self) -> tuple[str, ...]:
        return project_sources(self.folder)

    def _prepare(self, places: Places) -> None:
        """The project and its runtime, once; again only for an arena that may lie elsewhere."""
        if self.folder.exists() and places.arena_bytes <= self._arena_bytes:
            return
        shutil.rmtree(self.folder, ignore_errors=True)
        self._arena_bytes = places.arena_bytes
        self.platform.generate(self._source(places), self.folder, self.board, App.RPC)
        (self.folder / _PARTS).parent.mkdir(exist_ok=True)
        runtime = [s for s in self._sources() if s != _MODELS]
        for source in (*runtime, _MODELS, f"{_PARTS}0.c"):
            (self.folder / object_of(source, _PROFILED)).parent.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(JOBS) as pool:
            list(pool.map(lambda s: self._run(compile_argv(self.toolchain, s, _PROFILED)), runtime))

    def _source(self, places: Places) -> ProjectSource:
        """A project without a model: its place is taken by the candidates."""
        return ProjectSource(
            name="tuning",
            sources={},
            headers={},
            arena_bytes=places.arena_bytes,
            is_streamed=False,
            keeps_state=False,
            stack_bytes=_STACK_BYTES,
            inputs=(),
            outputs=(),
            c_flags=_MODEL_FLAGS,
            model_hash="",
            tool_version="",
        )

    def _compile(self, source: str, content: str) -> None:
        """By content where objects are kept: the same candidates are compiled once."""
        argv = compile_argv(self.toolchain, source, _PROFILED)
        made = self.folder / object_of(source, _PROFILED)
        kept = self._kept(argv, content)
        if kept is not None and kept.is_file():
            shutil.copyfile(kept, made)
            return
        self._run(argv)
        if kept is not None:
            kept.parent.mkdir(parents=True, exist_ok=True)
            beside = kept.with_suffix(f".{id(made)}")
            shutil.copyfile(made, beside)
            beside.replace(kept)

    def _kept(self, argv: Sequence[str], content: str) -> Path | None:
        if self.objects is None:
            return None
        flags = [(self.folder / word[1:]).read_text() for word in argv if word.startswith("@")]
        known = json.dumps([argv, flags, self.toolchain.version, content])
        return self.objects / f"{hashlib.sha256(known.encode()).hexdigest()[:32]}.o"

    def _run(self, argv: Sequence[str]) -> None:
        done = subprocess.run(
            argv, cwd=self.folder, capture_output=True, text=True, errors="replace", check=False
        )
        if done.returncode != 0:
            first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr[:200])
            raise ToolError(f"the compiler failed with exit status {done.returncode}", first)
