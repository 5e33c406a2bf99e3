"""A faulty accelerator is one error that names it and the node: never wrong bits, never silence."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from error_facts import refused
from sums_device import SUMS

from aot.errors import DeployError
from aot.extensions import ACCELERATORS, register, unregister
from aot.ir.graph import Graph
from aot.ir.text import parse_graph
from aot.passes.partition.claims import Claims
from aot.target import Target
from boards.cores import load_core
from codegen.accelerators.accelerator import Accelerator, Regions
from codegen.compile import compile_job
from codegen.job import ImportedModel, Job, import_model
from codegen.kernels.kernel import ANYWHERE, CFile, MemoryDemand
from codegen.options import CompileOptions
from deploy.inputs.samples import Samples
from deploy.verification.memory_guard import require_inside
from extensions.vanilla.accelerator import ACCELERATOR as VANILLA

DIGITS = Path("deploy/demo/digits.tflite")
Add = Callable[[str, Accelerator], None]
CHAIN = parse_graph(
    """graph "net"
input "x": f32[1,4]
"one" = add() "x", "x" -> "a": f32[1,4]
"two" = tanh() "a" -> "b": f32[1,4]
"three" = mul() "b", "a" -> "y": f32[1,4]
output "y"
"""
)


@pytest.fixture
def add():
    names: list[str] = []

    def one(name: str, value: Accelerator) -> None:
        names.append(name)
        register(ACCELERATORS, name, value)

    yield one
    for name in names:
        unregister(ACCELERATORS, name)


def with_c(before: str, after: str, demand: MemoryDemand = ANYWHERE) -> Accelerator:
    """Vanilla with other C."""
    (known,) = VANILLA.strategies["conv2d"]

    def lower(*given: Any) -> Any:
        kernel = known.lower(*given)
        assert kernel.calls is not None
        (source,) = kernel.calls.library.sources
        assert before in source.text
        library = replace(
            kernel.calls.library, sources=(CFile(source.name, source.text.replace(before, after)),)
        )
        return replace(kernel, calls=replace(kernel.calls, library=library))

    return replace(VANILLA, strategies={"conv2d": (replace(known, lower=lower, demand=demand),)})


def claiming(*regions: tuple[str, ...]) -> Accelerator:
    """Sums with claims of its own."""
    assert SUMS.regions is not None

    def claims(owner: str, _graph: Graph) -> Claims:
        return Claims(owner, regions)

    return Accelerator("claims", regions=Regions(claims, SUMS.regions.strategies))


def compiled(name: str) -> None:
    model = ImportedModel(CHAIN, "net.tflite", "00" * 32, "net")
    compile_job(Job(model, Target("host", pointer_bytes=8), CompileOptions(accelerators=(name,))))


@pytest.mark.parametrize(
    ("regions", "text"),
    [
        ((("one", "three"), ("three",)), 'error: npu claims "three" twice'),
        ((("one",), ("one",)), 'error: npu claims "one" twice'),
        ((("four",),), 'error: npu claims "four", which is not a node of net'),
        (((),), "error: npu claims a region without nodes"),
    ],
    ids=["overlapping", "twice", "unknown", "empty"],
)
def test_claims_that_cannot_be_are_refused(regions, text, add):
    add("npu", claiming(*regions))
    with pytest.raises(DeployError) as caught:
        compiled("npu")
    hint = (
        "  hint: a region consists of nodes of the graph, and each node belongs to one region: correct "
        "the accelerator npu"
    )
    assert str(caught.value) == f"{text}\n{hint}"


def fails(*_given: object) -> Any:
    raise ValueError("no such tile")


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        (fails, "the accelerator npu failed while claiming nodes of net: ValueError: no such tile"),
        (
            lambda *_: None,
            "the accelerator npu is wrong: claims of nodes of net must be Claims, not NoneType",
        ),
    ],
    ids=["fails", "nothing"],
)
def test_claims_in_python_that_fail_are_reported(claims, said, add):
    assert SUMS.regions is not None
    add("npu", Accelerator("claims", regions=Regions(claims, SUMS.regions.strategies)))
    with pytest.raises(DeployError) as caught:
        compiled("npu")
    assert caught.value.what.startswith(said)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"lower": fails}, 'the accelerator npu failed while lowering "one": ValueError: no such tile'),
        (
            {"lower": lambda *_: 3},
            'the accelerator npu is wrong: the kernel for "one" must be Kernel, not int',
        ),
        ({"requests": fails}, 'the accelerator npu failed while answering about "one": ValueError'),
        ({"refuses": fails}, 'the accelerator npu failed while answering about "one": ValueError'),
    ],
    ids=["lower", "another kind", "requests", "refuses"],
)
def test_strategies_in_python_that_fail_name_the_node(change, said, add):
    assert SUMS.regions is not None
    (known, *_) = SUMS.regions.strategies
    regions = Regions(lambda owner, _: Claims(owner, (("one",),)), (replace(known, **change),))
    add("npu", Accelerator("sums", regions=regions))
    with pytest.raises(DeployError) as caught:
        compiled("npu")
    assert caught.value.what.startswith(said)


def test_a_region_around_what_stays_is_not_a_region(add):
    """The node between would wait for the region, and the region for it."""
    add("npu", claiming(("one", "three")))
    model = ImportedModel(CHAIN, "net.tflite", "00" * 32, "net")
    made = compile_job(Job(model, Target("host", pointer_bytes=8), CompileOptions(accelerators=("npu",))))
    why = 'npu: "two" is between the nodes of the region'
    assert [layer.stays for layer in made.layers] == [(why,), (), (why,)]


def test_memory_that_does_not_exist_is_named_with_what_there_is(add, run_deploy, repo_root):
    add(
        "nowhere", with_c("int32_t sum = 0;", "int32_t sum = 0;", MemoryDemand(memories=frozenset({"SRAM9"})))
    )
    done = run_deploy("inspect", repo_root / DIGITS, "--board", "mps2-an386", "--accelerator", "nowhere")
    assert 'conv2d "conv2d_0" (nowhere) needs memory in SRAM9, which this board does not have\n' in done.err
    assert "  hint: there is RAM\n" in done.err


@pytest.mark.cc
@pytest.mark.slow
def test_c_that_does_not_compile_is_said_to_be_the_accelerators(add, run_deploy, repo_root):
    add("broken", with_c("int32_t sum = 0;", "int32_t sum = nothing;"))
    done = run_deploy("verify", repo_root / DIGITS, "--board", "host", "--accelerator", "broken")
    assert done.status == 1
    assert "the compiler failed with exit status 1" in done.err
    assert (
        '  vanilla_conv2d.c belongs to the accelerator "broken", which computes conv2d CONV_2D #0 '
        '"conv2d_0", '
        'conv2d CONV_2D #2 "conv2d_2"\n'
    ) in done.err


@pytest.mark.cc
@pytest.mark.slow
def test_a_device_that_never_finishes_is_ended_at_the_deadline_and_named(add, run_deploy, repo_root):
    forever = "for (volatile int32_t wait = 1; wait;) {\n    }\n    const int32_t filter ="
    add("forever", with_c("const int32_t filter =", forever))
    words = ("verify", repo_root / DIGITS, "--board", "host", "--accelerator", "forever", "--deadline", "0.5")
    done = run_deploy(*words)
    assert done.status == 1
    assert "watchdog reset in vanilla_conv2d (vanilla_conv2d.c:" in done.err
    assert '  vanilla_conv2d.c belongs to the accelerator "forever", which computes conv2d' in done.err


@pytest.mark.cc
@pytest.mark.slow
@pytest.mark.parametrize(
    ("place", "node", "where"),
    [
        (
            "y[s->y_rows * s->y_columns * s->channels]",
            "conv2d_0",
            "the first is byte 784 of arena, 0 after the end of conv2d_0",
        ),
        ("y[s->channels == 24 ? 2048 : 0]", "conv2d_2", "they are next to the arena"),
    ],
    ids=["in the arena", "beside it"],
)
def test_writing_outside_its_buffers_is_found_by_a_poisoned_run(
    place, node, where, add, run_deploy, repo_root
):
    """The byte is nobody's at that moment, and no output shows it."""
    add("outside", with_c("const int32_t filter =", f"{place} = 77;\n    const int32_t filter ="))
    model = import_model(repo_root / DIGITS, CompileOptions())
    target = load_core("host").target()
    made = compile_job(Job(model, target, CompileOptions(accelerators=("outside",))))
    refused(
        lambda: require_inside(made, Samples(((np.zeros((1, 8, 8, 1), np.int8),),), is_series=False)),
        f'conv2d "{node}" 1 accelerator outside writes {where} correct vanilla',
    )


@pytest.mark.cc
@pytest.mark.slow
def test_verify_looks_for_it_on_request(add, run_deploy, repo_root):
    behind = "y[s->y_rows * s->y_columns * s->channels] = 77;"
    add("outside", with_c("const int32_t filter =", f"{behind}\n    const int32_t filter ="))
    words = ("verify", repo_root / DIGITS, "--board", "host", "--accelerator", "outside", "--check")
    assert "of the accelerator outside writes outside its buffers: 1 byte\n" in run_deploy(*words).err
    sound = ("verify", repo_root / DIGITS, "--board", "host", "--accelerator", "vanilla", "--check")
    assert run_deploy(*sound).status == 0
