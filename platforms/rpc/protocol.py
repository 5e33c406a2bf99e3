"""Numbers of the protocol and their meanings. The C header is generated from this table."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

PROTOCOL_VERSION = 2
HEADER_BYTES = 8  # kind u8, status u8, sequence u16, session u32; all numbers are little endian
CRC_BYTES = 4
HELLO_BYTES = 6  # protocol u16, time limit of a run in milliseconds u32; firmware accepts other lengths
WRITE_HEADER_BYTES = 6  # model u8, tensor u8, offset u32, before the data of a write
LOAD_HEADER_BYTES = 4  # offset u32, before the data of a load
PUT_HEADER_BYTES = 8  # handle u32, offset u32, before the data for an array
STATE_HEADER_BYTES = 6  # model u8, action u8, offset u32, before the data of a state
PAYLOAD_BYTES = 1024 + WRITE_HEADER_BYTES  # the default; small devices accept and report less
SMALL_PAYLOAD_BYTES = 64 + WRITE_HEADER_BYTES
REQUEST_LIMIT = 0x40  # request numbers are smaller
REPLY_BIT = 0x80  # a reply's kind is that of the request with this bit set
NO_FAULT = 0
CARTRIDGE_FORMAT = 3
KEY_BYTES = 32  # of a line key, and of the reply to a challenge
CHALLENGE_BYTES = 16
OBSERVED_BYTES = 128  # of counters
MOST_REPEATS = 32  # per time request
MOST_BUILD_ID = 40  # characters of a build id in hello
MOST_NUMBERED = 256  # models in firmware, inputs or outputs of a model: their numbers are one byte
MOST_HASHES = 8  # of models in hello; describe reports the others


class Message(IntEnum):
    """Requests of the host."""

    HELLO = 0x01
    DESCRIBE = 0x02
    WRITE = 0x03
    READ = 0x04
    RUN = 0x05
    TIME = 0x06
    PROFILE = 0x07
    STATS = 0x08
    RESET = 0x09
    SLOT = 0x0A
    LOAD = 0x0B
    FETCH = 0x0C
    CHECK = 0x0D
    CALL = 0x0E
    RATE = 0x0F
    FUNCTION = 0x10  # name and signature of a registered function, by number
    INVOKE = 0x11  # a call of one
    MAKE = 0x12  # an array in free RAM
    FREE = 0x13
    PUT = 0x14
    GET = 0x15
    CARTRIDGE = 0x16  # the running model, and supported cartridges; or the start of an update
    CARTRIDGE_PUT = 0x17
    CARTRIDGE_SWAP = 0x18
    OBSERVED = 0x19  # counters of the model's runs
    INPUT_ADDRESS = 0x1A  # address of an input, for an emulator to write to
    STATE = 0x1B  # saves or restores what a model keeps between runs
    CHALLENGE = 0x20  # of a locked line
    UNLOCK = 0x21


class Notice(IntEnum):
    """Messages that the device sends without a request."""

    WORKING = 0x41  # the request with this sequence number has arrived and needs time
    LOG = 0x42  # a line of text
    BOOTED = 0x43  # the device has just started
    DAMAGED = 0x44  # a frame with a wrong checksum has arrived


class Status(IntEnum):
    """The results of requests."""

    OK = 0
    UNKNOWN_MESSAGE = 1
    WRONG_PROTOCOL = 2
    NO_SESSION = 3
    BAD_LENGTH = 4
    NO_SUCH_MODEL = 5
    NO_SUCH_TENSOR = 6
    OUT_OF_RANGE = 7
    WRITE_GAP = 8
    INPUT_MISSING = 9
    NO_RESULT = 10
    MODEL_FAILED = 11
    NOT_BUILT = 12
    ARENA_TOO_SMALL = 13
    TOO_MANY_INPUTS = 14
    NO_SLOT = 15
    CODE_DAMAGED = 16
    CODE_FAILED = 17
    NO_SUCH_FUNCTION = 18
    WRONG_ARGUMENT = 19
    FUNCTION_FAILED = 20
    NO_SUCH_ARRAY = 21
    NO_ROOM = 22
    NO_CARTRIDGE = 23
    CARTRIDGE_CUT = 24
    CARTRIDGE_DAMAGED = 25
    CARTRIDGE_VERSION = 26
    CARTRIDGE_CORE = 27
    CARTRIDGE_NEEDS = 28
    CARTRIDGE_OTHER_KEY = 29
    CARTRIDGE_TEST = 30
    CARTRIDGE_SIZE = 31
    CARTRIDGE_STORE = 32
    CARTRIDGE_STRUCTURE = 33
    NO_WEIGHTS = 34
    CARTRIDGE_KERNEL = 35
    CARTRIDGE_TABLE = 36
    NO_UPDATE = 37
    CARTRIDGE_PRODUCT = 38
    CARTRIDGE_OLDER = 39
    NO_PREVIOUS = 40
    NO_VERIFIER = 41
    NO_STATE = 42
    WRONG_STATE = 43
    LOCKED = 64
    WRONG_KEY = 65
    NO_ENTROPY = 66


class Argument(IntEnum):
    """How a call passes an argument."""

    SCALAR = 0
    ARRAY = 1  # the elements follow
    HANDLE = 2  # the array is in the device's free RAM


class DescribedTensors(IntEnum):
    """The description that a describe request reads."""

    MODEL = 0
    INPUT = 1
    OUTPUT = 2


class CartridgeRequest(IntEnum):
    """The action of a cartridge request, before the reply."""

    FACTS = 0  # none
    BEGIN = 1  # starts an update
    PREVIOUS = 2  # reverts to the cartridge before the last update


class CartridgeFact(IntEnum):
    """Bits of the reply about cartridges."""

    KEY = 1  # only signed ones are accepted
    DOWNGRADES = 2  # older ones are accepted, too
    PRODUCT = 4  # the running version and the product follow


class StateRequest(IntEnum):
    """The action of a state request."""

    HEAD = 0  # returns the beginning of the model's saved states
    READ = 1  # returns bytes of its states, at least one and at most as many as the request names
    BEGIN = 2  # starts a restore: whatever follows, except WRITE and FINISH, resets the state
    WRITE = 3
    FINISH = 4  # checks the sum of all bytes; then the next run continues from them


class Reset(IntEnum):
    """The object of a reset request."""

    STATE = 0
    DEVICE = 1


class Fault(IntEnum):
    """The reason for a restart of the device."""

    HARD = 1
    MEMORY = 2
    BUS = 3
    USAGE = 4
    STACK = 5
    WATCHDOG = 6
    ABORT = 7
    OVERWRITTEN = 8


class Capability(IntEnum):
    """Bits of the capabilities in hello."""

    PROFILE = 1
    SLOT = 2
    RATE = 4
    DEADLINE = 8  # long runs end as a fault
    FUNCTIONS = 16  # calls by name, and arrays in free RAM
    CARTRIDGES = 32
    INPUT_ADDRESS = 64  # emulated boards: inputs may be written directly to memory
    LOCKED = 128  # the line must be unlocked first


STATUS_MEANING = {
    Status.OK: "done",
    Status.UNKNOWN_MESSAGE: "the firmware does not know this request",
    Status.WRONG_PROTOCOL: "the firmware speaks another version of the protocol",
    Status.NO_SESSION: "the device knows no such session: it was reset, or somebody else said hello",
    Status.BAD_LENGTH: "the request is shorter or longer than its kind allows",
    Status.NO_SUCH_MODEL: "the firmware holds no model with this number",
    Status.NO_SUCH_TENSOR: "the model has no tensor with this number",
    Status.OUT_OF_RANGE: "the bytes asked for lie outside the tensor or slot, or a number is too large",
    Status.WRITE_GAP: "an input or a state must be written from its first byte on without a gap",
    Status.INPUT_MISSING: "an input was not written completely since the last run",
    Status.NO_RESULT: "no finished run's outputs are in the arena",
    Status.MODEL_FAILED: "the model's run function returned an error",
    Status.NOT_BUILT: "the firmware was built without this ability",
    Status.ARENA_TOO_SMALL: "the firmware's arena is smaller than the model needs",
    Status.TOO_MANY_INPUTS: "the model has more than 256 inputs",
    Status.NO_SLOT: "the firmware takes no code over the line: "
    "it was not made to, or has no free memory that can be executed",
    Status.CODE_DAMAGED: "the loaded code is not, or no longer, what the call expects",
    Status.CODE_FAILED: "the loaded code returned an error",
    Status.NO_SUCH_FUNCTION: "the firmware has no function with this number",
    Status.WRONG_ARGUMENT: "an argument is not what the function's signature says",
    Status.FUNCTION_FAILED: "the function says that it failed",
    Status.NO_SUCH_ARRAY: "the array was freed, or never made",
    Status.NO_ROOM: "the free RAM has no room for it",
    Status.NO_CARTRIDGE: "this is no cartridge",
    Status.CARTRIDGE_CUT: "the cartridge is cut off, or something follows it",
    Status.CARTRIDGE_DAMAGED: "the cartridge is damaged: its SHA-256 is another",
    Status.CARTRIDGE_VERSION: "the cartridge has a version that the firmware does not know",
    Status.CARTRIDGE_CORE: "the cartridge is for another core",
    Status.CARTRIDGE_NEEDS: "the cartridge needs more memory than the firmware has for models",
    Status.CARTRIDGE_OTHER_KEY: "the cartridge is not signed with the key that the firmware asks for",
    Status.CARTRIDGE_TEST: "the cartridge's model does not compute what it must",
    Status.CARTRIDGE_SIZE: "the cartridge is larger than a slot",
    Status.CARTRIDGE_STORE: "the memory for cartridges cannot be written",
    Status.CARTRIDGE_STRUCTURE: "the cartridge is not of the structure that the firmware's model has",
    Status.NO_WEIGHTS: "the model has no weights yet: they come with a cartridge",
    Status.CARTRIDGE_KERNEL: "the cartridge needs a kernel that the firmware does not have",
    Status.CARTRIDGE_TABLE: "the cartridge's table says what no model does",
    Status.NO_UPDATE: "no update is open: pieces of a cartridge are taken between its beginning and its end",
    Status.CARTRIDGE_PRODUCT: "the cartridge is for another product",
    Status.CARTRIDGE_OLDER: "the cartridge is older than the model that runs",
    Status.NO_PREVIOUS: "there is no cartridge to go back to: the other slot holds none that has run",
    Status.NO_VERIFIER: "the firmware cannot verify signatures by its key: solder_port_verify says so",
    Status.NO_STATE: "the model keeps no state between runs, or another model has run since",
    Status.WRONG_STATE: "the saved state is cut off or damaged, or of another model or version",
    Status.LOCKED: "the line is locked, and its key was not shown",
    Status.WRONG_KEY: "the firmware was made with another line key",
    Status.NO_ENTROPY: "the device has no random numbers for a challenge: its line stays locked",
}
# Hints for some of them that do not depend on the request.
HINTS: Mapping[int, str] = {
    Status.NO_WEIGHTS: "deploy load WEIGHTS.cart PROJECT   brings them\n"
    "deploy run PROJECT --cartridge WEIGHTS.cart   does so and runs: emulated boards keep none",
    Status.LOCKED: "somebody else said hello meanwhile, or the device was reset: run the command again",
    Status.WRONG_KEY: "--line-key FILE: the one that deploy new was given",
    Status.NO_ENTROPY: "solder_port_entropy in src/entropy.c gets them; in emulators, of the computer's "
    "/dev/urandom",
}

FAULT_MEANING = {
    Fault.HARD: "hard fault",
    Fault.MEMORY: "memory protection fault",
    Fault.BUS: "bus fault",
    Fault.USAGE: "usage fault",
    Fault.STACK: "stack overflow",
    Fault.WATCHDOG: "watchdog reset",
    Fault.ABORT: "abort",
    Fault.OVERWRITTEN: "loaded code wrote into the firmware's memory",
}
