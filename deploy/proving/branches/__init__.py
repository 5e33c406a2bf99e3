"""Measures branch coverage of generated C with gcc's gcov."""
