"""Boards, firmware, project folders, cartridges, and open connections to devices.

- `async_connection`: A line for programs with an event loop: each call is awaited, and waits its turn.
- `attached`: Asks firmware of the user's own, which runs already, whether it holds a model and how its board
  counts.
- `board_filter`: Selects boards by core, memory and platform, and by whether they have room for a model.
- `board_pages`: The pages about boards: a list of those that suit, and all that is known of one.
- `build_cache`: Keeps built firmware between commands, so that the same model is not built twice.
- `buildable_boards`: Finds the boards that this version can build firmware for; of many others only the data
  is known.
- `cache_page`: Tells what is kept between commands, and deletes of it what has not been used for longest.
- `cartridge`: Makes a cartridge of a compiled model: its code or its weights, what it needs, and what it must
  compute.
- `cartridge_slots`: Reads what the user says about the cartridges that firmware is to take.
- `connection`: A line to a board that stays open: runs, times and layers of a model, call after call.
- `connection_options`: The options for reaching a board. Sessions load much more and are elsewhere.
- `device_array`: Arrays that live in a device's free RAM and are handed to its functions without moving.
- `device_functions`: The functions of a device's firmware by name: its registered C functions, and its
  models.
- `firmware`: Makes firmware of a model file, an archive or a project folder, by the steps that are still
  missing.
- `function_files`: C files of the user's own that firmware holds, so that their functions can be called by
  name.
- `kernel_build`: Builds a proc for a board: a function of arrays that runs there, and says what it takes.
- `projects`: Project folders: made of archives, built into firmware, put onto boards.
- `required_kernels`: The kernels that firmware has for tables, and those of a model that it lacks.
- `session`: A session with firmware that is started for it and ended after it.
"""
