"""Each option of the compiler is known to commands, Python, heads of files, archives and their schema."""

import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from tiny_models import TINY

import deploy
from aot.frontend.load import parse_model
from aot.target import Target
from artifact.facts import decode, encode
from artifact.metadata import options_schema
from codegen.c.provenance import made_by
from codegen.job import ImportedModel, Job
from codegen.option_entry import Option, WrittenWhen, options_of, read_given
from codegen.option_entry import option as an_option
from codegen.option_kinds import Size
from codegen.options import ALL_OPTIONS, OPTIONS, CompileOptions, Rounding, read_options
from deploy.__main__ import main
from deploy.cli.command import command_parser, load_command
from deploy.cli.options import compile_options, data_options, line_options
from deploy.devices.connection_options import LINE, LineOptions
from deploy.inputs.input_options import DATA, DataOptions, Fill

_TILED = Path(__file__).parents[1] / "plugin" / "package" / "solder_example" / "tiled.py"
# For each option a word that is not its default, and the same as one would write it in Python.
SAMPLES: dict[str, tuple[str, object]] = {
    "optimize": ("ram", "ram"),
    "level": ("0", 0),
    "accelerator": ("vanilla", ["vanilla"]),
    "rounding": ("litert-ref", "litert-ref"),
    "ram": ("64KB", 65536),
    "flash": ("FLASH=100KB", {"FLASH": "100KB"}),
    "search": ("thorough", "thorough"),
    "exact": ("", True),
    "pool": ("DTCM=64K", {"DTCM": "64K"}),
    "constants": ("conv2d=ITCM", {"conv2d": "ITCM"}),
    "place": ("", True),
    "weights": ("external", "external"),
    "stream": ("", True),
    "tables": ("", True),
    "slide": ("2", 2),
    "io": ("caller", "caller"),
    "shape": ("x=1,3,32,32", {"x": (1, 3, 32, 32)}),
    "value": ("axes=0,1", {"axes": (0, 1)}),
    "state": ("h=hn", {"h": "hn"}),
    "front": (
        "tf.signal.log_mel:sample_rate=16000,frame_length=64,frame_step=32,num_mel_bins=8",
        {
            "name": "tf.signal.log_mel",
            "sample_rate": 16000,
            "frame_length": 64,
            "frame_step": 32,
            "num_mel_bins": 8,
        },
    ),
    "back": ("classes:average=4", {"name": "classes", "average": 4}),
    "observe": ("", True),
    "name": ("my_model", "my_model"),
    "tuning_records": ("kws.jsonl", Path("kws.jsonl")),
    "schedules": (str(_TILED), [_TILED]),
    "approximate": ("", True),
    "half_weights": ("", True),
    "cores": ("2", 2),
    "dialect": ("strict", "strict"),
    "disable": ("merge-tables", ["merge-tables"]),
    "check": ("", True),
    "force": ("", True),
}
HEAD_WORDS = {
    "ram": "65536",
    "flash": "FLASH=102400",
    "pool": "DTCM=65536",
}  # where they are not the words that were given
COMPILING = {  # words of a command that compiles, and of those the options it does not take
    "compile": (["m", "--board", "host", "-o", "a.tar"], set()),
    "inspect": (["m"], set()),
    "run": (["m", "--board", "host", "--inputs", "i.npz"], set()),
    "verify": (["m", "--board", "host"], set()),
    "bench": (["m", "--board", "host"], set()),
    "flash": (["m", "--board", "host"], set()),
    "monitor": (["m", "--board", "host"], set()),
    "tune": (["m", "--board", "host"], {"tuning_records"}),  # it makes them
    "boards": (
        ["--fits", "m"],
        {"ram", "flash", "pool", "constants", "place", "tuning_records", "force", "name"},
    ),  # of one board
    "export": (["m", "--as", "cmake", "--board", "host", "-o", "out"], set()),
    "report": (["m", "--board", "host"], set()),
    "evidence": (["m", "--board", "host"], set()),
    "explore": (["m", "--board", "host", "--jobs", "1"], set()),
}
FUNCTIONS = {
    "load": set(OPTIONS) - {"rounding", "shape", "value", "state", "front", "back", "name", "slide"},
    "compile": set(),
    "inspect": set(),
    "run": set(),
    "verify": set(),
    "bench": set(),
    "in_process": set(),
    "flash": set(),
    "tune": {"tuning_records"},
    "export": set(),
    "report": set(),
    "evidence": set(),
    "explore": set(),
    "connect": set(),
}
LINE_SAMPLES = {
    "runner": "qemu",
    "serial": "0123",
    "port": "/dev/ttyACM0",
    "trace": "t.txt",
    "deadline": "0.5",
    "line_key": "line.key",
}
REACHING = {  # words of a command that reaches a board, and which of the options it takes
    "run": (["m", "--board", "host", "--inputs", "i.npz"], set(LINE)),
    "verify": (["m", "--board", "host"], set(LINE)),
    "bench": (["m", "--board", "host"], set(LINE)),
    "tune": (["m", "--board", "host"], {"runner", "serial", "port"}),
    "flash": (["p"], {"runner", "serial", "port"}),
    "monitor": (["p"], {"runner", "serial", "port"}),
}
# A new option fails one test until it has a sample, not all of them.
SAMPLED = {name: option for name, option in OPTIONS.items() if name in SAMPLES}
EVERY = pytest.mark.parametrize("option", SAMPLED.values(), ids=lambda option: option.name)


