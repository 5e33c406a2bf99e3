"""The runners: name in a board's file -> module with `missing()` and `open_line(elf, board)`."""

RUNNERS = {
    "exec": "platforms.runners.exec",
    "qemu": "platforms.runners.qemu",
    "qemu-riscv32": "platforms.runners.qemu_riscv32",
    "unicorn": "platforms.runners.unicorn_runner",
}
