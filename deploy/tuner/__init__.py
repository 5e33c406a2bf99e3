"""Searches for faster kernels on a board, and shows tuning records.

- `objectives`: The objectives of `deploy tune`: the count that a search makes small, and the bench that tells
  it.
- `records_page`: The pages about tuning records: the best of each task, and the trials.
- `records_plot`: The best cost over the trials of each task, drawn as a small picture without any library.
- `schedule_search`: Searches a schedule for a proc: sketches of its nest are measured on a board, and the
  best one kept.
- `tune_model`: Tunes a model: its kernels are measured with other knobs on a board, and the results kept as
  records.
- `tuning_table`: Shows the table of a search: each task with its trials, best cost and share, and the time
  left.
"""
