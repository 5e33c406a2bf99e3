"""Functions of the C server called by name, arrays in its free RAM, and every refusal on both sides."""

import struct
from typing import Any

import numpy as np
import pytest

from aot.errors import InputError
from aot.ir.types import DType
from platforms.rpc.calls import Calls
from platforms.rpc.failures import DeviceResetError, RequestRefusedError
from platforms.rpc.function_type import DeviceArrayType, pack_call
from platforms.rpc.protocol import Message, Status

pytestmark = pytest.mark.cc

PATTERN = np.arange(16, dtype=np.uint8)
FREE_BYTES = 16_381  # of the test device: 16,397, and 16 for the array's head
TIMES = 1_000


class Calling:
    """A session and its functions by name."""

    def __init__(self, session: Calls) -> None:
        self.session = session
        self.types = {each.name: each for each in session.functions()}

    def __call__(self, name: str, *values: Any) -> Any:
        return self.session.invoke(self.types[name], values)

    def raw(self, payload: bytes, message: Message = Message.INVOKE) -> bytes:
        return self.session._request(message, payload, "request")


@pytest.fixture
def calling(connect):
    session = connect()
    session.hello()
    return Calling(session)


def test_functions_are_listed_with_their_signatures(calling):
    assert sorted(map(str, calling.types.values())) == [
        "all: bool(bool[3])",
        "blink: i32(i32, u8[16])",
        "blink_once: i32(void)",
        "every_integer: i64(i8, u8, i16, i32, u32, i64, u64, bool)",
        "pin: u8(u8)",
        "restart: void(void)",
        "scale: void(f32, f32[3000])",
        "sum: f32(f32[3000])",
    ]


def test_scalars_and_arrays_of_every_type_arrive(calling):
    assert calling("blink", 3, PATTERN) == 360
    assert calling("blink", np.int64(-2), PATTERN.tobytes()) == -240
    lowest = (-128, 0, -(2**15), -(2**31), 0, -(2**62), 0, False)
    assert calling("every_integer", *lowest) == sum(lowest)
    highest = (127, 255, 2**15 - 1, 2**31 - 1, 2**32 - 1, 2**62, 2**61, True)
    assert calling("every_integer", *highest) == sum(highest)
    assert calling("all", np.array([True, True, True])) is True
    assert calling("all", np.array([True, False, True])) is False
    assert calling("blink_once") == 3  # which C has looked up


def test_an_array_longer_than_a_request_goes_by_free_memory_and_leaves_none_behind(calling):
    values = np.arange(3000, dtype=np.float32)
    for _ in range(3):
        assert calling("sum", values) == float(np.sum(values))
    assert calling("scale", 2.0, values) is None
    assert values[1] == 1.0  # what the caller has is a copy
    calling.session.free(calling.session.make_array(np.zeros(FREE_BYTES, np.uint8)))


