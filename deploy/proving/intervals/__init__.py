"""Walks the loops of a layer with intervals in place of numbers."""
