"""The package formats (channels). Each module has SUMMARY, the file extension SUFFIX, and `files`."""

from __future__ import annotations

from collections.abc import Mapping

from aot.extensions import CHANNELS as GROUP
from aot.extensions import OpenTable, module_of

CHANNELS: Mapping[str, str] = OpenTable(
    {
        "single-file": "platforms.channels.single_file",
        "cmake": "platforms.channels.cmake",
        "cpp": "platforms.channels.cpp",
        "arduino": "platforms.channels.arduino",
        "platformio": "platforms.channels.platformio",
        "esp-idf": "platforms.channels.esp_idf",
        "cmsis-pack": "platforms.channels.cmsis_pack",
        "zephyr-module": "platforms.channels.zephyr_module",
        "conan": "platforms.channels.conan",
        "rust": "platforms.channels.rust",
        "stm32cube": "platforms.channels.stm32cube",
        "micropython": "platforms.channels.micropython",
        "esphome": "platforms.channels.esphome",
    },
    GROUP,
    module_of,
)
