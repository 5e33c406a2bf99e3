"""Which layers an accelerator computes is measured, kept as records, and what compiling goes by."""

import json
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path

import pytest

import deploy.demo
from aot.errors import DeployError
from aot.target import Target
from codegen.accelerators.choice import ON_CPU, ON_DEVICE
from codegen.compile import compile_job
from codegen.job import Job, import_model
from codegen.kernels.knobs import Point
from codegen.kernels.tuning_records import read_records
from codegen.options import CompileOptions
from deploy.compiler.accelerator_tasks import DeviceTask, chosen_devices, device_tasks
from deploy.compiler.measured_choice import choose_devices
from platforms.tuning.record_file import RecordFile
from platforms.tuning.search import Setting

DIGITS = Path(deploy.demo.__file__).parent / "digits.tflite"
SETTING = Setting("cortex-m4", "gcc", "board", "instructions", "0", lambda ticks: ticks, lambda: "now")
FIRST = "vanilla:conv2d 1x8x8x1 8x3x3x1 8 -> 1x8x8x8 i8"
SECOND = "vanilla:conv2d 1x8x8x8 24x1x1x8 24 -> 1x8x8x24 i8"
NAMES = ("a", "b", "c")
Points = Mapping[str, Point]


def job(tuned: Points | None = None) -> Job:
    options = CompileOptions(accelerators=("vanilla",))
    return Job(import_model(DIGITS, options), Target("cortex-m4"), options, tuned or {})


@pytest.fixture
def file(tmp_path):
    found = RecordFile(tmp_path / "records.jsonl")
    yield found
    found.close()


class Model:
    """A run whose layers cost so much on the device and on the CPU, and 5 more where the two meet."""

    def __init__(self, device: tuple[int, ...], cpu: tuple[int, ...]) -> None:
        self.costs, self.runs = (device, cpu), 0

    def __call__(self, points: Points) -> int:
        self.runs += 1
        sides = [points.get(name, ON_DEVICE) == ON_CPU for name in NAMES]
        meets = sum(a != b for a, b in pairwise(sides))
        return 100 + 5 * meets + sum(self.costs[side][n] for n, side in enumerate(sides))


def choose(model: Callable[[Points], int], file: RecordFile, most: int = 99) -> tuple[int, str]:
    """How many runs were measured, and the tasks whose layers compiling then leaves to the CPU."""
    tasks = []
    for name in NAMES:
        known = [each.knobs for each in file.records if each.task == name]
        tasks.append(DeviceTask(name, 1, measured=(ON_DEVICE in known) + (ON_CPU in known)))
    done = choose_devices(tasks, model, file, SETTING, most)
    chosen = chosen_devices(file.records, SETTING)
    return done, "".join(name for name in NAMES if chosen.get(name) == ON_CPU)


@pytest.mark.parametrize(
    ("device", "cpu", "left"),
    [
        ((10, 10, 10), (20, 20, 20), ""),
        ((20, 20, 20), (10, 10, 10), "abc"),
        ((90, 10, 10), (10, 20, 20), "a"),
        ((20, 20, 20), (60, 19, 60), ""),  # b alone would gain 1 and lose 10 where the two meet
        ((10, 50, 50), (60, 10, 10), "bc"),
    ],
)
def test_each_layer_goes_where_the_whole_run_is_fastest(device, cpu, left, file):
    assert choose(Model(device, cpu), file)[1] == left


def test_what_was_measured_is_not_measured_again(file):
    model = Model((10, 50, 50), (60, 10, 10))
    assert choose(model, file, most=3) == (3, "bc")
    assert choose(model, file)[0] == 4  # all on the device, where the records ended, and two more
    assert choose(model, file) == (0, "bc")
    assert model.runs == 7


def test_a_layer_that_fails_on_the_cpu_stays_where_it_is(file):
    model = Model((90, 90, 90), (10, 10, 10))

    def failing(points: Points) -> int:
        if points.get("b") == ON_CPU:
            raise DeployError("wrong result: 1 of 4 elements")
        return model(points)

    assert choose(failing, file)[1] == "ac"
    assert {each.error for each in file.records if each.task == "b"} == {"", "wrong result: 1 of 4 elements"}


def test_a_layer_is_left_to_the_cpu_where_a_record_says_so():
    assert [task.name for task in device_tasks(job(), (), SETTING)] == [SECOND, FIRST]
    made = compile_job(job({FIRST: ON_CPU, SECOND: ON_DEVICE}))
    convolutions = [layer for layer in made.layers if layer.op == "conv2d"]
    assert [layer.device for layer in convolutions] == ["", "vanilla"]
    assert convolutions[0].stays == ("vanilla: the CPU was measured faster",)


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_the_command_chooses_first_and_tunes_what_is_on_the_cpu_then(run_deploy, tmp_path):
    path = tmp_path / "digits.jsonl"
    asked = (DIGITS, "--board", "mps2-an386", "--accelerator", "vanilla")
    outcome = run_deploy("tune", *asked, "-o", path, "--trials", 5, "--tuner", "random", "--json")
    assert outcome.status == 0, outcome.err
    facts = json.loads(outcome.out)
    assert [(each["task"], each["stays_on_cpu"]) for each in facts["devices"]] == [
        (SECOND, True),
        (FIRST, True),
    ]
    assert any(task["task"].startswith("conv2d") for task in facts["tasks"])
    records = read_records(path)
    assert sum(record.task.startswith("vanilla:") for record in records) == len(records) - 1 == 6
    compiled = run_deploy("compile", *asked, "-o", tmp_path / "a.tar", "--tuning-records", path)
    assert "  on the CPU         2 layers: measured faster there\n" in compiled.out
    assert "for kernels that are not in this model" not in compiled.out
