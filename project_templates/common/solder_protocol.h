/* The protocol's numbers. Generated from platforms/rpc/protocol.py; do not edit. */
#ifndef SOLDER_PROTOCOL_H
#define SOLDER_PROTOCOL_H

#define SOLDER_PROTOCOL_VERSION 2u
#define SOLDER_HEADER_BYTES 8u
#define SOLDER_CRC_BYTES 4u
#define SOLDER_HELLO_BYTES 6u
#define SOLDER_WRITE_HEADER_BYTES 6u
#define SOLDER_LOAD_HEADER_BYTES 4u
#define SOLDER_PUT_HEADER_BYTES 8u
#define SOLDER_STATE_HEADER_BYTES 6u
#define SOLDER_REQUEST_LIMIT 64u
#define SOLDER_REPLY_BIT 128u
#define SOLDER_NO_FAULT 0u
#define SOLDER_CARTRIDGE_FORMAT 3u
#define SOLDER_KEY_BYTES 32u
#define SOLDER_MOST_REPEATS 32u
#define SOLDER_OBSERVED_BYTES 128u
#define SOLDER_MOST_BUILD_ID 40u
#define SOLDER_MOST_HASHES 8u

/* The longest payload of a request; a small device takes less. */
#ifndef SOLDER_PAYLOAD_BYTES
#ifdef __AVR__ /* 2 KB of RAM in all */
#define SOLDER_PAYLOAD_BYTES 70u
#else
#define SOLDER_PAYLOAD_BYTES 1030u
#endif
#endif

/* Requests of the host. */
enum solder_message {
    SOLDER_MESSAGE_HELLO = 1,
    SOLDER_MESSAGE_DESCRIBE = 2,
    SOLDER_MESSAGE_WRITE = 3,
    SOLDER_MESSAGE_READ = 4,
    SOLDER_MESSAGE_RUN = 5,
    SOLDER_MESSAGE_TIME = 6,
    SOLDER_MESSAGE_PROFILE = 7,
    SOLDER_MESSAGE_STATS = 8,
    SOLDER_MESSAGE_RESET = 9,
    SOLDER_MESSAGE_SLOT = 10,
    SOLDER_MESSAGE_LOAD = 11,
    SOLDER_MESSAGE_FETCH = 12,
    SOLDER_MESSAGE_CHECK = 13,
    SOLDER_MESSAGE_CALL = 14,
    SOLDER_MESSAGE_RATE = 15,
    SOLDER_MESSAGE_FUNCTION = 16,
    SOLDER_MESSAGE_INVOKE = 17,
    SOLDER_MESSAGE_MAKE = 18,
    SOLDER_MESSAGE_FREE = 19,
    SOLDER_MESSAGE_PUT = 20,
    SOLDER_MESSAGE_GET = 21,
    SOLDER_MESSAGE_CARTRIDGE = 22,
    SOLDER_MESSAGE_CARTRIDGE_PUT = 23,
    SOLDER_MESSAGE_CARTRIDGE_SWAP = 24,
    SOLDER_MESSAGE_OBSERVED = 25,
    SOLDER_MESSAGE_INPUT_ADDRESS = 26,
    SOLDER_MESSAGE_STATE = 27,
    SOLDER_MESSAGE_CHALLENGE = 32,
    SOLDER_MESSAGE_UNLOCK = 33
};

/* Messages that the device sends without a request. */
enum solder_notice {
    SOLDER_NOTICE_WORKING = 65,
    SOLDER_NOTICE_LOG = 66,
    SOLDER_NOTICE_BOOTED = 67,
    SOLDER_NOTICE_DAMAGED = 68
};

