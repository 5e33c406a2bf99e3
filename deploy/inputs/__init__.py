"""Reads inputs (arrays, sound, pictures), converts them, and writes outputs.

- `array_files`: Reads .npy and .npz files. A header's sizes are checked before memory is allocated.
- `data_doubts`: Detects suspicious samples: constants, clipped values, ranges that do not match the model's.
- `given_arrays`: Converts the user's data to arrays: NumPy arrays, framework tensors, lists, and batch
  loaders.
- `input_options`: Options for a model's inputs, in addition to the arrays.
- `output_files`: Writes the outputs of a run to an .npz file.
- `piece_file`: Reads tokenizer.model, the file of a SentencePiece model.
- `pictures`: Reads camera recordings: PPM and PGM files (binary, with one or more pictures), and BMP files.
- `quantized_values`: Quantizes input arrays and dequantizes outputs with the model's scales and zero points.
- `recordings`: Reads sensor recordings: sound from WAV files, numbers from CSV files, pictures.
- `result_paths`: Checks paths for results: only an earlier result of the same kind may be overwritten.
- `samples`: Reads inputs for a run, as arrays by name for one sample or a series, and checks them against the
  model.
- `size_choice`: Selects the size of a model that matches the inputs.
- `tokenizer`: Reads the tokenizer of a language model, for the chat program.
- `top_outputs`: The largest values of outputs with their indices, such as a classifier's top classes.
- `wav`: Reads 16-bit samples from a WAV file, and rejects formats that the model would misinterpret.
"""
