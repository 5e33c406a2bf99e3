"""Compares what a model executes on inputs that differ as much as they can."""
