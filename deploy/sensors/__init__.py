"""Programs for sensors: what they need of a model, and the logs they write.

- `log_viewer`: Shows the log of a program for a sensor while it comes, from a board or a file.
- `sensor_apps`: Fits a program for a sensor around a compiled model: what the model must have, its labels, a
  recording.
- `sensor_log`: The log of programs for a sensor: lines such as $RUN,7,200,yes,998,5182,6499*5C1F, read and
  checked.
- `sensor_log_page`: The log of a program for a sensor as people read it: a line for each window, and at the
  end a summary.
"""
