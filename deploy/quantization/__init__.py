"""Converts float ONNX models to int8: calibration, bit widths, refined weights.

- `activation_widths`: Chooses the values that get 16 bits: those that lose most in eight, as many as a bound
  of the loss needs.
- `calibration`: Calibration data: samples that are typical of a model's inputs, with their classes where
  known.
- `model_outputs`: The outputs of float and quantized models on samples, and how far one is from the other.
- `narrow_saving`: Keeps weights of four bits only where that saves flash: not every kernel stores two in a
  byte.
- `onnx_quantizer`: Float ONNX models become int8 ones by ONNX Runtime's static quantizer, with a report of
  what it cost.
- `quantize_file`: Writes an int8 model, ONNX or TFLite, of a float ONNX model and samples, and says what it
  cost.
- `refined_weights`: Other weights for the same float model, which may lose less when rounded: tried, and the
  best is kept.
- `weight_widths`: Chooses the layers whose weights get four bits: those that lose least for each byte that
  they save.
"""
