"""Models of PyTorch, Keras, JAX and scikit-learn, exported and compiled in one call.

- `compile_framework_model`: Compiles a framework's model in one call: export, quantization, compilation,
  accuracy.
- `framework`: The interface of training frameworks: recognizing, exporting and running their models.
- `framework_arguments`: Arguments that apply only to models of frameworks.
- `jax`: JAX functions, exported to ONNX by jax2onnx.
- `judging`: Verifies an exported model against the framework: several inputs, each run twice, and a
  tolerance.
- `keras`: Keras models, converted by LiteRT's converter, which can also quantize them to int8.
- `pytorch`: PyTorch models: modules, ExportedPrograms and ScriptModules, exported to ONNX.
- `silence`: Hides progress output of converters, from Python and C++.
- `sklearn`: scikit-learn estimators and pipelines, exported to ONNX by skl2onnx.
- `table`: The supported frameworks, in the order in which they are asked to recognize a model.
- `torch_export`: Exports PyTorch models to ONNX with torch.export, or else by tracing, with warnings as
  errors.
- `user_lines`: Finds lines in the user's program that failed or define something.
"""
