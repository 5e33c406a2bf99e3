"""Explores combinations of models, boards and options: what each needs, which are the best."""
