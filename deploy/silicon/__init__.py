"""Measurements of boards by the people who have them: `deploy bench --kit`.

- `check_kit`: Checks a result file without the board: hashes, figures, outputs, clock, build ids.
- `chip_words`: C code that reads a chip's identity, and what the words must be.
- `energy`: Energy of a run from the CSV file of a power analyser.
- `kit_command`: The work of the command: options, questions, and the files.
- `kit_file`: The result file: a zip of its parts, with a manifest of their hashes.
- `kit_models`: The six models of the kit, their inputs and the expected outputs.
- `kit_page`: The figures of a result file as text.
- `line_log`: Records every byte on a line with its time, and reads such logs.
- `measure_kit`: Builds, flashes and measures the models on a board.
- `mlperf_command`: `deploy bench --mlperf`, the MLPerf Tiny benchmark, and its submissions.
- `mlperf_device`: The benchmark's serial commands, over lines that may lose bytes.
- `mlperf_run`: The accuracy and performance modes.
- `mlperf_samples`: Sample sets, and the quality of results.
- `replay`: Derives all figures from a log.
"""
