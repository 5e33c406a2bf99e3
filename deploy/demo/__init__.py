"""The included model and what `make demo` and the tutorials show with it.

- `__main__`: `python -m deploy.demo` runs the included model on an emulated Cortex-M4 and this computer.
- `stories`: Trains a small language model on stories that it makes itself, and measures models of the same
  step.
- `story_network`: A small llama-like network in NumPy: forward, backward, and training with Adam.
- `story_text`: Stories from a small grammar, and a tokenizer of byte pairs trained on them.
"""
