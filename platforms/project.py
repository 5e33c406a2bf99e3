"""The part of a compiled model that a platform makes a project of: its C files and the facts for main.c."""

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


class App(Enum):
    """The purpose of the firmware."""

    RPC = "rpc"  # serves the model over the line
    STANDALONE = "standalone"  # runs the model once and prints its outputs: a start for one's own main.c
    KWS = "kws"  # listens for words
    MOTION = "motion"  # knows movements
    ANOMALY = "anomaly"  # tells what is not normal
    IMAGE = "image"  # knows what is in a camera's pictures
    DETECT = "detect"  # finds things in a camera's pictures


@dataclass(frozen=True, slots=True)
class Slots:
    """The room that firmware has for cartridges, which replace its model."""

    slot_bytes: int  # of each of two
    public_key: bytes = b""  # of those who may make them; b"": anybody
    model: Identity = field(default_factory=Identity)  # of the one that is built in
    takes_older: bool = False  # than the one that runs
    verifier: str = "own"  # of VERIFIERS, for signatures


class SensorKind(Enum):
    """The rows that a sensor gives; the value names the reader of their files."""

    SOUND = "sound"  # samples of 16 bits
    PICTURE = "picture"  # bytes of a camera's pixels
    NUMBERS = "numbers"  # any: the rows of the model's input as they are


@dataclass(frozen=True, slots=True)
class CameraForm:
    """The pictures of a camera."""

    width: int
    height: int
    form: PixelForm
    seen: Crop  # the part that the model looks at


@dataclass(frozen=True, slots=True)
class Recording:
    """A sensor's rows in the firmware."""

    title: str
    rows: tuple[str, ...]  # in C: the elements of each


@dataclass(frozen=True, slots=True)
class SensorPipeline:
    """The way of a sensor's rows to a streamed model, and to what it decides of them."""

    sensor: SensorKind
    rate_hz: int  # of samples or pictures, else of rows; 0 where nobody has said it
    window_rows: int  # of one run
    row_elements: int
    window_us: int  # the time that they take, 0: not known
    labels: tuple[str, ...]  # of classes
    has_threshold: bool  # whether the error from which on there is an anomaly is known
    arenas: tuple[Arena, ...]  # of one window: without the room that a line needs behind them
    lanes: int  # windows that are open at a time, each in arenas of its own
    camera: CameraForm | None = None
    most_boxes: int = 0  # in a picture, where boxes are found
    recording: Recording | None = None


@dataclass(frozen=True, slots=True)
class ProjectSource:
    """The part of a compiled model that a project holds."""

    name: str  # a C identifier in lower case, such as "kws"
    sources: Mapping[str, str]  # "kws.c", "kws_weights.c", "kws_describe.c" -> text
    headers: Mapping[str, str]  # "kws.h" -> text
    arenas: tuple[Arena, ...]  # as the line needs them: with room for a streamed input as a whole
    is_streamed: bool
    keeps_state: bool  # from run to run, in the arena
    constants_bytes: int
    constants_in: Mapping[str, int]  # of them by region, where it is not the code's
    stack_bytes: int  # estimated need of <model>_run
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    c_flags: tuple[str, ...]  # how the model's own files want to be compiled
    model_hash: str  # hex
    tool_version: str
    c_headers: frozenset[str] = frozenset()  # that its files include beside their own
    structure: str = ""  # of its code, where its weights are external
    weights_bytes: int = 0  # external ones
    kernels: tuple[str, ...] = ()  # that tables can run
    lenders: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict
    )  # others whose kernels they can: theirs
    callers: tuple[TensorInfo, ...] = ()  # of the inputs and outputs: they lie in memory of the program's own
    beside: tuple[str, ...] = ()  # other models in the same firmware: they share the arena
    functions: Mapping[str, str] = field(default_factory=dict)  # C files whose functions are called by name
    cartridges: Slots | None = None  # None: the firmware takes no other models
    line_key: bytes = b""  # that the server asks for before it answers anything; b"": none
    takes_code: bool = False  # over the line: anyone who reaches it can then run any program on the board
    pipeline: SensorPipeline | None = None  # of the apps that run a model on a sensor's rows
    observes: bool = False  # the model counts what its runs say of themselves
    others_observe: bool = False  # one of those beside it does

    @property
    def on_two_cores(self) -> bool:
        """True where it, or a model beside it, has layers that two cores compute."""
        return f"{CORES}.h" in self.headers

    @property
    def second_stack_bytes(self) -> int:
        """The second core's stack: it calls the same kernels."""
        return self.stack_bytes if self.on_two_cores else 0

    @property
    def arena_bytes(self) -> int:
        return sum(arena.bytes for arena in self.arenas)

    @property
    def takes_weights(self) -> bool:
        """True where cartridges have no code: the model's own stays, and weights come to it."""
        return self.cartridges is not None and bool(self.structure)

    @property
    def takes_tables(self) -> bool:
        """True where cartridges have no code: tables that run the kernels of models in the firmware."""
        return self.cartridges is not None and bool(self.kernels)

    @property
    def takes_code_in_cartridges(self) -> bool:
        return self.cartridges is not None and not (self.takes_weights or self.takes_tables)

    @property
    def tells_counters(self) -> bool:
        """True where the server can be asked for what a model has counted."""
        return self.observes or self.others_observe

    @property
    def models(self) -> tuple[str, ...]:
        return self.name, *self.beside


