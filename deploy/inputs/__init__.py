"""Reads inputs (arrays, sound, pictures), converts them, and writes outputs.

- `array_files`: Reads files of arrays, .npy and .npz: what a header claims is checked before memory is taken
  for it.
- `data_doubts`: Names what is odd about samples: constants, clipped values, ranges that do not match the
  model's.
- `given_arrays`: Arrays as users have them: NumPy's, tensors of frameworks, lists, and loaders that give
  batches.
- `input_options`: The options about a model's inputs, next to the arrays themselves.
- `output_files`: Writes the outputs of a run as an .npz file.
- `pictures`: Reads recordings of a camera: PPM and PGM files (binary, one picture behind the other) and BMP
  files.
- `quantized_values`: Floats as a model's integers, and its integers as floats, by its scales and zero points.
- `recordings`: Reads recordings of a sensor: sound from WAV files, numbers from CSV files, pictures.
- `result_paths`: Paths for results: only an earlier result of the same kind is overwritten.
- `samples`: Reads inputs for a run, arrays by name of one sample or a series, and checks them against the
  model.
- `size_choice`: Chooses among the sizes of a model the one that inputs have.
- `top_outputs`: The largest numbers of outputs, with their places: what a classifier says, for people and
  machines.
- `wav`: Reads samples of 16 bits from a WAV file, and refuses what the model would hear wrongly.
"""
