"""Walks the loops of a layer with intervals in the place of numbers."""
