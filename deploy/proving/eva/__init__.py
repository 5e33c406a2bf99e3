"""Shows that generated C has no undefined behavior, whatever the input: by Frama-C's EVA."""
