"""The input of a platform: a compiled model's C files and facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from aot.errors import InputError
from aot.fronts.picture import Crop, PixelForm
from artifact.artifact import Artifact
from codegen.c.arenas import Arena
from codegen.c.emit import CORES
from codegen.model import TensorInfo
from platforms.cartridge.header import Identity
from platforms.chat_app import ChatModel


class App(Enum):
    """The application around the model."""

    RPC = "rpc"  # serves the model over the line
    STANDALONE = "standalone"  # runs the model once and prints its outputs; a template for a custom main.c
    KWS = "kws"  # recognizes spoken words
    MOTION = "motion"  # recognizes movements
    ANOMALY = "anomaly"  # detects anomalies
    IMAGE = "image"  # classifies camera pictures
    DETECT = "detect"  # finds objects in camera pictures
    MLPERF_TINY = "mlperf-tiny"  # answers the runner of the MLPerf Tiny benchmark
    CHAT = "chat"  # continues texts, typed line by line
    TRANSCRIBE = "transcribe"  # writes what is spoken


@dataclass(frozen=True, slots=True)
class Slots:
    """Memory in firmware for cartridges, which replace its model."""

    slot_bytes: int  # of each of the two slots
    public_key: bytes = b""  # of the signer; b"": signatures are not checked
    model: Identity = field(default_factory=Identity)  # of the built-in model
    accepts_older: bool = False  # accepts models older than the running one
    verifier: str = "own"  # a key of VERIFIERS; verifies signatures


class SensorKind(Enum):
    """The data of a sensor. The value names the reader of its files."""

    SOUND = "sound"  # 16-bit samples
    PICTURE = "picture"  # bytes of camera pixels
    NUMBERS = "numbers"  # rows of the model's input, of any type


@dataclass(frozen=True, slots=True)
class CameraForm:
    """The format of camera pictures."""

    width: int
    height: int
    form: PixelForm
    seen: Crop  # the part passed to the model


@dataclass(frozen=True, slots=True)
class Recording:
    """Recorded sensor rows, compiled into the firmware."""

    title: str
    rows: tuple[str, ...]  # C initializers of the elements, one string per row


@dataclass(frozen=True, slots=True)
class LabelTexts:
    """What is written for each label of a model that gives one for each frame."""

    texts: tuple[bytes, ...]
    blank: int  # the label of frames without a letter


@dataclass(frozen=True, slots=True)
class SensorPipeline:
    """How a sensor's rows reach a streamed model, and how the outputs become decisions."""

    sensor: SensorKind
    rate_hz: int  # samples or pictures per second, else rows per second; 0: unknown
    window_rows: int  # rows per run
    row_elements: int
    window_us: int  # duration of a window; 0: unknown
    labels: tuple[str, ...]  # class names
    has_threshold: bool  # the error threshold of anomalies is known
    arenas: tuple[Arena, ...]  # for one window, without the extra space that a line needs
    lanes: int  # windows computed at the same time, each in separate arenas
    camera: CameraForm | None = None
    most_boxes: int = 0  # maximum detections in a picture
    recording: Recording | None = None
    hop_rows: int = 0  # new rows of each decision if the window slides; 0: windows are computed whole
    written: LabelTexts | None = None  # if decisions are letters of a text
    most_rows: int = 0  # of a sound; 0: any number


