"""Boards, firmware, project folders, cartridges, and open connections to devices.

- `async_connection`: A connection for programs with an event loop. Calls are awaited and queued.
- `attached`: Checks the user's own firmware, which is already running: its model, and its counter.
- `board_filter`: Selects boards by core, memory and platform, and by whether a model fits.
- `board_pages`: Pages about boards: a list of suitable ones, and all facts about one.
- `build_cache`: Caches built firmware between commands, to avoid building a model twice.
- `buildable_boards`: Finds the boards that this version can build firmware for; for many others, only data is
  available.
- `cache_page`: Lists caches between commands and deletes the least recently used entries.
- `cartridge`: Creates a cartridge from a compiled model: code or weights, requirements, and self-test
  checksum.
- `cartridge_slots`: Reads the user's options for firmware that accepts cartridges.
- `connection`: An open connection to a board, for repeated runs, measurements and profiles of a model.
- `connection_options`: Options for connecting to a board. Separate from sessions, which load many more
  modules.
- `device_array`: Arrays in a device's free RAM, which its functions use without copying.
- `device_functions`: Functions of a device's firmware by name: registered C functions, and models.
- `firmware`: Builds firmware from a model file, an archive or a project folder, doing only the missing steps.
- `function_files`: Adds the user's C files to firmware, so that their functions can be called by name.
- `kernel_build`: Builds a proc for a board, as a function of arrays that runs and measures there.
- `projects`: Project folders: created from archives, built to firmware, flashed to boards.
- `required_kernels`: Checks whether firmware has the kernels that a table cartridge needs.
- `session`: Sessions with firmware, which is started before and stopped after each.
"""