def flag_words(option: Option) -> list[str]:
    word = SAMPLES[option.name][0]
    return [option.flag, *([word] if word else [])]


def sample(option: Option) -> CompileOptions:
    return read_options({option.name: SAMPLES[option.name][1]})


def test_each_field_is_an_option():
    assert [option.field for option in ALL_OPTIONS] == [field.name for field in fields(CompileOptions)]


def test_each_option_has_a_sample():
    assert SAMPLES.keys() == OPTIONS.keys(), (
        "add a line to SAMPLES for a new option; remove that of a removed one"
    )


@EVERY
def test_an_option_has_a_sample_that_is_not_its_default(option):
    assert getattr(sample(option), option.field) != option.default


@pytest.mark.parametrize("command", COMPILING)
def test_each_command_that_compiles_takes_every_option(command):
    words, lacks = COMPILING[command]
    parser = command_parser(command, load_command(command))
    taken = [option for option in SAMPLED.values() if option.name not in lacks]
    read = [compile_options(parser.read([*words, *flag_words(option)])) for option in taken]
    assert read == [sample(option) for option in taken]
    assert not {f"option_{name}" for name in lacks} & {action.dest for action in parser._actions}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_each_function_that_compiles_shows_every_option(function):
    shown, taken = getattr(deploy, function), set(OPTIONS) - FUNCTIONS[function]
    said = inspect.getdoc(shown) or ""
    parameters = set(inspect.signature(shown).parameters)
    assert parameters & set(OPTIONS) == taken
    lines = [line for line in said.splitlines() if line.startswith("    ")]
    assert {name for name in OPTIONS if any(line.startswith(f"    {name}: ") for line in lines)} == taken
    assert all(any(line.endswith(OPTIONS[name].help) for line in lines) for name in taken)


def head(options: CompileOptions) -> str:
    """What a generated file says of its making, on one line."""
    model = ImportedModel(parse_model(TINY["classifier"](), "m"), "m", "0" * 64, "m")
    return " ".join(made_by("s", Job(model, Target("c"), options), False).split())


@EVERY
def test_the_head_has_it_as_the_command_line_would(option):
    told = head(sample(option))
    word = HEAD_WORDS.get(option.name, SAMPLES[option.name][0])
    assert (f"{option.flag} {word}".strip() in told) == (option.in_head is not WrittenWhen.NEVER)


def test_a_head_says_nothing_of_other_defaults():
    assert head(CompileOptions()).endswith("for c: --optimize speed --rounding tflm.")


@pytest.mark.parametrize("option", ALL_OPTIONS, ids=lambda option: option.field)
def test_the_schema_has_it_where_archives_do(option):
    place: Any = options_schema(ALL_OPTIONS)
    for key in option.archive_path:
        assert (key in place["required"]) == (option.in_archive is WrittenWhen.ALWAYS)
        place = place["properties"].get(key, {"required": (), "properties": {}})
    assert place.get("required") != () or option.in_archive is WrittenWhen.NEVER


@EVERY
def test_an_archive_gives_it_back(option):
    document = json.loads(json.dumps(encode(sample(option))))
    assert not list(Draft202012Validator(options_schema(ALL_OPTIONS)).iter_errors(document))
    kept = CompileOptions() if option.in_archive is WrittenWhen.NEVER else sample(option)
    assert decode(CompileOptions, document) == kept


def test_an_option_that_came_later_is_written_only_where_it_is_set():
    @dataclass(frozen=True)
    class WithMore:
        later: int | None = an_option(0, Size(), "--later", "an option of a later version")

    assert [encode(WithMore(0)), encode(WithMore(1))] == [{}, {"later": 1}]
    assert [decode(WithMore, {}), decode(WithMore, {"later": 1})] == [WithMore(0), WithMore(1)]
    assert options_schema(options_of(WithMore))["required"] == []


class CompilingError(Exception):
    """A compile has begun."""


@pytest.fixture
def compiled_with(monkeypatch):
    """The options of each compile; it ends there."""
    seen: list[CompileOptions] = []

    def begin(job: Job) -> None:
        seen.append(job.options)
        raise CompilingError

    monkeypatch.setattr("deploy.compiler.jobs.compile_job", begin)
    monkeypatch.setattr("deploy.devices.board_filter.compile_job", begin)
    monkeypatch.setattr("deploy.reporting.make.fitting", lambda *_: ())  # before it, for boards of any memory
    monkeypatch.setattr("deploy.tuner.tune_model.plan_job", begin)
    monkeypatch.setattr(
        "deploy.compiler.accelerator_tasks.plan_job", begin
    )  # before it, where there is an accelerator
    monkeypatch.setattr("codegen.job.parse_model", lambda data, file_name, *_: parse_model(data, file_name))
    monkeypatch.setattr("codegen.job.with_states", lambda graph, _pairs: graph)
    monkeypatch.setattr("deploy.compiler.jobs.select_records", lambda *_: None)
    return seen


