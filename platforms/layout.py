"""The files that projects have on every platform: model, runtime, main.c, options, Makefile, README.

Sources and compiler options are defined once in a project: sources are the C files in src/, options are
response files in flags/. The Makefile and `deploy build` both read them, so files and options that a user
adds work with both.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aot.ir.types import DType
from boards.board import Board
from codegen.model import TensorInfo
from platforms.arena_words import arena_words, variable
from platforms.cartridge.in_firmware import cartridge_files, cartridge_flags, weights_to_come
from platforms.chat_app import chat_app_files
from platforms.mlperf_tiny import mlperf_files
from platforms.project import App, ProjectSource
from platforms.rpc.protocol import MOST_BUILD_ID
from platforms.sensor_app import SENSOR_APPS, sensor_app_files
from platforms.templates import c_files, filled, template_text
from platforms.toolchains import cpu_flags, library_flags

PROJECT_FILE = "project.json"
LINE_KEY_FILE = "src/line_key.c"
PROJECT_FORMAT = 1
_BUILD_DIGITS = 16
_BEHIND = " /* the model's working memory, then inputs and outputs that are not in it */"
STANDALONE_HEADERS = ("solder_model.h", "solder_port.h")
_CARTRIDGES_ALIGN = ("__attribute__((aligned(32)))",)  # for models that are not known yet
_COMPILE = (
    "-std=c99",
    "-g",  # debug information stays on the host and locates faults
    "-Wall",
    "-Wextra",
    "-Wconversion",
    "-ffunction-sections",
    "-fdata-sections",
    "-fstack-usage",
)
PURPOSE = {
    App.RPC: "Serves the model over a serial line: `deploy run`, `verify` and `bench` talk to it.",
    App.STANDALONE: "Runs the model once and prints its outputs: a starting point for your own program.",
    App.MLPERF_TINY: (
        "Runs the model when the runner of MLPerf Tiny asks for it over the serial line. To measure energy,\n"
        "fill in `src/pin.c` and add `-DMLPERF_ENERGY` to `flags/compile`: a falling edge replaces each time."
    ),
    **{
        app: f"{sensor_app.summary} continuously and reports its decisions."
        for app, sensor_app in SENSOR_APPS.items()
    },
    App.TRANSCRIBE: "Turns sound into text, and writes letters as they are recognized.",
    App.CHAT: "Continues texts: reads a line and writes the model's words as they are computed.",
}
TRY_IT = {
    App.RPC: "deploy run . --inputs IN.npz --output OUT.npz",
    App.STANDALONE: "deploy monitor .  # builds it, starts it and shows its output",
    App.MLPERF_TINY: "deploy monitor .  # builds it, starts it and shows that it is ready for a runner",
    **dict.fromkeys(SENSOR_APPS, "deploy monitor --decode .  # builds it, starts it and shows its decisions"),
    App.TRANSCRIBE: "deploy monitor .  # builds it, starts it and shows its text",
    App.CHAT: "deploy monitor .  # builds it, starts it, and passes what you type",
}
_MAIN_SAYS = {
    App.RPC: "starts the server",
    App.STANDALONE: "calls the model; yours to change",
    App.MLPERF_TINY: "loads samples, runs the model, tells the results; `commands.c` answers the runner",
    **dict.fromkeys(
        SENSOR_APPS, "reads rows from `sensor.c`, reports decisions of `decision.c`; yours to change"
    ),
    App.TRANSCRIBE: "reads rows from `sensor.c`, writes the text of the model's frames; yours to change",
    App.CHAT: "reads lines, runs the model with `tokenizer.c` and `sampler.c`; yours to change",
}


@dataclass(frozen=True, slots=True)
class PlatformFiles:
    """Files and options specific to one platform's projects."""

    platform: str
    program: str  # name of the built file
    default_cc: str
    other_cc: str
    files: Mapping[str, str]
    folders: Mapping[str, str]  # README descriptions of the platform's folders
    compile_flags: Mapping[str, tuple[str, ...]]  # by compiler family, in addition to the core's options
    link_flags: Mapping[str, tuple[str, ...]]  # by compiler family
    link_needs: tuple[str, ...] = ()  # files that the linker reads
    can_sanitize: bool = False  # the address and undefined-behavior sanitizers work there
    has_two_cores: bool = False  # programs use both cores of dual-core boards
    purpose: str = ""  # of its program, if it differs from the other platforms
    entropy: str = "own"  # the random source: a file in project_templates/entropy


