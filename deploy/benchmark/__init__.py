"""Measures runs: instructions, cycles, time, RAM, flash, and statistics from the field.

- `baseline_changes`: Compares costs with a baseline from an earlier `deploy bench --json`: changes, and
  regressions.
- `bench_model`: Measures a model's cost on a board: instructions, cycles, RAM, flash and compile time.
- `bench_page`: The page about the cost of models on boards: a table, cycles by category, layers.
- `counter_check`: Detects whether the counter of an emulator started by the user counts instructions.
- `cycle_model`: Estimates the cycles of a compiled model from a recorded run and the timing of the core and
  memory.
- `field_statistics`: Decodes and describes the 128 bytes of counters from a model with --observe.
- `meter`: Converts ticks of a board's counter to instructions, cycles and time, and summarizes measurements.
- `run_series`: Runs a series of samples on a device and measures each run in the board's unit.
"""
