"""Finds recurrent layers that the file stores step by step."""
