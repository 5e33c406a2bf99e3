"""Traces the origin of the C's bytes, and what evidence depends on."""