/* The results of requests. */
enum solder_status {
    SOLDER_OK = 0, /* done */
    SOLDER_UNKNOWN_MESSAGE = 1, /* the firmware does not know this request */
    SOLDER_WRONG_PROTOCOL = 2, /* the firmware speaks another version of the protocol */
    SOLDER_NO_SESSION = 3, /* the device knows no such session: it was reset, or somebody else said hello */
    SOLDER_BAD_LENGTH = 4, /* the request is shorter or longer than its kind allows */
    SOLDER_NO_SUCH_MODEL = 5, /* the firmware holds no model with this number */
    SOLDER_NO_SUCH_TENSOR = 6, /* the model has no tensor with this number */
    SOLDER_OUT_OF_RANGE = 7, /* the bytes asked for lie outside the tensor or slot, or a number is too large */
    SOLDER_WRITE_GAP = 8, /* an input or a state must be written from its first byte on without a gap */
    SOLDER_INPUT_MISSING = 9, /* an input was not written completely since the last run */
    SOLDER_NO_RESULT = 10, /* no finished run's outputs are in the arena */
    SOLDER_MODEL_FAILED = 11, /* the model's run function returned an error */
    SOLDER_NOT_BUILT = 12, /* the firmware was built without this ability */
    SOLDER_ARENA_TOO_SMALL = 13, /* the firmware's arena is smaller than the model needs */
    SOLDER_TOO_MANY_INPUTS = 14, /* the model has more than 256 inputs */
    SOLDER_NO_SLOT = 15, /* the firmware takes no code over the line: it was not made to, or has no free memory that can be executed */
    SOLDER_CODE_DAMAGED = 16, /* the loaded code is not, or no longer, what the call expects */
    SOLDER_CODE_FAILED = 17, /* the loaded code returned an error */
    SOLDER_NO_SUCH_FUNCTION = 18, /* the firmware has no function with this number */
    SOLDER_WRONG_ARGUMENT = 19, /* an argument is not what the function's signature says */
    SOLDER_FUNCTION_FAILED = 20, /* the function says that it failed */
    SOLDER_NO_SUCH_ARRAY = 21, /* the array was freed, or never made */
    SOLDER_NO_ROOM = 22, /* the free RAM has no room for it */
    SOLDER_NO_CARTRIDGE = 23, /* this is no cartridge */
    SOLDER_CARTRIDGE_CUT = 24, /* the cartridge is cut off, or something follows it */
    SOLDER_CARTRIDGE_DAMAGED = 25, /* the cartridge is damaged: its SHA-256 is another */
    SOLDER_CARTRIDGE_VERSION = 26, /* the cartridge has a version that the firmware does not know */
    SOLDER_CARTRIDGE_CORE = 27, /* the cartridge is for another core */
    SOLDER_CARTRIDGE_NEEDS = 28, /* the cartridge needs more memory than the firmware has for models */
    SOLDER_CARTRIDGE_OTHER_KEY = 29, /* the cartridge is not signed with the key that the firmware asks for */
    SOLDER_CARTRIDGE_TEST = 30, /* the cartridge's model does not compute what it must */
    SOLDER_CARTRIDGE_SIZE = 31, /* the cartridge is larger than a slot */
    SOLDER_CARTRIDGE_STORE = 32, /* the memory for cartridges cannot be written */
    SOLDER_CARTRIDGE_STRUCTURE = 33, /* the cartridge is not of the structure that the firmware's model has */
    SOLDER_NO_WEIGHTS = 34, /* the model has no weights yet: they come with a cartridge */
    SOLDER_CARTRIDGE_KERNEL = 35, /* the cartridge needs a kernel that the firmware does not have */
    SOLDER_CARTRIDGE_TABLE = 36, /* the cartridge's table says what no model does */
    SOLDER_NO_UPDATE = 37, /* no update is open: pieces of a cartridge are taken between its beginning and its end */
    SOLDER_CARTRIDGE_PRODUCT = 38, /* the cartridge is for another product */
    SOLDER_CARTRIDGE_OLDER = 39, /* the cartridge is older than the model that runs */
    SOLDER_NO_PREVIOUS = 40, /* there is no cartridge to go back to: the other slot holds none that has run */
    SOLDER_NO_VERIFIER = 41, /* the firmware cannot verify signatures by its key: solder_port_verify says so */
    SOLDER_NO_STATE = 42, /* the model keeps no state between runs, or another model has run since */
    SOLDER_WRONG_STATE = 43, /* the saved state is cut off or damaged, or of another model or version */
    SOLDER_LOCKED = 64, /* the line is locked, and its key was not shown */
    SOLDER_WRONG_KEY = 65, /* the firmware was made with another line key */
    SOLDER_NO_ENTROPY = 66 /* the device has no random numbers for a challenge: its line stays locked */
};

/* The description that a describe request reads. */
enum solder_describe {
    SOLDER_DESCRIBE_MODEL = 0,
    SOLDER_DESCRIBE_INPUT = 1,
    SOLDER_DESCRIBE_OUTPUT = 2
};

/* The action of a cartridge request, before the reply. */
enum solder_cartridge_wish {
    SOLDER_CARTRIDGE_WISH_FACTS = 0,
    SOLDER_CARTRIDGE_WISH_BEGIN = 1,
    SOLDER_CARTRIDGE_WISH_PREVIOUS = 2
};

/* Bits of the reply about cartridges. */
enum solder_cartridge_fact {
    SOLDER_CARTRIDGE_FACT_KEY = 1,
    SOLDER_CARTRIDGE_FACT_DOWNGRADES = 2,
    SOLDER_CARTRIDGE_FACT_PRODUCT = 4
};

/* The action of a state request. */
enum solder_state_action {
    SOLDER_STATE_HEAD = 0,
    SOLDER_STATE_READ = 1,
    SOLDER_STATE_BEGIN = 2,
    SOLDER_STATE_WRITE = 3,
    SOLDER_STATE_FINISH = 4
};

/* The object of a reset request. */
enum solder_reset {
    SOLDER_RESET_STATE = 0,
    SOLDER_RESET_DEVICE = 1
};

/* The reason for a restart of the device. */
enum solder_fault_cause {
    SOLDER_FAULT_HARD = 1, /* hard fault */
    SOLDER_FAULT_MEMORY = 2, /* memory protection fault */
    SOLDER_FAULT_BUS = 3, /* bus fault */
    SOLDER_FAULT_USAGE = 4, /* usage fault */
    SOLDER_FAULT_STACK = 5, /* stack overflow */
    SOLDER_FAULT_WATCHDOG = 6, /* watchdog reset */
    SOLDER_FAULT_ABORT = 7, /* abort */
    SOLDER_FAULT_OVERWRITTEN = 8 /* loaded code wrote into the firmware's memory */
};

/* How a call passes an argument. */
enum solder_argument {
    SOLDER_ARGUMENT_SCALAR = 0,
    SOLDER_ARGUMENT_ARRAY = 1,
    SOLDER_ARGUMENT_HANDLE = 2
};

/* Bits of the capabilities in hello. */
enum solder_capability {
    SOLDER_CAPABILITY_PROFILE = 1,
    SOLDER_CAPABILITY_SLOT = 2,
    SOLDER_CAPABILITY_RATE = 4,
    SOLDER_CAPABILITY_DEADLINE = 8,
    SOLDER_CAPABILITY_FUNCTIONS = 16,
    SOLDER_CAPABILITY_CARTRIDGES = 32,
    SOLDER_CAPABILITY_INPUT_ADDRESS = 64,
    SOLDER_CAPABILITY_LOCKED = 128
};

#endif
