"""Models of PyTorch, Keras, JAX and scikit-learn, exported and compiled in one call.

- `compile_framework_model`: Models of frameworks in one call: exported, quantized with samples, compiled,
  measured with labels.
- `framework`: A framework that networks are trained with: how its models are known, exported and asked.
- `framework_arguments`: The words that are said of models of frameworks, and of no model files.
- `jax`: JAX' functions: exported as ONNX by jax2onnx.
- `judging`: Compares an exported model with the framework's own: several inputs, each twice, against a limit.
- `keras`: Keras' models: converted by LiteRT's converter, which also makes them int8.
- `pytorch`: PyTorch's models: modules, ExportedPrograms and ScriptModules, exported as ONNX.
- `silence`: Keeps what converters print of their own progress from the user, in Python and in C++.
- `sklearn`: Estimators and pipelines of scikit-learn: exported as ONNX by skl2onnx.
- `table`: The frameworks whose models are compiled in one call, in the order in which they claim a model.
- `torch_export`: Exports PyTorch's models as ONNX: by torch.export, or else by tracing, whose warnings are
  errors.
- `user_lines`: The line of the user's own program in which something failed or is written.
"""
