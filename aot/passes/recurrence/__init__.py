"""Finds recurrent layers that a file has step by step."""
