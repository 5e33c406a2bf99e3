"""Explores combinations of models, boards and options: their needs, and the best of them."""
