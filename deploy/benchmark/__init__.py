"""Measures runs: instructions, cycles, time, RAM, flash, and statistics from the field.

- `baseline_changes`: Holds costs against a baseline, which `deploy bench --json` printed before: what
  changed, what is worse.
- `bench_model`: Measures a model's cost on a board: instructions, cycles, RAM, flash and the time to compile
  it.
- `bench_page`: The page about the cost of models on boards: a table, what cycles are made of, layers.
- `counter_check`: Finds out whether a counter counts instructions, where somebody else started the emulator
  behind a line.
- `cycle_model`: Estimates the cycles of a compiled model by weighting a recorded run with its board's core
  and memory.
- `field_statistics`: The counters of a model with --observe, read from the 128 bytes that a board sends, and
  said in words.
- `meter`: Converts the ticks of a board's counter to instructions, cycles and time, and spreads to five
  numbers.
- `run_series`: Runs a series of samples on a device and counts each run in the board's own unit.
"""