@dataclass(frozen=True, slots=True)
class ProjectSource:
    """The part of a compiled model that a project contains."""

    name: str  # a lower-case C identifier such as "kws"
    sources: Mapping[str, str]  # "kws.c", "kws_weights.c", "kws_describe.c" -> text
    headers: Mapping[str, str]  # "kws.h" -> text
    arenas: tuple[Arena, ...]  # including space for a whole streamed input, which a line needs
    is_streamed: bool
    keeps_state: bool  # between runs, in the arena
    constants_bytes: int
    constants_in: Mapping[str, int]  # constants outside the code's memory, by region
    stack_bytes: int  # estimate for <model>_run
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    c_flags: tuple[str, ...]  # compiler options for the model's files
    model_hash: str  # hex
    tool_version: str
    c_headers: frozenset[str] = frozenset()  # included by its files, in addition to the model's headers
    structure: str = ""  # hash of the code's structure, if weights are external
    weights_bytes: int = 0  # external weights only
    kernels: tuple[str, ...] = ()  # that tables can call
    lenders: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict
    )  # names of other models -> their kernels that tables can call
    callers: tuple[TensorInfo, ...] = ()  # inputs and outputs in the caller's memory
    beside: tuple[str, ...] = ()  # further models in the same firmware, sharing the arena
    functions: Mapping[str, str] = field(default_factory=dict)  # C files with functions called by name
    cartridges: Slots | None = None  # None: the firmware accepts no other models
    line_key: bytes = b""  # key that unlocks the server; b"": not locked
    accepts_code: bool = False  # over the line, so anyone connected can run any program on the board
    pipeline: SensorPipeline | None = None  # for apps that run a model on sensor data
    chat: ChatModel | None = None  # for the app that continues texts
    observes: bool = False  # the model counts field statistics
    slides: bool = False  # each run is one hop of a window
    others_observe: bool = False  # another model in the firmware does
    others_keep_state: bool = False  # another model in the firmware keeps state between runs
    archive: str = ""  # the path of the archive that it was created from, relative to the project
    other_archives: tuple[str, ...] = ()  # those of the models in `beside`

    @property
    def on_two_cores(self) -> bool:
        """True if a model in the firmware has layers computed on two cores."""
        return f"{CORES}.h" in self.headers

    @property
    def second_stack_bytes(self) -> int:
        """Stack of the second core, which calls the same kernels."""
        return self.stack_bytes if self.on_two_cores else 0

    @property
    def arena_bytes(self) -> int:
        return sum(arena.bytes for arena in self.arenas)

    @property
    def accepts_weights(self) -> bool:
        """True if cartridges contain only weights for the model's code."""
        return self.cartridges is not None and bool(self.structure)

    @property
    def accepts_tables(self) -> bool:
        """True if cartridges contain only tables that call kernels in the firmware."""
        return self.cartridges is not None and bool(self.kernels)

    @property
    def accepts_code_in_cartridges(self) -> bool:
        return self.cartridges is not None and not (self.accepts_weights or self.accepts_tables)

    @property
    def reports_counters(self) -> bool:
        """True if the server can report a model's counters."""
        return self.observes or self.others_observe

    @property
    def saves_states(self) -> bool:
        """True if the server can save and restore states: a model keeps some, or a cartridge's may."""
        return self.keeps_state or self.others_keep_state or self.accepts_code_in_cartridges

    @property
    def models(self) -> tuple[str, ...]:
        return self.name, *self.beside


def share_firmware(first: ProjectSource, others: Sequence[ProjectSource]) -> ProjectSource:
    """Joins several models in one firmware; its arena has the size of the largest. Raises InputError."""
    names = [name for source in (first, *others) for name in source.models]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(
            f'two of the models are named "{twice}", so their C names would clash',
            hint="a model is named after its file: rename one and compile it again",
        )
    foreign = next((source for source in others if source.c_flags != first.c_flags), None)
    if foreign is not None:
        raise InputError(
            f"{first.name} must be compiled with {' '.join(first.c_flags)}, "
            f"{foreign.name} with {' '.join(foreign.c_flags)}",
            hint="compile all of them with --optimize size, or none",
        )
    sources = (first, *others)
    return replace(
        first,
        sources=_together([source.sources for source in sources]),
        headers=_together([source.headers for source in sources]),
        arenas=_shared_arenas(sources),
        constants_in=_shared_constants(sources),
        stack_bytes=max(source.stack_bytes for source in sources),
        c_headers=frozenset().union(*(source.c_headers for source in sources)),
        beside=tuple(names[1:]),
        others_observe=any(source.reports_counters for source in others),
        others_keep_state=any(source.keeps_state or source.others_keep_state for source in others),
    )


