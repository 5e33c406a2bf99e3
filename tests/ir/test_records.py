"""Frozen dataclasses made here are those of the standard library, but for the time that it takes."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
from collections.abc import Callable, Mapping
from dataclasses import FrozenInstanceError, InitVar, field, fields, replace
from functools import cached_property
from typing import Any

import pytest

from aot.ops.conv2d import Conv2d
from aot.plan.model import Rows, Step
from aot.records import dataclass

MADE_BY = {"here": dataclass, "by the library": dataclasses.dataclass}


def point(make: Callable[..., Any], **how: bool) -> Any:
    @make(frozen=True, **how)
    class Point:
        """A point."""

        x: int
        y: int = 2
        name: str = field(default="p", compare=False)
        notes: Mapping[str, int] = field(default_factory=dict, repr=False, hash=False)
        shown: bool = field(default=False, kw_only=True)
        sides: int = field(default=4, init=False)

    return Point


def facts(cls: Any) -> dict[str, object]:
    one = cls(1, notes={"a": 1})
    return {
        "repr": repr(one).replace(cls.__qualname__, "Point"),
        "parameters": [str(each) for each in inspect.signature(cls).parameters.values()],
        "fields": [(each.name, each.type, each.init) for each in fields(cls)],
        "match": cls.__match_args__,
        "equal": [
            one == other for other in (cls(1, notes={"a": 1}), cls(1, name="q", notes={"a": 1}), cls(1))
        ],
        "others": one == (1, 2) or one == Rows(1, 2),
        "hash": [hash(one) == hash(other) for other in (cls(1), cls(1, 3))],
        "replaced": dataclasses.asdict(replace(one, y=5, shown=True)),
        "own": cls(1).notes is not cls(1).notes,
        "slots": getattr(cls, "__slots__", None),
        "parameters of the class": cls.__dataclass_params__.frozen,
    }


@pytest.mark.parametrize("how", [{}, {"slots": True}, {"order": True}], ids=str)
def test_they_are_as_the_library_makes_them(how: dict[str, bool]) -> None:
    here, there = (facts(point(make, **how)) for make in MADE_BY.values())
    assert here == there


@pytest.mark.parametrize("how", [{}, {"slots": True}], ids=str)
def test_they_are_frozen(how: dict[str, bool]) -> None:
    one = point(dataclass, **how)(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        one.x = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del one.x


@pytest.mark.parametrize("make", MADE_BY.values(), ids=MADE_BY)
def test_missing_and_unknown_arguments_are_named(make: Callable[..., Any]) -> None:
    cls = point(make)
    with pytest.raises(TypeError, match=r"Point\.__init__\(\) missing 1 required positional argument: 'x'"):
        cls()
    with pytest.raises(TypeError, match=r"Point\.__init__\(\) got an unexpected keyword argument 'z'"):
        cls(1, z=2)


def test_they_are_pickled() -> None:
    step = Step((Rows(0, 2),), (Rows(0, 1), Rows(3, 4)))
    assert pickle.loads(pickle.dumps(step)) == step


@pytest.mark.parametrize("base_by", MADE_BY.values(), ids=[f"base {by}" for by in MADE_BY])
@pytest.mark.parametrize("made_by", MADE_BY.values(), ids=[f"made {by}" for by in MADE_BY])
def test_each_may_be_the_others_base(base_by: Callable[..., Any], made_by: Callable[..., Any]) -> None:
    """An op of somebody's package is made by the library, from a base that is made here."""
    base: Any = point(base_by)

    @made_by(frozen=True)
    class Named(base):  # type: ignore[misc]
        z: int = 7

        @cached_property
        def total(self) -> int:
            return int(self.x) + self.z

    one = Named(1, 5)
    assert (one.x, one.y, one.z, one.total) == (1, 5, 7, 8)
    assert one == Named(1, 5) != Named(1, 5, z=8)
    assert one != base(1, 5)
    with pytest.raises(FrozenInstanceError):
        one.z = 3


def test_a_check_after_the_start_is_made() -> None:
    @dataclass(frozen=True, slots=True)
    class Even:
        number: int

        def __post_init__(self) -> None:
            if self.number % 2:
                raise ValueError("odd")

    assert Even(2).number == 2
    with pytest.raises(ValueError, match="odd"):
        Even(3)


def test_an_argument_that_is_no_field_is_given_to_that_check() -> None:
    @dataclass(frozen=True)
    class Scaled:
        number: int
        factor: InitVar[int] = 2

        def __post_init__(self, factor: int) -> None:
            object.__setattr__(self, "number", self.number * factor)

    assert (Scaled(3).number, Scaled(3, 5).number) == (6, 15)


def test_functions_of_its_own_stay() -> None:
    @dataclass(frozen=True)
    class Loud:
        name: str

        def __repr__(self) -> str:
            return self.name.upper()

    assert repr(Loud("a")) == "A"
    assert Loud("a") == Loud("a")


def test_one_function_refuses_assignments_to_all_that_are_made_here() -> None:
    assert Conv2d.__setattr__ is Rows.__setattr__