def project_files(source: ProjectSource, board: Board, app: App, own: PlatformFiles) -> dict[str, str]:
    """Returns every file of a project as path -> text."""
    return {
        **{f"src/model/{name}": text for name, text in model_files(source, app).items()},
        **{f"src/runtime/{name}": text for name, text in runtime_files(app).items()},
        **app_files(source, app, board, own.platform),
        **{f"src/{name}": text for name, text in source.functions.items()},
        **cartridge_files(source, board),
        **lock_files(source, own.entropy),
        **own.files,
        **_flag_files(source, board, own),
        "Makefile": filled(
            "project",
            "Makefile.jinja",
            default_cc=own.default_cc,
            other_cc=own.other_cc,
            program=own.program,
            can_sanitize=own.can_sanitize,
            link_needs="".join(f" {file}" for file in own.link_needs),
        ),
        "README.md": _readme(source, board, app, own),
        ".gitignore": "build/\n" + (f"{LINE_KEY_FILE}\n" if source.line_key else ""),
        PROJECT_FILE: project_json(source, board, app, own.platform),
    }


def lock_files(source: ProjectSource, entropy: str) -> dict[str, str]:
    """Returns the files with the line's key and a random source for challenges; empty without a key."""
    if not source.line_key:
        return {}
    words = struct.unpack("<8I", source.line_key)
    return {
        LINE_KEY_FILE: filled("project", "line_key.c.jinja", words=words),
        "src/entropy.c": template_text("entropy", f"{entropy}.c"),
    }


def model_files(source: ProjectSource, app: App) -> dict[str, str]:
    """Returns the model's files. The description is included only for the server."""
    leave_out = {f"{model}_describe.c" for model in source.models} if app is not App.RPC else set()
    files = {n: text for n, text in {**source.headers, **source.sources}.items() if n not in leave_out}
    return {**files, **weights_to_come(source)}


def runtime_files(app: App) -> dict[str, str]:
    """Returns the server, or the two headers that other programs may need."""
    if app is not App.RPC:
        return {name: template_text("common", name) for name in STANDALONE_HEADERS}
    return dict(c_files("common"))


def app_files(source: ProjectSource, app: App, board: Board, platform: str) -> dict[str, str]:
    """Returns the server's table of models, or a program that calls the model."""
    if app is App.RPC:
        return {"src/models.c": model_table(source)}
    if app in SENSOR_APPS:
        return sensor_app_files(source, app, board, platform, tensor_words(source))
    if app is App.MLPERF_TINY:
        return mlperf_files(source, board, platform, tensor_words(source))
    if source.chat is not None:
        return chat_app_files(source.chat, tensor_words(source))
    return {"src/main.c": filled("project", "main_standalone.c.jinja", **tensor_words(source))}


def model_table(source: ProjectSource) -> str:
    """Returns models.c, the server's table of models."""
    return filled(
        "project",
        "models.c.jinja",
        name=source.name,
        alignment=" ".join(
            [
                *(f"{name.upper()}_ALIGN" for name in source.models),
                *_CARTRIDGES_ALIGN[: 1 if source.cartridges and not source.accepts_weights else 0],
            ]
        ),  # the strictest alignment applies
        build_id=build_id_of(source),
        behind=_BEHIND if source.callers else "",
        **arena_words(source),
        models=source.models,
        is_replaced=source.cartridges is not None,
    )


def tensor_words(source: ProjectSource) -> dict[str, Any]:
    """Returns template variables for a program that calls the model: memory, inputs, outputs."""
    return {
        "name": source.name,
        "macro": source.name.upper(),
        **arena_words(source),
        "is_streamed": source.is_streamed,
        "keeps_state": source.keeps_state,
        "inputs": [_for_main(source, tensor) for tensor in source.inputs],
        "outputs": [_for_main(source, tensor) for tensor in source.outputs],
    }


