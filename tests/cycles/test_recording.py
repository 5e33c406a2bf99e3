"""Runs that are recorded in the emulator: what a trace holds of code whose every access is known."""

from typing import Any

import pytest

from platforms.cycles.trace import HALF_WORD, ODD_WORD, WORD, Trace, TracePoints

FLASH, RAM = 0x0, 0x2000_0000
RUN, REPORT, MAIN = 0x100, 0x200, 0x300
CODE = {
    # run: push {r4,lr}; ldr r0,[r5]; ldr r0,[r6,#1]; ldrh r0,[r6,#1]; ldr r0,[r6,#2]; movs r0,#3; bl report
    RUN: "10b5 2868 d6f80100 b6f80100 d6f80200 0320 00f075f8",
    # cmp r5,#0; it ne; ldrne r0,[r5]; cmp r5,r5; b next; next: movs r2,#7; pop {r4,pc}
    RUN + 0x16: "002d 18bf 2868 ad42 ffe7 0722 10bd",
    REPORT: "2968 7047",  # report: ldr r1,[r5]; bx lr
    MAIN: "fff7fefe 00bf",  # main: bl run; nop
}
CONSTANT = 0x400


@pytest.fixture
def recorded(require_package):
    """recorded(on_layer): runs the code twice; the trace of its second run."""
    require_package("unicorn")
    import unicorn
    from unicorn import arm_const as arm

    from platforms.cycles.recorder import Recorder

    def run(on_layer: int | None) -> Trace:
        uc = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS)
        uc.ctl_set_cpu_model(arm.UC_CPU_ARM_CORTEX_M4)
        uc.mem_map(FLASH, 0x1000)
        uc.mem_map(RAM, 0x1000)
        for address, text in CODE.items():
            uc.mem_write(address, bytes.fromhex(text))
        recorder = Recorder(uc, TracePoints(RUN, on_layer, range(FLASH, FLASH + 0x1000)))
        uc.hook_add(unicorn.UC_HOOK_BLOCK, lambda _uc, address, size, _data: recorder.on_block(address, size))
        for _ in range(2):
            once(uc)
        return recorder.trace()

    def once(uc: Any) -> None:
        uc.reg_write(arm.UC_ARM_REG_R2, 0)
        uc.reg_write(arm.UC_ARM_REG_SP, RAM + 0x800)
        uc.reg_write(arm.UC_ARM_REG_R5, CONSTANT)
        uc.reg_write(arm.UC_ARM_REG_R6, RAM)
        uc.emu_start(MAIN | 1, MAIN + 6)
        assert uc.reg_read(arm.UC_ARM_REG_R2) == 7, "the block behind an IT block has all its instructions"

    return run


def starts(trace: Trace) -> list[int]:
    return [int(trace.addresses[number]) for number in trace.order]


def test_a_run_is_its_blocks_in_order(recorded):
    trace = recorded(None)
    assert starts(trace) == [RUN, REPORT, RUN + 0x16, RUN + 0x20]
    assert trace.flash_reads.tolist() == [CONSTANT] * 3
    assert trace.reads_before.tolist() == [0, 1, 2, 3]


def test_what_a_layer_reports_is_not_part_of_the_run(recorded):
    trace = recorded(REPORT)
    assert starts(trace) == [RUN, RUN + 0x16, RUN + 0x20]
    assert trace.layer_ends.tolist() == [[3, 1]]
    assert trace.flash_reads.tolist() == [CONSTANT] * 2


def test_misaligned_accesses_are_told_apart(recorded):
    assert recorded(None).misaligned.tolist() == [[ODD_WORD, 0], [HALF_WORD, 0], [WORD, 0]]
