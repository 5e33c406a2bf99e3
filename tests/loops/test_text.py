"""A proc as text reads like Python, is read back as the same proc, and says where it is wrong."""

import re

import pytest
from graphs import GRAPHS
from joins import JOINS
from lines import ALONG_TIME
from model_checks import DSP, MVE, OPTIONS, PLAIN
from nests import dots, mean_the_same

from aot.errors import DeployError, InputError
from aot.passes.pipeline import run_meaning
from codegen.fit.variant import Variant
from codegen.job import ImportedModel, Job, read_job
from codegen.loops.ir import Instruction, Invoke, Proc, walk
from codegen.loops.parse import parse_proc
from codegen.loops.schedule import privatize, split, unroll
from codegen.loops.text import named_in, print_instruction, print_proc
from codegen.lower.decisions import Decisions

TARGETS = {"plain": PLAIN, "dsp": DSP, "mve": MVE}
DOTS = """\
def dots(x: rows(i8[4], rows=2), w: constant(i8[12]), bias: constant(i32[2]), y: output(i32[4])):
    for o in range(2):
        for p in range(2):
            sum: local(i32[1])
            sum[0] = bias[o]
            for r in range(2):
                for k in range(3):
                    sum[0] += x[r][k + p] * w[k + o * 6 + r * 3]
            y[o + p * 2] = sum[0]
"""


def assert_is_read_back(proc: Proc) -> None:
    text = print_proc(proc)
    assert parse_proc(text, named_in(proc)) == proc, text


def kernels_of(job: Job) -> list[Proc]:
    """Those of a run at full speed; nobody asks here where its rows lie."""
    graph = run_meaning(job.model.graph, job.options.left_out_passes).graph
    widened = frozenset(node.name for node in graph.nodes)
    lowered = Variant(graph, job.target, job.options, (), Decisions(widened)).lowered
    return [proc for stage in lowered.stages for proc in stage.kernel.procs]


def test_a_proc_reads_like_python():
    assert print_proc(dots(2, 2, 3, rows=2)) == DOTS
    assert parse_proc(DOTS) == dots(2, 2, 3, rows=2)


def test_what_a_schedule_makes_is_read_back():
    proc = unroll(privatize(split(dots(4, 7, 3), "p", 2, "pb", "pi"), ["sum"], "pi"), "pi")
    assert "for pi in unrolled(2):" in print_proc(proc)
    assert_is_read_back(proc)


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_the_kernels_of_networks_are_read_back(target):
    graphs = {**GRAPHS, **ALONG_TIME, **JOINS}
    for make in graphs.values():
        job = Job(ImportedModel(make(), "model", "", "model"), TARGETS[target], OPTIONS["speed"])
        for proc in kernels_of(job):
            assert_is_read_back(proc)


@pytest.mark.slow
def test_the_kernels_of_the_shared_models_are_read_back(shared_dir):
    models = [
        path
        for path in sorted((shared_dir / "models").glob("*/model.*"))
        if path.suffix[1:] in ("tflite", "onnx")
    ]
    seen: set[Proc] = set()
    refused = 0
    for path in models:
        try:
            procs = kernels_of(read_job(path, DSP, OPTIONS["speed"]))
        except DeployError:  # sizes that the file leaves open, for one
            refused += 1
            continue
        for proc in {*procs} - seen:
            assert_is_read_back(proc)
            seen.add(proc)
    assert refused < len(models) / 10
    assert len(seen) > 500


def test_the_meaning_of_an_instruction_can_be_read_and_run(graph_of_dots):
    job = Job(ImportedModel(graph_of_dots, "model", "", "model"), DSP, OPTIONS["speed"])
    used = {s.instruction for p in kernels_of(job) for s in walk(p.body) if isinstance(s, Invoke)}
    assert used
    for instruction in used:
        head, _, meaning = print_instruction(instruction).partition("\n")
        assert head == f"@instruction({instruction.call!r})"
        named = named_in(Proc(instruction.name, instruction.params, instruction.body))
        assert parse_proc(meaning, named).body == instruction.body