def of_tflite(options: CompileOptions) -> CompileOptions:
    """As a job has them: with the rounding of the model's file where none is asked for."""
    return replace(options, rounding=Rounding.TFLM) if options.rounding is Rounding.AUTO else options


@pytest.mark.parametrize("command", COMPILING)
def test_each_command_compiles_with_every_option(command, model, compiled_with, tmp_path):
    words, lacks = COMPILING[command]
    taken = [option for option in SAMPLED.values() if option.name not in lacks]
    given = [word for option in taken for word in flag_words(option)]
    out = ["-o", str(tmp_path / "r.jsonl")] if command == "tune" else []
    main([command, *(str(model) if word == "m" else word for word in words), *out, *given])
    assert compiled_with[0] == read_options({option.name: SAMPLES[option.name][1] for option in taken})


CALLS: dict[str, Callable[[Any, dict[str, Any]], object]] = {
    "compile": lambda model, given: deploy.compile(model, "host", **given),
    "inspect": lambda model, given: deploy.inspect(model, "host", **given),
    "run": lambda model, given: deploy.run(model, [], "host", **given),
    "verify": lambda model, given: deploy.verify(model, "host", **given),
    "bench": lambda model, given: deploy.bench(model, "host", **given),
    "in_process": lambda model, given: deploy.in_process(model, **given),
    "flash": lambda model, given: deploy.flash(model, "host", **given),
    "export": lambda model, given: deploy.export(model, "cmake", model.path.parent / "out", "host", **given),
    "report": lambda model, given: deploy.report(model, "host", **given),
    "evidence": lambda model, given: deploy.evidence(model, "host", **given),
    "explore": lambda model, given: deploy.explore(model.path, "host", jobs=1, **given),
    "connect": lambda model, given: deploy.connect(model, "host", **given),
    "tune": lambda model, given: deploy.tune(model, "host", model.path.with_suffix(".jsonl"), **given),
}


@pytest.mark.slow
@pytest.mark.parametrize("function", CALLS)
def test_each_function_compiles_with_every_option(function, model, compiled_with):
    loaded = deploy.load(model)
    taken = [option for option in SAMPLED.values() if option.name not in FUNCTIONS[function]]
    for option in taken:
        with pytest.raises(CompilingError):
            CALLS[function](loaded, {option.name: SAMPLES[option.name][1]})
    assert compiled_with == [of_tflite(sample(option)) for option in taken]


@pytest.mark.parametrize("function", sorted({*CALLS} - {"explore"}))  # that takes files alone
def test_what_a_model_was_loaded_with_holds_everywhere(function, model, compiled_with):
    with pytest.raises(CompilingError):
        CALLS[function](deploy.load(model, rounding="litert-ref"), {"optimize": "ram"})
    assert compiled_with == [read_options({"rounding": "litert-ref", "optimize": "ram"})]


@pytest.mark.parametrize("verb", ["run", "verify"])
def test_command_and_function_take_the_options_of_data(verb):
    given = ["m", "--board", "host", "--fill", "zeros", "--quantize"]
    parser = command_parser(verb, load_command(verb))
    assert data_options(parser.read(given)) == DataOptions(Fill.ZEROS, True)
    assert read_given(DataOptions(), DATA, {"fill": "zeros", "quantize": True}) == DataOptions(
        Fill.ZEROS, True
    )
    assert set(DATA) <= set(inspect.signature(getattr(deploy, verb)).parameters)


@pytest.mark.parametrize("command", REACHING)
def test_each_command_that_reaches_a_board_takes_the_options_of_the_line(command):
    words, taken = REACHING[command]
    given = [word for name in sorted(taken) for word in (LINE[name].flag, LINE_SAMPLES[name])]
    parser = command_parser(command, load_command(command))
    expected = read_given(LineOptions(), LINE, {name: LINE_SAMPLES[name] for name in taken})
    assert line_options(parser.read([*words, *given])) == expected
    assert all(getattr(expected, LINE[name].field) != LINE[name].default for name in taken)


@pytest.mark.parametrize("function", ["run", "verify"])
def test_each_function_that_reaches_a_board_takes_the_options_of_the_line(function, model, monkeypatch):
    seen: list[LineOptions] = []

    def reach(*arguments: object) -> None:
        seen.extend(each for each in arguments if isinstance(each, LineOptions))
        raise CompilingError

    monkeypatch.setattr("deploy.python_api.on_board.ready_for", lambda *_: None)
    monkeypatch.setattr("deploy.python_api.on_board.open_device", reach)
    monkeypatch.setattr("deploy.python_api.on_board.verify_model", reach)
    image = np.zeros((1, 8, 8, 1), np.int8)
    with pytest.raises(CompilingError):
        getattr(deploy, function)(model, inputs=image, board="host", **LINE_SAMPLES)
    assert seen == [read_given(LineOptions(), LINE, LINE_SAMPLES)]
    assert set(LINE) <= set(inspect.signature(getattr(deploy, function)).parameters)