def share_firmware(first: ProjectSource, others: Sequence[ProjectSource]) -> ProjectSource:
    """Joins several models in one firmware, whose arena is the largest of theirs. Raises InputError."""
    names = [name for source in (first, *others) for name in source.models]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(
            f'two of the models are called "{twice}": their C names would be the same',
            hint="a model is called as its file: rename one and compile it again",
        )
    foreign = next((source for source in others if source.c_flags != first.c_flags), None)
    if foreign is not None:
        raise InputError(
            f"{first.name} wants to be compiled with {' '.join(first.c_flags)}, "
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
        others_observe=any(source.tells_counters for source in others),
    )


def with_lenders(source: ProjectSource, lenders: Sequence[ProjectSource]) -> ProjectSource:
    """The same firmware with the kernels of further models, which tables run. Raises InputError."""
    if not source.kernels:
        return source
    joined = share_firmware(source, lenders)
    without = next((lender.name for lender in lenders if not lender.kernels), None)
    if without is not None:
        raise InputError(
            f"tables cannot run the kernels of {without}", hint="deploy compile --tables makes them so"
        )
    return replace(
        source,
        sources=joined.sources,
        headers=joined.headers,
        c_headers=joined.c_headers,
        lenders={each.name: each.kernels for each in (source, *lenders)},
    )


def _together(files: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The files of all models; those that several have, such as an accelerator's, once. Raises InputError."""
    found: dict[str, str] = {}
    for name, text in (entry for each in files for entry in each.items()):
        if found.setdefault(name, text) != text:
            raise InputError(
                f"two of the models come with different files {name}",
                hint="compile all of them by one version of what they come from",
            )
    return found


def _shared_arenas(sources: Sequence[ProjectSource]) -> tuple[Arena, ...]:
    """Joins the arenas of each region, as large as the largest model's there. Raises InputError."""
    most = max((source.arenas for source in sources), key=len)
    for source in sources:
        theirs = [arena.region for arena in source.arenas]
        ours = [arena.region for arena in most[: len(theirs)]]
        if theirs not in (ours, [""]):
            raise InputError(
                f"{source.name} works in {' and '.join(theirs)}, "
                f"another model of this firmware in {' and '.join(arena.region for arena in most)}",
                hint="compile all of them with the same --pool options",
            )
    sizes = [max(s.arenas[n].bytes for s in sources if len(s.arenas) > n) for n in range(len(most))]
    return tuple(replace(arena, bytes=size) for arena, size in zip(most, sizes, strict=True))


def _shared_constants(sources: Sequence[ProjectSource]) -> Mapping[str, int]:
    regions = sorted({region for source in sources for region in source.constants_in})
    return {region: sum(source.constants_in.get(region, 0) for source in sources) for region in regions}


_ELSEWHERE = "a board with the platform baremetal, or the board host"


def require_no_functions(source: ProjectSource, platform: str) -> None:
    """Raises InputError for functions by name, which the platform has not."""
    if source.functions:
        where = ", ".join(source.functions)
        raise InputError(f"functions are not called by name on the platform {platform}", where, _ELSEWHERE)


def require_no_cartridges(source: ProjectSource, platform: str) -> None:
    """Raises InputError for cartridges, which the platform does not take."""
    if source.cartridges:
        raise InputError(f"cartridges are not taken on the platform {platform}", hint=_ELSEWHERE)


def require_no_line_key(source: ProjectSource, platform: str) -> None:
    """Raises InputError for a line key, which the platform's server cannot ask for."""
    if source.line_key:
        raise InputError(f"the line cannot be locked on the platform {platform}", hint=_ELSEWHERE)


def require_one_core(source: ProjectSource, platform: str) -> None:
    """Raises InputError for a model on two cores, of which the platform's programs use one."""
    if source.on_two_cores:
        raise InputError(
            f"{source.name} was compiled for 2 cores, and programs of the platform {platform} use 1",
            hint="--cores 1, or the platform baremetal: deploy new --platform baremetal",
        )


def project_source(artifact: Artifact) -> ProjectSource:
    """Extracts the part of a compiled model that a project holds; of several sizes, each is a model."""
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
    )
    sizes = [project_source(each) for each in artifact.sizes]
    return share_firmware(source, sizes) if sizes else source