def _for_main(source: ProjectSource, tensor: TensorInfo) -> dict[str, str | int]:
    """Returns a tensor's variables for main.c, which prints floats as integers in thousandths."""
    real, is_placed = tensor.type.dtype is DType.F32, tensor not in source.callers
    own = f"tensor_{tensor.c_name}"  # avoids collisions with the user's names
    offset = f"{source.name}_{tensor.c_name}_OFFSET".upper()
    arena = source.arenas[tensor.arena]
    return {
        "c_name": tensor.c_name,
        "variable": own,
        "c_type": tensor.type.dtype.c_name,
        "elements": tensor.type.elements,
        "is_placed": is_placed,
        "place": f"&{variable(tensor.arena, arena)}[{offset}]" if is_placed else own,
        "unit": " / 1000" if real else "",
        "value": f"out.{tensor.c_name}[i] * 1000.0f" if real else f"out.{tensor.c_name}[i]",
    }


def build_id_of(source: ProjectSource) -> str:
    """Returns the build id, a digest of the content: the same project builds the same firmware."""
    digest = hashlib.sha256()
    for name, text in sorted({**source.headers, **source.sources, **source.functions}.items()):
        digest.update(f"{name}\0{text}\0".encode())
    name = source.name[: MOST_BUILD_ID - _BUILD_DIGITS - 1]
    return f"{name}-{digest.hexdigest()[:_BUILD_DIGITS]}"


def _flag_files(source: ProjectSource, board: Board, own: PlatformFiles) -> dict[str, str]:
    folders = ["src", "src/model", "src/runtime"] + (["src/board"] if own.link_needs else [])
    options = {
        "compile": (
            *_COMPILE,
            *(f"-I{folder}" for folder in folders),
            *(["-DSOLDER_FUNCTIONS"] if source.functions else []),
            *(["-DSOLDER_OBSERVED"] if source.reports_counters else []),
            *(["-DSOLDER_STATES"] if source.saves_states else []),
            *(["-DSOLDER_TWO_CORES"] if source.on_two_cores and own.has_two_cores else []),
            *cartridge_flags(source),
            *(["-DSOLDER_LOCK"] if source.line_key else []),
        ),
        "model": source.c_flags,
        "rest": ("-Os",),
    }
    for family, link in own.link_flags.items():
        if family not in board.core.options:  # this compiler family does not support the core
            continue
        options[f"{family}/cpu"] = (*cpu_flags(board.target, family), *own.compile_flags[family])
        options[f"{family}/link"] = (*library_flags(board.target, family), *link)
    return {f"flags/{name}": "".join(f"{option}\n" for option in text) for name, text in options.items()}


def _readme(source: ProjectSource, board: Board, app: App, own: PlatformFiles) -> str:
    runtime = {"src/runtime/": "the server: frames, session, requests"} if app is App.RPC else {}
    return filled(
        "project",
        "README.md.jinja",
        name=source.name,
        macro=source.name.upper(),
        board=board,
        purpose=own.purpose or PURPOSE[app],
        try_it=TRY_IT[app],
        main_says=_MAIN_SAYS[app],
        default_cc=own.default_cc,
        program=own.program,
        folders=(runtime | dict(own.folders)).items(),
        **arena_words(source),
    )


def project_json(source: ProjectSource, board: Board, app: App, platform: str) -> str:
    """Returns project.json, the facts that `deploy` needs about the project."""
    facts = {
        "format": PROJECT_FORMAT,
        "name": source.name,
        "models": source.models,
        "platform": platform,
        "board": board.name,
        "app": app.value,
        "model_hash": source.model_hash,
        "build_id": build_id_of(source),
        "made_by": f"solder {source.tool_version}",
        **({"archive": source.archive} if source.archive else {}),
        **({"other_archives": source.other_archives} if source.other_archives else {}),
    }
    return json.dumps(facts, indent=2) + "\n"
