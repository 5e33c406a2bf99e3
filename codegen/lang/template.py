"""A template: a schedule with knobs, written as a Python function that requests their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from inspect import signature
from itertools import permutations

from aot.errors import InputError
from aot.wording import counted
from codegen.kernels.knobs import Knob, Point, Space
from codegen.lang.misuse import checks_arguments, misuse
from codegen.lang.schedule import Schedule, isas_with_lanes

_TEMPLATE_PARAMETERS = 2  # the schedule and its knobs
_MOST_ORDERED = 5  # loops, with 120 orders


@dataclass
class TemplateKnobs:
    """The knob values of one point. Each value that a template requests adds a knob to its space."""

    point: Point
    asked: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @checks_arguments
    def choose(self, name: str, values: Sequence[int]) -> int:
        """Returns one of several numbers: the point's, or else the first."""
        if not values:
            raise misuse(f"the knob {name} has no values")
        if len(set(values)) < len(values):
            raise misuse(f"the knob {name} has a value twice: {', '.join(map(str, values))}")
        if self.asked.setdefault(name, tuple(values)) != tuple(values):
            raise misuse(f"the knob {name} is requested twice, with different values")
        chosen = self.point.get(name, values[0])
        if chosen not in values:
            raise misuse(f"the knob {name} must be one of {', '.join(map(str, values))}, not {chosen}")
        return chosen

    @checks_arguments
    def require(self, is_possible: bool) -> None:
        """Skips this point if it is not possible, for example because two knob values do not combine."""
        if not is_possible:
            raise misuse("the point is not possible")

    @checks_arguments
    def factor(self, name: str, extent: int, most: int = 64) -> int:
        """Returns a divisor of `extent`, 1 by default."""
        return self.choose(name, [n for n in range(1, min(extent, most) + 1) if extent % n == 0])

    @checks_arguments
    def order(self, name: str, *loops: str) -> tuple[str, ...]:
        """Returns an order of up to five loops, by default the order given."""
        if not 1 <= len(loops) <= _MOST_ORDERED:
            raise misuse(f"the knob {name} orders {len(loops)} loops, it can be 1 to {_MOST_ORDERED}")
        if len(set(loops)) < len(loops):
            raise misuse(f"the knob {name} orders a loop twice: {', '.join(loops)}")
        orders = tuple(permutations(loops))
        return orders[self.choose(name, range(len(orders)))]

    @checks_arguments
    def annotate(
        self, name: str, schedule: Schedule, loop: str, ways: Sequence[str] = ("none", "unroll")
    ) -> str:
        """Applies one annotation to a loop: "none", "unroll", or vectorize with an instruction set."""
        known = ("none", "unroll", *isas_with_lanes())
        unknown = next((each for each in ways if each not in known), None)
        if unknown is not None:
            raise misuse(f'"{unknown}" is not a loop transformation', f"there are {', '.join(known)}")
        way = ways[self.choose(name, range(len(ways)))]
        if way == "unroll":
            schedule.unroll(loop)
        elif way != "none":
            schedule.vectorize(loop, way)
        return way


Template = Callable[[Schedule, TemplateKnobs], None]


def require_template(template: Template) -> None:
    """Raises InputError unless the function accepts a schedule and knobs."""
    taken = signature(template).parameters
    if len(taken) != _TEMPLATE_PARAMETERS:
        name = getattr(template, "__name__", "template")
        raise misuse(
            f"{name} has {counted(len(taken), 'parameter')}, a template needs two",
            f"def {name}(schedule, knobs):".replace("<lambda>", "template"),
        )


def applied(template: Template, schedule: Schedule, point: Point) -> Schedule:
    """Returns the schedule with the template's steps at a point."""
    made = copy(schedule)
    template(made, TemplateKnobs(point))
    return made


def template_space(task: str, template: Template, schedule: Schedule) -> Space:
    """Returns the space of the knobs that the template requests at its default point.

    Points with a rejected step are skipped. Knobs that only some points request are not found.
    """
    space = space_of(task, template, schedule)
    if not space.knobs:
        raise misuse("the template requests no knobs", 'for example rows = knobs.choose("rows", (1, 2, 4))')
    return space


def space_of(task: str, template: Template, schedule: Schedule) -> Space:
    """As template_space, but a template without knobs is accepted."""
    asking = TemplateKnobs({})
    template(copy(schedule), asking)
    knobs = tuple(Knob(name, values) for name, values in asking.asked.items())
    default = {knob.name: knob.values[0] for knob in knobs}
    known: dict[tuple[int, ...], bool] = {}

    def is_legal(point: Point) -> bool:
        key = tuple(point[knob.name] for knob in knobs)
        if key not in known:
            known[key] = _is_possible(template, schedule, point, asking.asked)
        return known[key]

    return Space(task, knobs, default, is_legal)


def _is_possible(
    template: Template, schedule: Schedule, point: Point, asked: Mapping[str, tuple[int, ...]]
) -> bool:
    knobs, made = TemplateKnobs(point), copy(schedule)
    try:
        template(made, knobs)
    except InputError:
        return False
    return knobs.asked == dict(asked)
