"""Programs for sensors: what they need of a model, and the logs they write.

- `log_viewer`: Shows the log of a sensor program while it arrives, from a board or a file.
- `sensor_apps`: Adds a sensor program to a compiled model: checks the model, and adds labels and a recording.
- `sensor_log`: Parses and checks the log of sensor programs: lines such as $RUN,7,200,yes,998,5182,6499*5C1F.
- `sensor_log_page`: Formats the log of a sensor program: a line for each window, and a summary at the end.
"""
