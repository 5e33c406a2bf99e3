"""The table of the compiler's options. Each field describes one option completely."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from aot.backs.attach import read_back
from aot.fronts.attach import read_front
from aot.passes import DECIDED_BY_WEIGHTS
from aot.plan.model import Pool
from aot.target import Optimize
from codegen.accelerators.asked import AcceleratorList
from codegen.axis_sizes import Shapes, largest_shapes
from codegen.compile_kinds import (
    CONSTANTS,
    PASSES,
    POOLS,
    SHAPES,
    STATES,
    VALUES,
    Budget,
    ConstantRule,
    Limit,
    RegionLimit,
)
from codegen.kernels.strategy import UserSchedules
from codegen.levels import DEFAULT, LEVEL, LEVELS, Level
from codegen.option_entry import Option, WrittenWhen, option, options_of, read_given
from codegen.option_kinds import (
    Choice,
    Count,
    Declared,
    FilePath,
    OneOfNumbers,
    OnOff,
    Text,
)
from codegen.own_schedules import OwnScheduleList

if TYPE_CHECKING:
    from aot.frontend.declared import InputOverrides


class Rounding(Enum):
    """The reference that integer kernels match bit for bit."""

    AUTO = "auto"  # the runtime that usually runs such files; never in a job
    TFLM = "tflm"
    LITERT_REF = "litert-ref"
    ONNX = "onnx"


class CDialect(Enum):
    """The C dialect that compilers must support."""

    GNU = "gnu"
    STRICT = "strict"


TWO = 2  # cores


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """All user options of the compiler, except the target."""

    optimize: Optimize = option(
        Optimize.SPEED,
        Choice({goal.value: goal for goal in Optimize}),
        "--optimize",
        "Save speed, ram or size (flash) [speed]",
        group="Goal",
        is_main=True,
        in_head=WrittenWhen.ALWAYS,
        in_archive=WrittenWhen.ALWAYS,
    )
    level: int = option(
        DEFAULT,
        LEVEL,
        "--level",
        "How far to optimize, 0 to 3 [2]. 0: not at all, for a debugger; 1: plain C; 2: all kernels; 3: a "
        "solver "
        "improves the plan",
        group="Goal",
        is_main=True,
        short="-O",
    )
    rounding: Rounding = option(
        Rounding.AUTO,
        Choice({rounding.value: rounding for rounding in Rounding}),
        "--rounding",
        "Match tflm, litert-ref or onnx bit for bit [auto]. tflm: TensorFlow Lite Micro. litert-ref: "
        "LiteRT's reference kernels. onnx: ONNX Runtime. auto: onnx for quantized ONNX, litert-ref for "
        "uint8 TFLite, else tflm",
        group="Goal",
        is_main=True,
        in_head=WrittenWhen.ALWAYS,
        in_archive=WrittenWhen.ALWAYS,
        reads_model=True,
    )
    ram: Limit = option(
        None,
        Budget(),
        "--ram",
        "Limit the arena: 65536, 64KB, 1MB. Or limit arena and constants in single RAMs of the board: "
        "DTCM=48K,SRAM=100K",
        in_archive=WrittenWhen.ALWAYS,
        archive_key="ram_bytes",
        group="Memory",
        is_main=True,
    )
    flash: Limit = option(
        None,
        Budget(),
        "--flash",
        "Limit the flash for constants and kernels (estimated): 65536, 64KB, 1MB, or FLASH=1MB,QSPI=4MB",
        archive_key="flash_bytes",
        group="Memory",
    )
    is_thorough: bool = option(
        False,
        Choice({"quick": False, "thorough": True}),
        "--search",
        "How long to search for plans within --ram and --flash [quick]. thorough takes minutes and often "
        "saves some cycles",
        group="Memory",
    )
    rows: bool = option(
        True,
        Choice({"with rows": True, "without rows": False}),
        "",
        "whether tensors may be held row by row (off only for comparison)",
        in_archive=WrittenWhen.ALWAYS,
    )
    exact: bool = option(
        False,
        OnOff(),
        "--exact",
        "Let a solver improve the arena or prove it optimal",
        group="Memory",
        in_archive=WrittenWhen.ALWAYS,
    )
    pools: tuple[Pool, ...] = option(
        (),
        POOLS,
        "--pool",
        "Spread the arena over these RAMs, the busiest buffers in the fastest. Default: only if the "
        "fastest is too small",
        group="Memory",
        in_archive=WrittenWhen.ALWAYS,
    )
    constants: tuple[ConstantRule, ...] = option(
        (),
        CONSTANTS,
        "--constants",
        "Put constants of layers into a memory of the board: conv2d=ITCM, layer3=QSPI, *=DTCM",
        group="Memory",
        in_archive=WrittenWhen.ALWAYS,
    )
    place: bool = option(
        False,
        OnOff(),
        "--place",
        "Move constants that wait longest for flash into free RAM. --constants takes precedence",
        group="Memory",
    )
    weights_external: bool = option(
        False,
        Choice({"inside": False, "external": True}),
        "--weights",
        "Keep constants in the code (inside) or in a file that the program can replace after "
        "retraining (external) [inside]",
        group="Memory",
    )
    tables: bool = option(
        False,
        OnOff(),
        "--tables",
        "Build kernels that cartridges without code can call",
        group="Memory",
    )
    stream: bool = option(
        False,
        OnOff(),
        "--stream",
        "Push the input row by row. It never exists whole",
        group="Memory",
        is_main=True,
        in_archive=WrittenWhen.ALWAYS,
    )
    slide_rows: int | None = option(
        None,
        Count("ROWS"),
        "--slide",
        "Slide the model's window by this many rows. Each run takes only the new rows and computes only "
        "what they change. Same results as for the whole window. See 'deploy docs sliding'",
        group="Model",
        reads_model=True,
    )
    caller_owns_io: bool = option(
        False,
        Choice({"arena": False, "caller": True}),
        "--io",
        "Who owns inputs and outputs [arena]. In the arena, a run may overwrite an input; with "
        "caller, it does not",
        group="Memory",
        is_main=True,
        in_archive=WrittenWhen.ALWAYS,
    )
    shapes: Shapes = option(
        {},
        SHAPES,
        "--shape",
        "Set sizes that an ONNX file leaves open: x=1,3,32,32. Several sizes, chosen at run time: "
        "x=1..4,3,16/32,32",
        group="Model",
        is_main=True,
        in_archive=WrittenWhen.ALWAYS,
        archive_key="given.shapes",
        reads_model=True,
    )
    values: Mapping[str, tuple[float, ...]] = option(
        {},
        VALUES,
        "--value",
        "Fix an ONNX input that shapes depend on: axes=0,1",
        group="Model",
        in_archive=WrittenWhen.ALWAYS,
        archive_key="given.values",
        reads_model=True,
    )
    states: Mapping[str, str] = option(
        {},
        STATES,
        "--state",
        "Make an input a state that the next run finds as this output left it: h=hn. It begins at zero; "
        "the caller passes neither. auto takes all pairs with usual names, none leaves them to the caller",
        group="Model",
        reads_model=True,
    )
    front: str | None = option(
        None,
        Declared("what comes before the model", read_front),
        "--front",
        "Add preprocessing, named as in the training library. It becomes layers that read samples of "
        "a microphone (tf.signal.mfcc:sample_rate=16000,...) or pixels of a camera "
        "(tf.image:width=160,height=120,format=rgb565). See 'deploy docs front-ends'",
        group="Model",
        reads_model=True,
    )
    back: str | None = option(
        None,
        Declared("what comes after the model", read_back),
        "--back",
        "Add postprocessing that turns the output into a decision. "
        "classes:average=4,threshold=0.7,hold=8, anomaly:measure=rmse,threshold=2.5 or boxes "
        "(ultralytics.yolov8:conf=0.4,iou=0.5). See 'deploy docs front-ends'",
        group="Model",
        reads_model=True,
    )
    observe: bool = option(
        False,
        OnOff(),
        "--observe",
        "Count field statistics in 128 bytes of RAM: saturation, margin of the best class, entropy, "
        "input drift, time. run and monitor --decode show them",
    )
    name: str | None = option(
        None,
        Text("NAME"),
        "--name",
        "Base name of C files and symbols [the model's file name]",
        group="Model",
        reads_model=True,
    )
    tuning_records: Path | None = option(
        None,
        FilePath(),
        "--tuning-records",
        "Use the fastest knobs found by 'deploy tune'",
        group="Goal",
        in_head=WrittenWhen.NEVER,  # the header has "with tuning records" if a kernel follows one
        in_archive=WrittenWhen.NEVER,
    )

    accelerators: tuple[str, ...] = option(
        (),
        AcceleratorList(),
        "--accelerator",
        "Use an accelerator for layers it supports. See 'deploy accelerators'",
        group="Kernels",
        is_main=True,
    )

    schedules: tuple[UserSchedules, ...] = option(
        (),
        OwnScheduleList(),
        "--schedules",
        "Prefer custom schedules from a Python file",
        group="Kernels",
        in_archive=WrittenWhen.NEVER,  # its layers list their kernels
    )

    dialect: CDialect = option(
        CDialect.GNU,
        Choice({dialect.value: dialect for dialect in CDialect}),
        "--dialect",
        "C for gcc and clang (gnu) or standard C99 (strict) [gnu]. gnu uses attributes, intrinsics and "
        "assembly; strict is for other compilers and proof tools",
        group="Kernels",
    )

    approximate: bool = option(
        False,
        OnOff(),
        "--approximate",
        "Compute exp, tanh and sigmoid of floats within 3e-07, faster than the C library. Integers do "
        "not change",
        group="Goal",
    )

    half_weights: bool = option(
        False,
        OnOff(),
        "--half-weights",
        "Store float16 weights in 16 bits: half the flash, same results",
        group="Memory",
    )

    cores: int = option(
        1,
        OneOfNumbers({"1": 1, "2": TWO}),
        "--cores",
        "Split large layers across two cores [1]",
        group="Kernels",
    )

    disabled_passes: tuple[str, ...] = option(
        (),
        PASSES,
        "--disable",
        "Skip a graph pass, such as merge-tables. 'inspect --explain all' shows them",
    )

    check: bool = option(
        False,
        OnOff(),
        "--check",
        "Run every graph rewrite and custom schedule to prove it. verify on the host also detects "
        "accelerators that write outside their buffers",
        in_head=WrittenWhen.NEVER,
        in_archive=WrittenWhen.NEVER,
    )

    force: bool = option(
        False,
        OnOff(),
        "--force",
        "Build even if the estimates exceed the board. The linker decides",
        in_head=WrittenWhen.NEVER,
    )

    @property
    def input_overrides(self) -> InputOverrides:
        """Returns the user's settings of the model's inputs, with their largest sizes."""
        from aot.frontend.declared import InputOverrides

        return InputOverrides(largest_shapes(self.shapes), self.values)

    @property
    def ram_bytes(self) -> int | None:
        """Returns the limit of the whole arena, if the user gave one."""
        return None if isinstance(self.ram, tuple) else self.ram

    @property
    def flash_bytes(self) -> int | None:
        """Returns the limit of constants and kernels in all memories together, if the user gave one."""
        return None if isinstance(self.flash, tuple) else self.flash

    def region_limits(self, role: str) -> tuple[RegionLimit, ...]:
        """Returns the limits of single memories of that role: "ram" or "flash"."""
        limit = self.ram if role == "ram" else self.flash
        return limit if isinstance(limit, tuple) else ()

    @property
    def at_level(self) -> Level:
        return LEVELS[self.level]

    @property
    def left_out_passes(self) -> frozenset[str]:
        """Returns the passes that do not run: the level's, and those disabled by the user."""
        decided = DECIDED_BY_WEIGHTS if self.weights_external else frozenset()
        return self.at_level.left_out(self.stream).union(self.disabled_passes, decided)

    @property
    def interleaves_rows(self) -> bool:
        """Returns True if layers may be interleaved row by row."""
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
    """Returns `start` with the given options, of those in `names`. Raises InputError, TypeError."""
    return read_given(start, {name: OPTIONS[name] for name in names}, given)


def words_of(options: CompileOptions) -> Iterator[str]:
    """Yields the command line arguments of all options that differ from their defaults."""
    for each in OPTIONS.values():
        value = getattr(options, each.field)
        if value != each.default:
            for word in each.kind.words(value):
                yield from (each.flag, word) if word else (each.flag,)
