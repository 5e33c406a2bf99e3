"""The runners: name in a board's file -> module with `missing()` and `open_line(elf, board)`."""

RUNNERS = {
    "exec": "platforms.runners.exec",
    "qemu": "platforms.runners.qemu",
    "unicorn": "platforms.runners.unicorn_runner",
}
