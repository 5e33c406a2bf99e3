"""Searches for faster kernels on a board, and shows tuning records.

- `objectives`: The objectives of `deploy tune`: the quantity to minimize, and the bench that measures it.
- `records_page`: Pages about tuning records: the best of each task, and the trials.
- `records_plot`: Plots the best cost over the trials of each task as SVG, without a plotting library.
- `schedule_search`: Searches for a proc's schedule: measures sketches of its loop nest on a board, and keeps
  the best.
- `tune_model`: Tunes a model: measures its kernels with other knobs on a board, and records the results.
- `tuning_table`: Shows the table of a search: each task with trials, best cost and share, and the remaining
  time.
"""
