"""The platforms: name -> the module that has its PLATFORM."""

PLATFORMS = {
    "host": "platforms.host",
    "baremetal": "platforms.baremetal",
    "arduino": "platforms.arduino",
    "zephyr": "platforms.zephyr",
}
