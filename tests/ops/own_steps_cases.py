"""Each fact of a measured range, and numbers in steps: of one range, of one for each channel, of a vector."""

from drawing import Draw
from op_case import OpCase, float32, op_case

from aot.ops.own_steps import DynamicQuantize, MeasuredRange, RangeFact

_ONE = float32(1, 1, 1, 1)
_LIMITS = (float32(1, 1, 1, 3), float32(1, 1, 1, 3), float32(1, 1, 1, 3))

CASES = (
    *(op_case(by.value, MeasuredRange(by), [_ONE, _ONE], float32()) for by in RangeFact),
    op_case("range_of_each", MeasuredRange(RangeFact.LEAST_STEPS), [float32(1, 9), float32(1, 9)], float32()),
    op_case("steps_of_an_image", DynamicQuantize(), [float32(1, 4, 5, 3), _ONE, _ONE, _ONE], float32()),
    op_case("steps_by_channel", DynamicQuantize(), [float32(1, 2, 2, 3), *_LIMITS], float32()),
    op_case("steps_of_a_vector", DynamicQuantize(), [float32(1, 7)] * 4, float32()),
)


def _in_own_steps(draw: Draw) -> OpCase:
    shape = draw.shape(draw.upto(4))
    others = [draw.one_of(shape, (1,) * len(shape)) for _ in range(3)]
    inputs = [float32(*each) for each in (shape, *others)]
    return op_case("in_own_steps", DynamicQuantize(), inputs, float32())


def _measured_range(draw: Draw) -> OpCase:
    shape = draw.shape(draw.upto(4))
    op = MeasuredRange(draw.one_of(*RangeFact))
    return op_case("measured_range", op, [float32(*shape), float32(*shape)], float32())


SHAPES = {"in_own_steps": _in_own_steps, "measured_range": _measured_range}