@pytest.fixture
def graph_of_dots():
    return next(make() for name, make in GRAPHS.items() if "conv" in name)


def test_a_text_may_be_written_by_hand_and_means_what_it_says():
    text = DOTS.replace("k + o * 6 + r * 3", "(o * 2 + r) * 3 + k").replace("o + p * 2", "2 * p - -o")
    assert parse_proc(text) == dots(2, 2, 3, rows=2)
    swapped = DOTS.replace("for o", "for q").replace("for p", "for o").replace("for q", "for p")
    assert parse_proc(swapped) != dots(2, 2, 3, rows=2)
    assert mean_the_same(parse_proc(swapped), dots(2, 2, 3, rows=2))


# What is wrong, the line in which it stands, and what is said.
WRONG = {
    "syntax": ("for k in range(3)", "for k in range(3", "not Python: "),
    "no_annotation": ("y: output(i32[4])", "y", "y needs an annotation with its role, type and number of "
                                                "elements"),
    "unknown_role": ("w: constant(", "w: konstant(", "w needs an annotation with its role"),
    "no_such_word": ("rows=2", "row=2", "a buffer has no row"),
    "no_such_buffer": ("bias[o]", "bais[o]", 'there is no buffer bais - did you mean "bias"?'),
    "no_such_loop": ("bias[o]", "bias[oo]", "there is no loop oo around this"),
    "too_few_subscripts": ("x[r][k + p]", "x[k + p]", "x has rows, x[k + p] has 1 subscripts"),
    "too_many": ("y[o + p * 2]", "y[0][o][p]", "y has no rows, y[0][o][p] has 3 subscripts"),
    "not_affine": ("k + o * 6", "k * o", "k * o is not a sum of loop variables times numbers"),
    "a_loop_as_a_value": ("= bias[o]", "= o", "o is a loop, not a value"),
    "no_value": ("= bias[o]", "= bias[o] / 2", "bias[o] / 2 is not a value that a proc can compute"),
    "a_window": ("= bias[o]", "= bias[o:]", "bias[o:] is a window, but an element is needed"),
    "unknown_function": (
        "= bias[o]",
        "= twice(bias[o])",
        "twice is not an instruction or function known here",
    ),
    "unknown_instruction": ("sum[0] = bias[o]", "dot(sum[0:])", "dot is not an instruction or function"),
    "statement": ("sum[0] = bias[o]", "return bias[o]", "this statement is not supported in a proc"),
    "loop_twice": ("for p in", "for o in", "o is already defined"),
    "bounds": ("range(3)", "range(p)", "this statement is not supported in a proc"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_text_is_refused_with_its_line(name):
    right, wrong, what = WRONG[name]
    with pytest.raises(InputError) as caught:
        parse_proc(DOTS.replace(right, wrong, 1))
    assert caught.value.what.startswith(what)
    number = next(n for n, line in enumerate(DOTS.splitlines(), 1) if right in line)
    assert re.match(rf"line {number}\b", caught.value.where)


def test_only_one_function_is_a_proc():
    with pytest.raises(InputError, match="the text of a proc must be one function"):
        parse_proc("x = 1\n")
    with pytest.raises(InputError, match="a proc needs plain parameters"):
        parse_proc("def f(x: input(i8[1]) = 3):\n    pass\n")


def test_instructions_are_applied_to_windows():
    copy = Instruction("copy", dots(1, 1, 1).params[1:2], (), "", "")
    text = "def f(w: constant(i8[4])):\n    copy({})\n"
    assert parse_proc(text.format("w[1:]"), {"copy": copy}).body[0].windows[0].index.constant == 1  # type: ignore[union-attr]
    for wrong, said in {
        "w[1]": "w[1] is not a window",
        "w[1:2]": "w[1:2] is not a window",
        "w[1:], w[2:]": "copy needs 1 windows, not 2",
    }.items():
        with pytest.raises(InputError, match=re.escape(said)):
            parse_proc(text.format(wrong), {"copy": copy})
