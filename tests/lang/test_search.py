"""A search finds a faster schedule, keeps its trials, and refuses what it cannot search."""

import numpy as np
import pytest

from aot.errors import InputError
from codegen.lang.schedule import Schedule
from codegen.lang.template import TemplateKnobs, applied, template_space
from deploy import lang

W = np.random.default_rng(1).integers(-128, 128, (6, 16), np.int8)


def product(rows: int = 6) -> Schedule:
    x = lang.placeholder("x", (rows, 16), "i8")
    w = lang.placeholder("w", (6, 16), "i8", constant=True)
    k = lang.reduce_axis("k", 16)
    return lang.schedule(
        "product", [x, w], lang.compute("c", (rows, 6), lambda i, j: lang.sum(x[i, k] * w[j, k], k))
    )


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_a_search_finds_a_schedule_that_can_be_built(tmp_path, own_folders):
    s, file, seen = product(), tmp_path / "trials.jsonl", []
    found = lang.search(
        s, "mps2-an386", 32, tuner="ga", records=file, on_trial=lambda progress, record: seen.append(record)
    )
    assert s.trace == ()  # what was given stays as it is
    assert (found.trials, found.failed, found.unit) == (32, 0, "instructions")
    assert len(seen) == 32
    assert found.speedup > 1.8
    kernel = lang.build(found.schedule, "mps2-an386", {"w": W})
    kernel.verify()
    assert kernel.time().count.mean < lang.build(s, "mps2-an386", {"w": W}).time().count.mean / 1.8
    assert str(found) == (
        f"# {found.naive:,} to {found.best:,} instructions in 32 trials, 0 failed\n{found.schedule.script()}"
    )
    again = lang.search(s, "mps2-an386", 8, tuner="ga", records=file)
    assert (again.trials, again.naive) == (40, found.naive)  # those of the file count
    assert again.best <= found.best
    other = lang.search(product(4), "mps2-an386", 8, tuner="ga", records=file)
    assert (other.trials, other.naive < found.naive) == (8, True)


def test_what_cannot_be_searched_is_reported():
    s = product()
    s.unroll("k")
    with pytest.raises(InputError) as caught:
        lang.search(s, "mps2-an386")
    assert caught.value.what == "product already has 1 steps"
    x, k = lang.placeholder("x", (4, 9), "i8"), lang.reduce_axis("k", 9)
    total = lang.compute("total", (4,), lambda i: lang.sum(x[i, k], k))
    y = lang.compute("y", (4, 9), lambda i, j: x[i, j] * 9 - total[i])
    with pytest.raises(InputError, match="centred has tensors between its nests"):
        lang.search(lang.proc("centred", [x], y), "mps2-an386")


def tiles(s: Schedule, knobs: TemplateKnobs) -> None:
    rows, columns = knobs.choose("rows", (1, 2, 3)), knobs.factor("columns", 6)
    knobs.require(rows * columns <= 6)
    _, _, ii, ji = s.tile("i", "j", rows, columns)
    s.privatize(ji, "sum")
    s.privatize(ii, "sum")
    s.reorder(*knobs.order("order", "k", ii), ji)
    s.pack("w", "j_o", "k", "i_i", "j_i")
    s.unroll(ii)
    s.unroll(ji)


def test_orders_are_all_there_are_and_a_loop_is_annotated():
    asked: list[tuple[str, ...]] = []

    def template(s: Schedule, knobs: TemplateKnobs) -> None:
        asked.append(knobs.order("order", "i", "j", "k"))
        knobs.annotate("how", s, "k")

    space = template_space("task", template, product())
    assert [(knob.name, len(knob.values)) for knob in space.knobs] == [("order", 6), ("how", 2)]
    for number in range(6):
        applied(template, product(), {"order": number, "how": 0})
    assert asked[0] == ("i", "j", "k")
    assert len({*asked}) == 6
    assert applied(template, product(), {"order": 0, "how": 1}).script() == "s.unroll('k')\n"

    def wide(s: Schedule, knobs: TemplateKnobs) -> None:
        knobs.annotate("how", s, "j", ("none", "mmx"))

    with pytest.raises(InputError, match='"mmx" is not a loop transformation'):
        applied(wide, product(), {"how": 1})
    with pytest.raises(InputError, match="the knob order orders 6 loops, it can be 1 to 5"):
        TemplateKnobs({}).order("order", *"abcdef")


def test_a_template_has_a_space_of_what_it_asks_for():
    space = template_space("task", tiles, product())
    assert [(knob.name, knob.values) for knob in space.knobs] == [
        ("rows", (1, 2, 3)),
        ("columns", (1, 2, 3, 6)),
        ("order", (0, 1)),
    ]
    assert space.default == {"rows": 1, "columns": 1, "order": 0}
    assert len(space.points) == 2 * len([r * c for r in (1, 2, 3) for c in (1, 2, 3, 6) if r * c <= 6])
    at = applied(tiles, product(), {"rows": 2, "columns": 3, "order": 1})
    assert "sum: local(i32[6])" in at.show()


@pytest.mark.arm
@pytest.mark.qemu
@pytest.mark.slow
def test_the_numbers_of_a_template_are_searched(own_folders):
    found = lang.search(product(), "mps2-an386", 24, template=tiles, tuner="ga")
    assert found.failed == 0
    assert found.speedup > 1.5
    assert "s.pack('w', 'j_o', 'k', 'i_i', 'j_i')" in found.schedule.script()
    lang.build(found.schedule, "mps2-an386", {"w": W}).verify()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("template", "what"),
    [
        (lambda s, knobs: s.unroll("k"), "the template requests no knobs"),
        (lambda s, knobs: knobs.choose("n", ()), "the knob n has no values"),
        (
            lambda s, knobs: (knobs.choose("n", (1, 2)), knobs.choose("n", (1, 3))),
            "the knob n is requested twice, with different values",
        ),
        (lambda s, knobs: s.split("z", knobs.choose("n", (2, 3))), "product has no loop z"),
    ],
)
def test_a_template_that_cannot_be_searched_is_reported(template, what):
    with pytest.raises(InputError) as caught:
        lang.search(product(), "mps2-an386", template=template)
    assert caught.value.what == what