def with_lenders(source: ProjectSource, lenders: Sequence[ProjectSource]) -> ProjectSource:
    """Adds kernels of further models, for tables to call. Raises InputError."""
    if not source.kernels:
        return source
    joined = share_firmware(source, lenders)
    without = next((lender.name for lender in lenders if not lender.kernels), None)
    if without is not None:
        raise InputError(
            f"tables cannot use the kernels of {without}", hint="compile it with deploy compile --tables"
        )
    return replace(
        source,
        sources=joined.sources,
        headers=joined.headers,
        c_headers=joined.c_headers,
        lenders={each.name: each.kernels for each in (source, *lenders)},
    )


def _together(files: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Merges the files of all models. Equal files are kept once. Raises InputError if contents differ."""
    found: dict[str, str] = {}
    for name, text in (entry for each in files for entry in each.items()):
        if found.setdefault(name, text) != text:
            raise InputError(
                f"two of the models come with different files {name}",
                hint="compile all of them with the same version of the source of these files",
            )
    return found


def _shared_arenas(sources: Sequence[ProjectSource]) -> tuple[Arena, ...]:
    """Merges the arenas of each region; each has the size of the largest. Raises InputError."""
    most = max((source.arenas for source in sources), key=len)
    for source in sources:
        theirs = [arena.region for arena in source.arenas]
        ours = [arena.region for arena in most[: len(theirs)]]
        if theirs not in (ours, [""]):
            raise InputError(
                f"{source.name} uses {' and '.join(theirs)}, "
                f"another model of this firmware {' and '.join(arena.region for arena in most)}",
                hint="compile all of them with the same --pool options",
            )
    sizes = [max(s.arenas[n].bytes for s in sources if len(s.arenas) > n) for n in range(len(most))]
    return tuple(replace(arena, bytes=size) for arena, size in zip(most, sizes, strict=True))


def _shared_constants(sources: Sequence[ProjectSource]) -> Mapping[str, int]:
    regions = sorted({region for source in sources for region in source.constants_in})
    return {region: sum(source.constants_in.get(region, 0) for source in sources) for region in regions}


_ELSEWHERE = "use a board with the platform baremetal, or the board host"


def require_no_functions(source: ProjectSource, platform: str) -> None:
    """Raises InputError if there are functions called by name, which the platform does not support."""
    if source.functions:
        where = ", ".join(source.functions)
        raise InputError(f"calling functions is not supported on the platform {platform}", where, _ELSEWHERE)


def require_no_cartridges(source: ProjectSource, platform: str) -> None:
    """Raises InputError if there are cartridge slots, which the platform does not support."""
    if source.cartridges:
        raise InputError(f"cartridges are not supported on the platform {platform}", hint=_ELSEWHERE)


def require_no_line_key(source: ProjectSource, platform: str) -> None:
    """Raises InputError if there is a line key, which the platform's server does not support."""
    if source.line_key:
        raise InputError(f"locking the line is not supported on the platform {platform}", hint=_ELSEWHERE)


def require_one_core(source: ProjectSource, platform: str) -> None:
    """Raises InputError for a dual-core model, which the platform's programs do not support."""
    if source.on_two_cores:
        raise InputError(
            f"{source.name} was compiled for 2 cores, but programs of the platform {platform} use 1",
            hint="compile with --cores 1, or use deploy new --platform baremetal",
        )


def project_source(artifact: Artifact) -> ProjectSource:
    """Extracts a project's part of a compiled model. Each of several input sizes becomes a model."""
    facts = artifact.facts
    source = ProjectSource(
        name=facts.name,
        sources=artifact.sources,
        headers=artifact.headers,
        arenas=facts.line_arenas,
        is_streamed=facts.options.stream,
        keeps_state=facts.keeps_state,
        constants_bytes=facts.constants_bytes,
        constants_in=facts.constants_in,
        stack_bytes=facts.stack_bytes_estimate,
        inputs=facts.inputs,
        outputs=facts.outputs,
        c_flags=facts.c_flags,
        model_hash=facts.model_hash,
        tool_version=facts.tool_version,
        c_headers=frozenset(facts.c_headers),
        structure=facts.structure,
        weights_bytes=facts.weights_bytes,
        kernels=facts.kernels,
        callers=facts.callers,
        observes=facts.options.observe,
        slides=facts.options.slide_rows is not None,
    )
    sizes = [project_source(each) for each in artifact.sizes]
    return share_firmware(source, sizes) if sizes else source
