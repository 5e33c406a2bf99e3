"""Proves with Frama-C's EVA that generated C has no undefined behavior for any input."""
