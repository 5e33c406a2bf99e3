"""Shows that generated C has no undefined behaviour, whatever the input: by Frama-C's EVA."""
