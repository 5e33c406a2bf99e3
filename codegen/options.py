"""The table of the compiler's options: each field says all of its option, and all else reads it there."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from enum import Enum
from pathlib import Path

from aot.backs.table import read_back
from aot.frontend.input_overrides import InputOverrides
from aot.fronts.table import read_front
from aot.passes import DECIDED_BY_WEIGHTS
from aot.plan.model import Pool
from aot.records import dataclass
from aot.target import Optimize
from codegen.accelerators.asked import AcceleratorList
from codegen.axis_sizes import Shapes, largest_shapes
from codegen.compile_kinds import CONSTANTS, PASSES, POOLS, SHAPES, VALUES, ConstantRule
from codegen.kernels.schedules_outside import OwnSchedules
from codegen.levels import DEFAULT, LEVEL, LEVELS, Level
from codegen.option_entry import Option, WrittenWhen, option, options_of
from codegen.option_kinds import (
    Choice,
    Declared,
    FilePath,
    OneOfNumbers,
    OnOff,
    Size,
    Text,
)
from codegen.option_reading import read_given
from codegen.own_schedules import OwnScheduleList


class Rounding(Enum):
    """The reference that the integer kernels equal bit for bit."""

    TFLM = "tflm"
    LITERT_REF = "litert-ref"
    ONNX = "onnx"


class CDialect(Enum):
    """The C that compilers must understand."""

    GNU = "gnu"
    STRICT = "strict"


TWO = 2  # cores


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """All that a user may ask of the compiler, beside the target."""

    optimize: Optimize = option(
        Optimize.SPEED,
        Choice({goal.value: goal for goal in Optimize}),
        "--optimize",
        "what to minimise: time (speed, the default), flash (size) or RAM (ram)",
        in_head=WrittenWhen.ALWAYS,
        in_archive=WrittenWhen.ALWAYS,
    )
    level: int = option(
        DEFAULT,
        LEVEL,
        "--level",
        "how far code may be optimised: 0 (not at all, for a debugger), 1 (plain C), 2 (the default) or 3 (a "
        "solver also improves the plan); --optimize says what to minimise",
        short="-O",
    )
    rounding: Rounding = option(
        Rounding.TFLM,
        Choice({rounding.value: rounding for rounding in Rounding}),
        "--rounding",
        "whose rounding to follow: TFLite Micro's (the default), that of LiteRT's reference kernels, or for "
        "ONNX models ONNX Runtime's, which takes longer",
        in_head=WrittenWhen.ALWAYS,
        in_archive=WrittenWhen.ALWAYS,
        reads_model=True,
    )
    ram_bytes: int | None = option(
        None, Size(), "--ram", "the arena's limit: 65536, 64KB, 1MB", in_archive=WrittenWhen.ALWAYS
    )
    rows: bool = option(
        True,
        Choice({"with rows": True, "without rows": False}),
        "",
        "whether tensors may be held row by row; without, only to compare with",
        in_archive=WrittenWhen.ALWAYS,
    )
    exact: bool = option(
        False,
        OnOff(),
        "--exact",
        "let a solver improve the placement in the arena, or prove that none is smaller",
        in_archive=WrittenWhen.ALWAYS,
    )
    pools: tuple[Pool, ...] = option(
        (),
        POOLS,
        "--pool",
        "spread the arena over these memories of the board, what is used most in the fastest; "
        "without it that is done where the fastest is too small",
        in_archive=WrittenWhen.ALWAYS,
    )
    constants: tuple[ConstantRule, ...] = option(
        (),
        CONSTANTS,
        "--constants",
        "put the constants of some layers into a memory of the board: conv2d=ITCM, layer3=QSPI, *=DTCM",
        in_archive=WrittenWhen.ALWAYS,
    )
    place: bool = option(
        False,
        OnOff(),
        "--place",
        "move layers' constants into free RAM, first those that wait longest for flash; layers named by "
        "--constants stay where it puts them",
    )
    weights_external: bool = option(
        False,
        Choice({"inside": False, "external": True}),
        "--weights",
        "keep the model's constants in its code (inside, the default) or outside it (external), where the "
        "program can replace them after retraining",
    )
    tables: bool = option(
        False,
        OnOff(),
        "--tables",
        "build firmware whose kernels tables can run: cartridges without code, which hold the order of the "
        "layers and their constants",
    )
    stream: bool = option(
        False,
        OnOff(),
        "--stream",
        "take the input row by row, so that it need not exist as a whole",
        in_archive=WrittenWhen.ALWAYS,
    )
    io_apart: bool = option(
        False,
        Choice({"arena": False, "caller": True}),
        "--io",
        "whether inputs and outputs lie in the arena, where a run may overwrite the inputs, or in memory of "
        "the caller's, such as a camera's",
        in_archive=WrittenWhen.ALWAYS,
    )
    shapes: Shapes = option(
        {},
        SHAPES,
        "--shape",
        "an input's sizes, where an ONNX file leaves them open: x=1,3,32,32; or several, of which one is "
        "chosen when the model runs: x=1..4,3,32,32 or x=1,3,16/32,32",
        in_archive=WrittenWhen.ALWAYS,
        archive_key="given.shapes",
        reads_model=True,
    )
    values: Mapping[str, tuple[float, ...]] = option(
        {},
        VALUES,
        "--value",
        "a fixed value for an input of an ONNX file that other shapes depend on: axes=0,1",
        in_archive=WrittenWhen.ALWAYS,
        archive_key="given.values",
        reads_model=True,
    )
    front: str | None = option(
        None,
        Declared("what stands before the model", read_front),
        "--front",
        "preprocessing, named as in the library that trained the model; it becomes layers that take a "
        "microphone's samples or a camera's pixels: tf.signal.mfcc:sample_rate=16000,frame_length=480,"
        "frame_step=320, or tf.image:width=160,height=120,format=rgb565",
        reads_model=True,
    )
    back: str | None = option(
        None,
        Declared("what stands behind the model", read_back),
        "--back",
        "postprocessing that turns the output into a decision; it becomes layers: "
        "classes:average=4,threshold=0.7,hold=8, anomaly:measure=rmse,threshold=2.5, or boxes in a picture: "
        "ultralytics.yolov8:conf=0.4,iou=0.5,max_det=10",
        reads_model=True,
    )
    observe: bool = option(
        False,
        OnOff(),
        "--observe",
        "count statistics of runs in the field, in 128 bytes of RAM: saturated results, the lead of the best "
        "class, entropy, drift of the input, run times; run and monitor --decode show them",
    )
    name: str | None = option(
        None,
        Text("NAME"),
        "--name",
        "base name of the C files and global symbols (default: the model file's name)",
        reads_model=True,
    )
    tuning_records: Path | None = option(
        None,
        FilePath(),
        "--tuning-records",
        "what deploy tune wrote: the fastest knobs are used",
        in_head=WrittenWhen.NEVER,  # it says "with tuning records" where a kernel follows one
        in_archive=WrittenWhen.NEVER,
    )

    accelerators: tuple[str, ...] = option(
        (),
        AcceleratorList(),
        "--accelerator",
        "let this accelerator compute what it can; deploy accelerators lists them, and their options",
    )

    schedules: tuple[OwnSchedules, ...] = option(
        (),
        OwnScheduleList(),
        "--schedules",
        "a Python file with schedules of your own for layers, which are taken first where they fit",
        in_archive=WrittenWhen.NEVER,  # its layers say which kernel they have
    )

    dialect: CDialect = option(
        CDialect.GNU,
        Choice({dialect.value: dialect for dialect in CDialect}),
        "--dialect",
        "gnu, the default, has attributes, intrinsics and inline assembly of gcc and clang where they make a "
        "model faster; strict is standard C99 alone, for other compilers and for tools that prove C",
    )

    approximate: bool = option(
        False,
        OnOff(),
        "--approximate",
        "compute exp, tanh and sigmoid of floats, and so softmax and the gates of LSTM and GRU, by "
        "polynomials within 3e-07 of their values, which are faster than the C library's; integers stay as "
        "they are",
    )

    half_weights: bool = option(
        False,
        OnOff(),
        "--half-weights",
        "keep weights of models of half precision, float16, in 16 bits: half the flash; each becomes a "
        "number of 32 bits when it is read, and results stay the same",
    )

    cores: int = option(
        1,
        OneOfNumbers({"1": 1, "2": TWO}),
        "--cores",
        "how many cores of the board compute the model: with 2, each step of a layer with work enough is cut "
        "in halves, and outputs stay the same",
    )

    disabled_passes: tuple[str, ...] = option(
        (),
        PASSES,
        "--disable",
        "leave out a rewriting of the graph, such as merge-tables; inspect --explain all shows them",
    )

    check: bool = option(
        False,
        OnOff(),
        "--check",
        "prove each rewriting of the graph, and each schedule of your own, by running what it changed; "
        "verify on the host also looks whether accelerators write outside their buffers",
        in_head=WrittenWhen.NEVER,
        in_archive=WrittenWhen.NEVER,
    )

    force: bool = option(
        False,
        OnOff(),
        "--force",
        "go on where there is no room by the estimates of code and stack alone: the linker has the last word",
        in_head=WrittenWhen.NEVER,
    )

    @property
    def input_overrides(self) -> InputOverrides:
        """All that the user says of the model's inputs, where they are largest."""
        return InputOverrides(largest_shapes(self.shapes), self.values)

    @property
    def at_level(self) -> Level:
        return LEVELS[self.level]

    @property
    def left_out_passes(self) -> frozenset[str]:
        """The passes that do not run: the level's, and those that the user names."""
        decided = DECIDED_BY_WEIGHTS if self.weights_external else frozenset()
        return self.at_level.left_out(self.stream).union(self.disabled_passes, decided)

    @property
    def takes_turns(self) -> bool:
        """True where layers may run row by row in turns."""
        return self.rows and (self.at_level.has_rows or self.stream)

    @property
    def has_solver(self) -> bool:
        return self.exact or self.at_level.is_exact


ALL_OPTIONS = options_of(CompileOptions)
OPTIONS: Mapping[str, Option] = {each.name: each for each in ALL_OPTIONS if each.flag}  # by keyword


def read_options(
    given: Mapping[str, object],
    start: CompileOptions = CompileOptions(),
    names: Collection[str] = OPTIONS,
) -> CompileOptions:
    """`start` with what is given of the options with these names. Raises InputError, TypeError."""
    return read_given(start, {name: OPTIONS[name] for name in names}, given)


def words_of(options: CompileOptions) -> Iterator[str]:
    """The options on the command line that are not as they are where none is given."""
    for each in OPTIONS.values():
        value = getattr(options, each.field)
        if value != each.default:
            for word in each.kind.words(value):
                yield from (each.flag, word) if word else (each.flag,)
