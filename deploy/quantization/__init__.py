"""Converts float models to int8: calibration, bit widths, refined weights.

- `activation_widths`: Chooses the values that get 16 bits: those that lose most with eight, as few as the
  bound permits.
- `calibration`: Calibration data: representative samples of a model's inputs, with classes if known.
- `model_outputs`: Runs float and quantized models on samples, and measures the distance of their outputs.
- `narrow_saving`: Keeps four-bit weights only if they save flash, because not every kernel stores two per
  byte.
- `onnx_quantizer`: Converts float ONNX models to int8 with ONNX Runtime's static quantizer, and measures the
  loss.
- `quantize_file`: Writes an int8 model, ONNX or TFLite, from a float model and samples, and reports the loss.
- `refined_weights`: Tries modified weights for the same float model that may lose less by rounding, and keeps
  the best.
- `weight_widths`: Chooses the layers whose weights get four bits: those with the least loss per saved byte.
"""