def test_arrays_on_the_device_are_changed_by_functions_and_read_back(calling):
    values = np.linspace(-1, 1, 3000, dtype=np.float32)
    array = calling.session.make_array(values)
    calling("scale", 0.5, array)
    calling("scale", 4, array)
    assert np.array_equal(calling.session.get(array), values * 2)
    assert calling("sum", array) == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize(
    ("name", "values", "facts"),
    [
        ("blink", (3,), "blink 2 1"),
        ("blink_once", (3,), "blink_once 0 1"),
        ("blink", (3.0, PATTERN), "argument 1 i32 float"),
        ("blink", (True, PATTERN), "argument 1 i32 bool"),
        ("blink", (2**31, PATTERN), "argument 1 2,147,483,648 i32 -2,147,483,648"),
        ("pin", (-1,), "argument 1 -1 u8 0 255"),
        ("pin", (PATTERN,), "argument 1 u8 uint8[16]"),
        ("blink", (1, PATTERN[:15]), "argument 2 u8[16] uint8[15]"),
        ("blink", (1, PATTERN.astype(np.int8)), "argument 2 u8[16] int8[16]"),
        ("blink", (1, [1, 2]), "argument 2 u8[16] list"),
        ("blink", (1, 7), "argument 2 u8[16] int"),
        ("all", (np.zeros(3, np.uint8),), "argument 1 bool[3] uint8[3]"),
        ("blink", (1, DeviceArrayType(DType.I8, 16, 1)), "argument 2 u8[16] i8[16]"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_sent(calling, name, values, facts):
    with pytest.raises(InputError) as caught:
        calling(name, *values)
    assert not [fact for fact in (name, *facts.split()) if fact not in caught.value.what], caught.value.what
    assert str(calling.types[name]) in str(caught.value)


def described(dtype: int, kind: int, word: int) -> bytes:
    return struct.pack("<BBxxI", dtype, kind, word)


def test_the_device_refuses_wrong_arguments_itself_and_says_which(calling):
    number = calling.types["blink"].number
    right = pack_call(calling.types["blink"], [np.int32(1), PATTERN])
    bools = struct.pack("<HH", calling.types["all"].number, 1) + described(7, 1, 3) + bytes(4) + b"\1\2\0"
    gone = struct.pack("<HH", number, 2) + described(4, 0, 0) + described(2, 2, 33) + bytes(12)
    i8 = calling.session.make_array(np.zeros(16, np.int8))
    typed = struct.pack("<HH", number, 2) + described(4, 0, 0) + described(2, 2, i8.handle) + bytes(12)
    for payload, facts in (
        (right[:2] + b"\1" + right[3:], "1 2"),
        (right[:2] + b"\0\1" + right[4:] + bytes(4), None),  # 256 arguments, of which the request has no room
        (right[:4] + b"\5" + right[5:], "argument 1 i64 i32"),
        (right[:5] + b"\1" + right[6:], "argument 1 i32[0] i32"),
        (right[:12] + b"\1" + right[13:], "argument 2 i8[16] u8[16]"),
        (right[:16] + b"\x0f" + right[17:], "argument 2 u8[15] u8[16]"),
        (right[:12] + b"\xff" + right[13:], "argument 2 void[16] u8[16]"),
        (right[:-1], None),
        (gone, "argument 2 freed"),
        (typed, "argument 2 i8[16] u8[16]"),
        (bools, "argument 1 bool 0 1"),
    ):
        with pytest.raises(RequestRefusedError) as caught:
            calling.raw(payload)
        if facts is None:
            assert caught.value.status == Status.BAD_LENGTH
        else:
            assert not [fact for fact in facts.split() if fact not in caught.value.what], caught.value.what
    with pytest.raises(RequestRefusedError, match="no function with this number"):
        calling.raw(struct.pack("<HH", 99, 0))
    assert calling("blink", 1, PATTERN) == 120


def test_a_function_that_fails_says_why_in_its_own_words(calling):
    with pytest.raises(RequestRefusedError) as caught:
        calling("pin", 8)
    assert caught.value.what == "call of pin: there are 8 pins, 0 to 7"
    assert calling("pin", 7) == 7


def test_a_reset_in_a_call_is_reported_and_takes_arrays_away(calling):
    array, before = calling.session.make_array(PATTERN), calling.session.session_id
    with pytest.raises(DeviceResetError, match="device was reset during call of restart"):
        calling("restart")
    assert calling.session.session_id != before
    with pytest.raises(RequestRefusedError) as caught:
        calling.session.get(array)
    assert caught.value.status == Status.NO_SUCH_ARRAY
    assert calling("blink", 1, PATTERN) == 120


def test_what_reaches_beyond_an_array_is_refused(calling):
    array = calling.session.make_array(PATTERN)
    for ask in (
        lambda: calling.session.put(array, 15, b"12"),
        lambda: calling.session.put(array, 2**32 - 1, b"1"),
        lambda: calling.raw(struct.pack("<IIH", array.handle, 1, 16), Message.GET),
    ):
        with pytest.raises(RequestRefusedError) as caught:
            ask()
        assert caught.value.status == Status.OUT_OF_RANGE
    assert np.array_equal(calling.session.get(array), PATTERN)


def test_memory_is_given_back_and_gaps_are_used_again(calling):
    session = calling.session
    arrays = [session.make_array(np.full(1000 + n, n, np.uint8)) for n in range(15)]
    session.free(arrays[3])
    session.free(arrays[4])
    again = session.make_array(np.full(2000, 99, np.uint8))
    assert again.handle == arrays[3].handle
    for n, array in enumerate(arrays):
        if n not in (3, 4):
            assert np.array_equal(session.get(array), np.full(1000 + n, n, np.uint8))
    with pytest.raises(RequestRefusedError, match="the array was freed, or never made"):
        session.free(arrays[4])
    session.hello()  # a host that went away leaves nothing behind
    session.free(session.make_array(np.zeros(FREE_BYTES, np.uint8)))


@pytest.mark.parametrize("size", [FREE_BYTES + 1, 2**33])
def test_an_array_without_room_is_refused_with_the_room_there_is(calling, size):
    array = np.broadcast_to(np.uint8(0), (size,))
    with pytest.raises(InputError) as caught:
        calling.session.make_array(array)
    assert f"not enough free RAM on the device for an array of {size:,} bytes" in str(caught.value)
    if size < 2**32:
        assert f"the largest free piece has {FREE_BYTES:,}" in str(caught.value)
    with pytest.raises(InputError, match="the device has no arrays of float64"):
        calling.session.make_array(np.zeros(1))


def test_a_thousand_calls_and_arrays_leave_the_memory_as_it_was(calling):
    values = np.arange(3000, dtype=np.float32)
    for turn in range(TIMES):
        array = calling.session.make_array(PATTERN)
        assert calling("blink", turn, array) == 120 * turn
        calling.session.free(array)
        if turn % 50 == 0:
            assert calling("sum", values) == float(np.sum(values))
    assert calling.session.make_array(np.zeros(FREE_BYTES, np.uint8)).handle == 1


def test_a_zero_long_array_and_one_of_no_dimension_go_there_and_back(calling):
    for array in (np.zeros(0, np.int64), np.array(7, np.int16)):
        placed = calling.session.make_array(array)
        assert np.array_equal(calling.session.get(placed), array.reshape(-1))
