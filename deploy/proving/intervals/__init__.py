"""Interval analysis of a layer's loops."""
